"""Reranking from the settings to the hits, with a real model of a few nodes."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tiny_models import write_cross_encoder

import rag_agent
from rag_agent import engines
from rag_agent.cli import main
from rag_agent.types import SearchResults

# The first is what search likes best: the name is defined there. The tiny reranker counts words.
FILES = {
    "retry.py": "def retry_request():\n    return send()\n",
    "notes.py": "retry_request = 'retry request, retry request, retry request'\n",
    "other.py": "# one request\nclock = 1\n",
}
QUESTION = "retry_request"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with rag_agent.open(folder) as index:
        index.sync()
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "model")


def ask(project: Path, **settings: object) -> SearchResults:
    with rag_agent.open(project) as index:
        # Where time is the subject it is made, and else there is more than enough.
        index.configure(rag_rerank_budget_ms=60_000, **settings)
        return index.search(QUESTION)


def paths(results: SearchResults) -> list[str]:
    return [hit.path for hit in results]


def test_the_model_of_the_settings_orders_the_hits(project: Path, model: Path) -> None:
    before = ask(project)
    after = ask(project, rag_reranker=str(model))
    assert paths(before)[:2] == ["retry.py", "notes.py"]
    assert paths(after)[:2] == ["notes.py", "retry.py"]
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])
    assert after.hits[0].signals["reranker"] > 0
    assert after.notes == before.notes


def test_it_is_off_unless_it_is_set(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "load_reranker", None)  # calling it would fail
    assert paths(ask(project))[0] == "retry.py"
    script = (
        "import sys, rag_agent\n"
        f"with rag_agent.open({str(project)!r}) as index: index.search({QUESTION!r})\n"
        "print('rag_agent.embed.cross' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "False"


def test_what_is_injected_is_never_reranked(project: Path, model: Path) -> None:
    before = ask(project, rag_reranker=str(model))
    assert paths(before)[0] == "notes.py"
    with rag_agent.open(project) as index:
        index.warm_up(60)
        hurried = index.search(QUESTION, hurried=True)
        context = index.context(QUESTION)
        assert index._engines._rerankers._model is None
    assert paths(hurried)[0] == "retry.py"
    assert context.hits[0].path == "retry.py"


def test_a_model_that_is_not_there_costs_one_note(project: Path) -> None:
    before = ask(project)
    after = ask(project, rag_reranker="BAAI/bge-reranker-base")
    assert paths(after) == paths(before)
    (note,) = set(after.notes) - set(before.notes)
    assert note.startswith("Not reranked: reranker BAAI/bge-reranker-base is not in ")
    assert "run `rag-agent doctor` with a network to download it (1040 MB)" in note


def test_a_file_that_has_changed_is_read_again_and_reranked(project: Path, model: Path) -> None:
    ask(project, rag_reranker=str(model))
    (project / "other.py").write_text("retry_request = 'retry request' * 3\n" * 9, encoding="utf-8")
    results = ask(project)
    assert paths(results)[0] == "other.py"
    assert "* 3" in results.hits[0].chunk.text


def test_another_model_takes_effect_with_the_next_search(
    project: Path, model: Path, tmp_path: Path
) -> None:
    with rag_agent.open(project) as index:
        index.configure(rag_rerank_budget_ms=60_000, rag_reranker=str(tmp_path / "none"))
        assert any("Not reranked" in note for note in index.search(QUESTION).notes)
        index.configure(rag_reranker=str(model))
        assert paths(index.search(QUESTION))[0] == "notes.py"
        index.configure(rag_reranker="")
        assert paths(index.search(QUESTION))[0] == "retry.py"


def test_doctor_tries_it(
    project: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    main(["doctor"])
    assert "reranker" in capsys.readouterr().out
    ask(project, rag_reranker=str(model))
    with rag_agent.open(project) as index:
        checks = {check.name: check for check in index.doctor()}
        assert (checks["reranker"].ok, checks["reranker"].detail) == (True, str(model))
        shutil.rmtree(model)
        checks = {check.name: check for check in index.doctor()}
    assert not checks["reranker"].ok
    assert "neither model.onnx nor" in checks["reranker"].detail
    assert "correct ragReranker" in checks["reranker"].advice


def test_without_enough_time_the_hits_are_those_without_it(
    project: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask(project)
    # A minute passes between any two looks at the clock.
    clock = itertools.count(step=61).__next__
    monkeypatch.setattr(engines, "Reranking", partial(engines.Reranking, clock=clock))
    after = ask(project, rag_reranker=str(model))
    assert [(hit.path, hit.score) for hit in after] == [(hit.path, hit.score) for hit in before]
    (note,) = set(after.notes) - set(before.notes)
    assert "60,000 ms (ragRerankBudgetMs)" in note
