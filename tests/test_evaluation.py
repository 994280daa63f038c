"""The verbs of evaluation on a real index."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import rag_agent
from rag_agent.commands import VERBS, Result
from rag_agent.commands.parsing import Usage, parse
from rag_agent.errors import QueryError
from rag_agent.index import Index
from rag_agent.progress import Progress, Report, silent

FILES = {
    "parser.py": "def parse_query(text):\n    pairs = text.split('&')\n    return dict(pairs)\n",
    "mailer.py": "def send_mail(recipient):\n    connection.deliver(recipient)\n",
    "notes.md": "# Notes\n\nCall the dentist about the appointment.\n",
}
QUESTIONS = [
    {"id": "q1", "query": "parse a query string", "language": "python", "repo": "one",
     "relevant": [{"path": "src/parser.py", "start": 1, "end": 2}]},
    {"id": "q2", "query": "deliver mail", "language": "python", "repo": "one",
     "relevant": [{"path": "src/mailer.py"}]},
    {"id": "q3", "query": "when is the dentist", "language": "markdown", "repo": "two",
     "relevant": [{"path": "src/notes.md"}]},
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "my project" / "src"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (tmp_path / "q.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(folder)
    run("index")
    return folder


def run(*words: str, report: Report = silent) -> Result:
    call = parse(words)
    result = call.verb.run(rag_agent.open, call.arguments, report)
    json.dumps(result.data)  # whatever a verb says, --json can print
    return result


def data(*words: str) -> Any:
    return run(*words).data


def answered(out: str, *more: str) -> list[dict[str, Any]]:
    run("eval", "run", "--queries", "../../q.jsonl", "--out", out, *more)
    lines = Path(out).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_holds_places_with_their_costs_and_the_time_of_each_question(project: Path) -> None:
    rows = answered("../../run.jsonl", "--prefix", "src", "--limit", "2")
    assert [row["id"] for row in rows] == ["q1", "q2", "q3"]
    best = rows[0]["results"][0]
    assert (best["path"], best["start"], best["end"]) == ("src/parser.py", 1, 3)
    assert best["tokens"] > len(FILES["parser.py"]) / 4
    assert [len(row["results"]) for row in rows] == [2, 2, 2]
    assert all(row["took_ms"] > 0 for row in rows)


def test_a_map_in_the_tracked_folder_names_the_documents(project: Path) -> None:
    (project / "_map.json").write_text(json.dumps({"notes.md": "document 7"}), encoding="utf-8")
    rows = answered("../../run.jsonl")
    assert rows[2]["results"][0]["path"] == "document 7"


def test_an_interrupted_run_goes_on_unless_its_label_is_another(project: Path) -> None:
    words = ["eval", "run", "--queries", "../../q.jsonl", "--out", "../../run.jsonl"]

    def interrupt(progress: Progress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    for label, now in (("", 1), ("other", 3)):
        with pytest.raises(KeyboardInterrupt):
            run(*words, report=interrupt)
        assert data(*words, "--label", label)["answered"] == now


def test_a_run_over_nothing_indexed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTIONS[0]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match="nothing is indexed here yet"):
        run("eval", "run", "--queries", "q.jsonl", "--out", "run.jsonl")
    assert not Path("run.jsonl").exists()


def test_what_cannot_be_written_is_said_before_the_first_question(project: Path) -> None:
    (project / "folder").mkdir()
    (project / "file").write_text("", encoding="utf-8")
    questions = project.parent.parent / "q.jsonl"
    kept = questions.read_bytes()
    asked: list[Progress] = []
    for out, problem in (
        ("folder", "cannot write folder: it is no file"),
        (str(Path("file", "run.jsonl")), "cannot write "),
        ("x" * 300, "cannot write x"),
        (str(questions), "would destroy"),
    ):
        with pytest.raises(QueryError, match=problem):
            run("eval", "run", "--queries", str(questions), "--out", out, report=asked.append)
    assert asked == []
    assert questions.read_bytes() == kept
    assert sorted(path.name for path in project.iterdir()) == sorted(
        [".pi", "file", "folder", *FILES]
    )


def test_questions_are_not_written_over_under_another_name(project: Path) -> None:
    questions = project / "run.jsonl.partial"
    questions.write_text(json.dumps(QUESTIONS[0]), encoding="utf-8")
    with pytest.raises(QueryError, match=r"writing run\.jsonl would destroy run\.jsonl\.partial"):
        run("eval", "run", "--queries", "run.jsonl.partial", "--out", "run.jsonl")
    assert json.loads(questions.read_text(encoding="utf-8")) == QUESTIONS[0]


def test_a_file_without_questions_makes_no_run(project: Path) -> None:
    (project / "empty.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(QueryError, match=r"there is no question in empty\.jsonl"):
        run("eval", "run", "--queries", "empty.jsonl", "--out", "run.jsonl")
    assert not Path("run.jsonl").exists()


def test_an_id_that_utf_8_cannot_hold_is_answered_and_scored(project: Path) -> None:
    question = {**QUESTIONS[1], "id": "q\ud800", "repo": "\udc00"}
    (project / "half.jsonl").write_text(json.dumps(question), encoding="utf-8")
    run("eval", "run", "--queries", "half.jsonl", "--out", "run.jsonl", "--prefix", "src")
    score = data("eval", "score", "run.jsonl", "--queries", "half.jsonl", "--by", "repo")
    assert score["total"]["recall10"]["micro"] == 1.0
    assert list(score["by"]) == ["\udc00"]


def test_a_score_has_quality_recall_within_tokens_and_time(project: Path) -> None:
    answered("../../run.jsonl", "--prefix", "src", "--passages")
    result = run("eval", "score", "../../run.jsonl", "--queries", "../../q.jsonl", "--by", "repo")
    assert isinstance(result.data, dict)
    assert result.data["total"]["ndcg10"]["macro"] == 1.0
    assert result.data["total"]["recall_500t"]["micro"] == 1.0
    assert result.data["total"]["line_recall_500t"]["n"] == 1
    assert result.data["latency"]["n"] == 3
    assert set(result.data["by"]) == {"one", "two"}
    assert "recall_2000t" in result.text
    assert "milliseconds a question: p50 " in result.text


def test_a_run_is_compared_with_another_over_topics_or_repositories(project: Path) -> None:
    answered("../../run.jsonl", "--prefix", "src")
    answered("../../wrong.jsonl", "--prefix", "elsewhere")
    words = ["eval", "compare", "../../run.jsonl", "../../wrong.jsonl", "--queries",
             "../../q.jsonl"]  # fmt: skip
    compared = data(*words)["compared"]["ndcg10"]
    assert compared == {"difference": 1.0, "low": 1.0, "high": 1.0, "n": 3}
    assert data(*words, "--over", "repositories")["compared"]["ndcg10"]["n"] == 2
    assert "+1.0000" in run(*words).text


@pytest.mark.parametrize("verb", [["score"], ["compare", "../../run.jsonl"]])
def test_a_run_of_other_questions_and_questions_without_labels_are_errors(
    verb: list[str], project: Path
) -> None:
    answered("../../run.jsonl")
    bare, foreign = project / "bare.jsonl", project / "foreign.jsonl"
    bare.write_text('{"id": "q1", "query": "parse"}\n', encoding="utf-8")
    foreign.write_text(
        '{"id": "z", "query": "parse", "relevant": [{"path": "a"}]}\n', encoding="utf-8"
    )
    for queries, problem in ((bare, "no labels"), (foreign, "answers none of these questions")):
        with pytest.raises(QueryError, match=problem):
            run("eval", *verb, "../../run.jsonl", "--queries", str(queries))


def test_runs_are_drawn_under_their_names(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("matplotlib", reason="drawn only with rag_agent[eval]")
    answered("../../words.jsonl", "--prefix", "src")
    (project / "published.json").write_text(
        json.dumps([{"set": "", "name": "another tool", "source": "its paper", "p50_ms": 3,
                     "measures": {"ndcg10": 0.5}}]), encoding="utf-8",
    )  # fmt: skip
    with caplog.at_level(logging.ERROR):
        drawn = data("eval", "plot", "../../words.jsonl", "--queries", "../../q.jsonl", "--out",
                     "plots", "--published", "published.json")["plots"]  # fmt: skip
    assert [Path(path).name for path in drawn] == ["quality-time.svg", "recall-tokens.svg"]
    picture = Path(drawn[0]).read_text(encoding="utf-8")
    assert "words" in picture
    assert "another tool" in picture


def test_pictures_are_not_drawn_into_a_file(project: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawn only with rag_agent[eval]")
    answered("../../run.jsonl")
    (project / "file").write_text("", encoding="utf-8")
    for out in ("file", "file/plots"):
        with pytest.raises(QueryError, match="cannot write file"):
            run("eval", "plot", "../../run.jsonl", "--queries", "../../q.jsonl", "--out", out)


def fit_questions(project: Path, *more: str) -> list[str]:
    """What `eval fit` is called with: nine questions about an index by words alone."""
    (project / "tests").mkdir()
    for name, text in FILES.items():  # what is found as well, and does not answer
        (project / "tests" / f"test_{name}").write_text(text, encoding="utf-8")
    with Index(project, project.parent / "stores" / "one", "environment") as index:
        index.sync(project, vectors=False)
    asked = {
        "parser.py": ("parse a query", "where are pairs split", "dict of pairs"),
        "mailer.py": ("send mail", "deliver to the recipient", "which connection sends"),
        "notes.md": ("call the dentist", "an appointment", "notes"),
    }
    rows = [
        {"id": query, "query": query, "repo": "one", "relevant": [{"path": name}]}
        for name, queries in asked.items()
        for query in queries
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (project.parent / "fit.jsonl").write_text(lines, encoding="utf-8")
    return ["eval", "fit", "../fit.jsonl", "../stores", *more]


def test_weights_that_too_few_repositories_judge_are_doubted(project: Path) -> None:
    result = run(*fit_questions(project, "--words"))
    assert isinstance(result.data, dict)
    assert result.data["words"][""]["n"] == 9
    (warning,) = result.data["warnings"]
    assert "too few repositories to judge by (1, of 8 that are needed)" in warning
    assert result.text.endswith(f"warning: {warning}")


def test_a_fit_says_how_many_questions_it_needs(project: Path) -> None:
    words = fit_questions(project)
    needs = "eval fit needs 8 questions or more"
    with pytest.raises(QueryError, match=f"{needs} that find in an index with all vectors .*0 of"):
        run(*words)
    with pytest.raises(QueryError, match=f"{needs} that find both .*0 of 0 do"):
        run("eval", "fit", "../fit.jsonl", "../elsewhere", "--words")
    with pytest.raises(QueryError, match=f"{needs} that say what is relevant.* there are 3"):
        run("eval", "fit", "../../q.jsonl", "../stores", "--words")


def test_a_fit_whose_tables_cannot_be_written_ends_before_the_work(project: Path) -> None:
    words = fit_questions(project)
    asked: list[Progress] = []
    (project / "folder").mkdir()
    for more, problem in (
        (["--out", "folder"], "cannot write folder: it is no file"),
        (["--out", "../fit.jsonl"], "would destroy"),
        (["--out", "weights.py", "--words"], "leave out --words"),
    ):
        with pytest.raises(QueryError, match=problem):
            run(*words, *more, report=asked.append)
    assert asked == []


def test_a_fit_says_which_sets_of_questions_there_are(project: Path) -> None:
    words = fit_questions(project, "--words", "--shares", "issue=2")
    with pytest.raises(QueryError, match="no question is of the set issue; they are of no set"):
        run(*words)


@pytest.mark.parametrize("given", ["a", "2", "=2", "a=", "a=x", "a=0", "a=-1", "a=inf", "a=nan"])
def test_a_share_is_a_set_and_a_number_above_none(given: str) -> None:
    with pytest.raises(Usage, match="is not a set and a number"):
        parse(["eval", "fit", "q.jsonl", "stores", "--shares", f"b=0.5,{given}"])


def test_a_fit_writes_what_its_weights_were_taught_by(project: Path) -> None:
    words = fit_questions(project)
    with Index(project, project.parent / "stores" / "one", "environment") as index:
        index.sync(project)
    result = run(*words, "--out", "weights.py")
    assert isinstance(result.data, dict)
    assert result.data["left_out"] == {"hybrid": {"": "questions"}, "words": {"": "questions"}}
    assert result.text.splitlines()[1].endswith("  questions")
    written = " ".join((project / "weights.py").read_text(encoding="utf-8").split())
    assert "taught by 6 questions that code answers" in written
    assert "weighed with 9 questions" in written


def test_evaluation_is_for_a_terminal_alone() -> None:
    verbs = [verb for name, verb in VERBS.items() if name.startswith("eval ")]
    assert len(verbs) >= 4
    assert all(verb.terminal for verb in verbs)
