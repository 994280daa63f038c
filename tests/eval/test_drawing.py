from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rag_agent.errors import MissingDependency
from rag_agent.eval import Qrel, Result, Topic
from rag_agent.eval.drawing import draw
from rag_agent.eval.published import Published

pytest.importorskip("matplotlib", reason="drawn only with rag_agent[eval]")

TOPICS = [
    Topic("t1", "q", (Qrel("a"), Qrel("b")), "semble", "chi"),
    Topic("t2", "q", (Qrel("c"),), "semble", "click"),
]
RUN = {
    "t1": [Result("a", 1, 9, 0.9, 300), Result("x", 1, 9, 0.8, 300), Result("b", 1, 9, 0.7, 900)],
    "t2": [Result("c", 1, 9, 0.9, 700)],
}
TIMES = {"t1": 12.0, "t2": 20.0}
UNCOSTED = {"t1": [Result("a", 1, 9, 0.9)], "t2": [Result("c", 1, 9, 0.9)]}


def other(name: str, p50_ms: float | None) -> Published:
    return Published("semble", name, "its paper", {"ndcg10_chunk": 0.7}, p50_ms)


def words(svg: Path) -> str:
    return " ".join(ElementTree.parse(svg).getroot().itertext())


def test_runs_stand_beside_published_methods_that_have_a_time(tmp_path: Path) -> None:
    published = [other("fast one", 1.5), other("without a time", None)]
    drawn = draw(TOPICS, {"our run": (RUN, TIMES)}, published, tmp_path / "new")
    assert [path.name for path in drawn] == ["quality-time.svg", "recall-tokens.svg"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        path.name for path in drawn
    )
    text = words(drawn[0])
    assert "our run" in text
    assert "fast one" in text
    assert "without a time" not in text
    assert "ndcg10_chunk, mean over repositories" in text
    assert "our run" in words(drawn[1])


def test_an_answer_has_a_curve_of_what_it_names_and_one_of_what_it_shows(tmp_path: Path) -> None:
    answers = {"t1": [Result("a", 1, 9, 0.9, 300, named=30, lines=[(1, 50)])], "t2": RUN["t2"]}
    _, both = draw(TOPICS, {"ours": (answers, TIMES), "other": (RUN, TIMES)}, [], tmp_path)
    text = words(both)
    assert "ours, named" in text
    assert "ours, read" in text
    # Of places that are read whole both rules say the same.
    assert "other, named" in text
    assert "other, read" not in text


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        draw(TOPICS, {"run": (RUN, TIMES)}, [other("fast one", 1.5)], tmp_path / folder)
    for name in ("quality-time.svg", "recall-tokens.svg"):
        first, second = (tmp_path / folder / name for folder in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


def test_a_time_of_0_has_no_place_in_the_picture(tmp_path: Path) -> None:
    (only,) = draw(TOPICS, {"run": (RUN, {"t1": 0.0})}, [other("at once", 0.0)], tmp_path)
    assert only.name == "recall-tokens.svg"
    (tmp_path / "new").mkdir()
    runs = {"timed": (UNCOSTED, TIMES), "at once": (UNCOSTED, {"t1": 0.0})}
    (only,) = draw(TOPICS, runs, [other("published at once", 0.0)], tmp_path / "new")
    assert "at once" not in words(only)


def test_a_run_without_times_or_costs_gives_no_picture(tmp_path: Path) -> None:
    assert draw(TOPICS, {"run": (UNCOSTED, {})}, [other("fast one", 1.5)], tmp_path) == []
    (only,) = draw(TOPICS, {"run": (UNCOSTED, TIMES)}, [], tmp_path)
    assert only.name == "quality-time.svg"


def test_without_matplotlib_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependency, match=r"pip install 'rag_agent\[eval\]'"):
        draw(TOPICS, {"run": (RUN, TIMES)}, [], tmp_path)
