"""scripts/evaluate.py as `make eval` calls it, over two small checkouts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag_agent.index import Index

pytest.importorskip("matplotlib", reason="drawn only with rag_agent[eval]")

_SCRIPT = Path(__file__).parents[2] / "scripts" / "evaluate.py"
_FILES = {
    "click/src/click/core.py": "def invoke(command):\n    return command.callback()\n",
    "click/src/click/types.py": "def convert(value):\n    return int(value)\n",
    "chi/mux.go": "package chi\n\nfunc NewRouter() *Mux {\n\treturn &Mux{}\n}\n",
}
_TOPICS = [
    ("q1", "click", "invoke the callback of a command", "src/click/core.py"),
    ("q2", "click", "convert a value", "src/click/types.py"),
    ("q3", "chi", "make a new router", "mux.go"),
]


@pytest.fixture
def laid_out(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        path = tmp_path / "eval" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    roots = {"click": "click/src/click", "chi": "chi"}
    absolute = {name: str(tmp_path / "eval" / root) for name, root in roots.items()}
    (tmp_path / "_roots.json").write_text(json.dumps(absolute), encoding="utf-8")
    rows = [
        {"id": id, "set": "tiny", "repo": repo, "query": query, "relevant": [{"path": path}]}
        for id, repo, query, path in _TOPICS
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "q.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def evaluate(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(_SCRIPT), "q.jsonl", "_roots.json", "--work", "work", *more]
    return subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", timeout=300
    )


def test_collections_are_run_scored_drawn_and_reported(laid_out: Path) -> None:
    (laid_out / "other.jsonl").write_text(
        '{"id": "q1", "results": [{"path": "src/click/core.py"}]}\n', encoding="utf-8"
    )
    done = evaluate(laid_out, "--report", "quality.md", "--also", "another tool=other.jsonl")
    assert done.returncode == 0, done.stderr
    assert "[2/2] click: 2 files" in done.stderr
    report = (laid_out / "quality.md").read_text(encoding="utf-8")
    assert done.stdout.strip() in report
    assert done.stdout.startswith("3 questions, 2 repositories.")
    assert "## tiny" in report
    assert "| words alone | 1.000 | 1.000 |" in report
    assert "| words and meaning | 1.000 | 1.000 |" in report
    assert "| another tool | 0.250 | 0.250 |" in report
    pictures = sorted(path.name for path in (laid_out / "plots").iterdir())
    assert pictures == ["tiny-quality-time.svg", "tiny-recall-tokens.svg"]
    assert all(f"(plots/{name})" in report for name in pictures)


def test_by_words_nothing_is_embedded(laid_out: Path) -> None:
    done = evaluate(laid_out, "--words", "--only", "chi", "--label", "mine")
    assert done.returncode == 0, done.stderr
    assert "1 topics, 1 repositories, 0 missing in the run" in done.stdout
    assert [path.name for path in (laid_out / "work" / "runs").iterdir()] == ["mine-chi.jsonl"]
    assert (laid_out / "work" / "mine.jsonl").exists()
    (store,) = (laid_out / "work" / "stores").iterdir()
    with Index(laid_out / "eval" / "chi", store, "environment") as index:
        status = index.status()
    assert (store.name, status.documents, status.vectors) == ("chi", 1, 0)


def test_one_missing_folder_does_not_end_the_evaluation_and_the_next_call_goes_on(
    laid_out: Path,
) -> None:
    there, away = laid_out / "eval" / "click", laid_out / "away"
    there.rename(away)
    done = evaluate(laid_out, "--words")
    assert done.returncode == 1
    assert "[1/2] chi: 1 files" in done.stderr
    assert "[2/2] click: error: " in done.stderr
    assert "not evaluated: click" in done.stderr
    away.rename(there)
    again = evaluate(laid_out, "--words")
    assert again.returncode == 0
    assert "[1/2] chi: done before" in again.stderr
    assert "[2/2] click: 2 files" in again.stderr
    assert "3 topics, 2 repositories, 0 missing in the run" in again.stdout
    assert "chi: 1 files" in evaluate(laid_out, "--words").stderr


def test_questions_about_nothing_that_is_laid_out_are_an_error(laid_out: Path) -> None:
    done = evaluate(laid_out, "--words", "--only", "elsewhere")
    assert done.returncode == 1
    assert done.stderr.startswith("error: no question of ")
