from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import Qrel, Result, Topic
from rag_agent.eval.published import Published
from rag_agent.eval.report import put_section, row, section

TOPICS = [
    Topic("t1", "q", (Qrel("a", 1, 5),), "issue", "chi", "go", "bug"),
    Topic("t2", "q", (Qrel("b"),), "issue", "click", "python", "feature"),
]
RUN = {
    "t1": [Result("x", 1, 9, 0.9, 300), Result("x", 20, 29, 0.8, 300), Result("a", 1, 9, 0.7, 300)],
    "t2": [Result("b", 1, 9, 0.9, 700)],
}
TIMES = {"t1": 12.0, "t2": 20.0}


def written(*published: Published, topics: list[Topic] = TOPICS) -> dict[str, list[str]]:
    """The cells of each row of the section's tables by the row's first cell."""
    text = section(topics, [row("ours", topics, RUN, TIMES)], published, ["plots/issue.svg"])
    assert "![issue](plots/issue.svg)" in text
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
    return {cells[0]: [cell.strip() for cell in cells[1:]] for cells in reversed(rows)}


def test_rankings_count_a_file_once_and_what_is_shown_counts_each_passage() -> None:
    # t1: a is the second file (0.631), and the third passage: within 5, and after 900 tokens.
    table = written()
    assert table["ours"][:4] == ["0.815", "1.000", "1.000", "1.000"]
    assert table["ours, files named"] == ["0.000", "1.000", "1.000", "1.000", "1.000"]
    assert table["ours, files with a line read"] == table["ours, files named"]
    assert table["ours, labelled lines read"] == ["0.000", "1.000", "1.000", "1.000", "1.000"]


def test_times_stand_behind_the_measures() -> None:
    assert written()["ours"][-2:] == ["12.0", "20.0"]


def test_an_answer_is_counted_by_what_it_names_and_by_what_it_shows() -> None:
    answers = {
        "t1": [Result("a", 1, 9, 0.9, 300, named=400, lines=[(2, 1800)])],
        "t2": [Result("b", 1, 9, 0.9, 700, named=400, lines=[(1, 500)])],
    }
    text = section(TOPICS, [row("ours", TOPICS, answers, TIMES)], [])
    assert "| ours, files named | 1.000 | 1.000 | 1.000 |" in text
    assert "| ours, files with a line read | 0.500 | 0.500 | 1.000 |" in text
    assert "| ours, labelled lines read | 0.000 | 0.000 | 1.000 |" in text
    assert "an answering line in the answer" in text


def test_groups_and_the_spread_over_repositories_are_told() -> None:
    table = written()
    assert table["go"] == ["1", "0.631"]
    assert table["feature"] == ["1", "1.000"]
    text = section(TOPICS, [row("ours", TOPICS, RUN, TIMES)], [])
    assert "| ours | 0.631 (chi) | 0.815 | 1.000 (click) |" in text


def test_figures_of_others_are_those_of_the_same_repositories_where_these_are_known() -> None:
    same = Published(
        "issue", "same", "s", {"ndcg10": 0.9}, 16.0, "ndcg10", {"chi": 0.2, "click": 0.4}
    )
    whole = Published("issue", "whole", "s", {"ndcg10": 0.9, "recall10": 0.8})
    table = written(same, whole)
    assert table["*same*"][0] == "0.300"
    assert "16‡" in table["*same*"]
    assert table["*whole*"][:2] == ["0.900†", "0.800†"]
    assert "†" not in section(TOPICS, [row("ours", TOPICS, RUN, TIMES)], [same])


def test_a_set_of_one_collection_has_no_spread() -> None:
    text = section(TOPICS[:1], [row("ours", TOPICS[:1], RUN, TIMES)], [])
    assert text.startswith("1 questions, 1 collection. ")
    assert "lowest" not in text


def test_a_section_is_replaced_between_its_markers_and_the_rest_stays(tmp_path: Path) -> None:
    report = tmp_path / "quality.md"
    report.write_text("# Quality\n\nFirst words.\n", encoding="utf-8")
    put_section(report, "cisi", "old cisi")
    put_section(report, "issue", "old issue")
    put_section(report, "cisi", "new cisi")
    text = report.read_text(encoding="utf-8")
    assert text.startswith(
        "# Quality\n\nFirst words.\n\n## cisi\n\n<!-- cisi: written by `make eval`"
    )
    assert "old cisi" not in text
    assert text.index("new cisi") < text.index("## issue") < text.index("old issue")
    assert text.endswith("<!-- end of issue -->\n")
    assert [path.name for path in tmp_path.iterdir()] == ["quality.md"]


def test_a_marker_without_its_end_is_an_error_and_the_file_stays(tmp_path: Path) -> None:
    report = tmp_path / "quality.md"
    put_section(report, "cisi", "text")
    broken = report.read_text(encoding="utf-8").replace("<!-- end of cisi -->", "")
    report.write_text(broken, encoding="utf-8")
    with pytest.raises(QueryError, match="do not match"):
        put_section(report, "cisi", "new")
    assert report.read_text(encoding="utf-8") == broken


@pytest.mark.parametrize("name", ["", "two words", "../up", "-->"])
def test_a_name_that_would_break_a_marker_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="cannot name a section"):
        put_section(tmp_path / "quality.md", name, "text")
