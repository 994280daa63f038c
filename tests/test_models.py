"""An index with vectors of two models: the packaged one, and a tiny one in place of a download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_models import put_in_cache

import rag_agent
from rag_agent import embed, paths
from rag_agent.cli import main
from rag_agent.errors import EmbedError
from rag_agent.index import Index
from rag_agent.store import Store, matrix
from rag_agent.types import SearchResults

OTHER = "nomic-ai/nomic-embed-text-v1.5-Q"  # 768 numbers and prefixes, where the packaged has 384
FILES = {
    "parser.py": "def parse_query(text):\n    return dict(pairs(text))\n",
    "mailer.py": "def send_mail(recipient):\n    connection.deliver(recipient)\n",
    "clock.py": "def now():\n    return read_clock()\n",
}
QUESTION = "deliver a message to someone"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A cache of its own, so that it is known what has been embedded.
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    put_in_cache(
        embed.find_model(OTHER), paths.cache_folder() / "models", "onnx/model_quantized.onnx"
    )
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def without_the_cache(project: Path) -> None:
    """So that vectors that are not in the index have to be computed."""
    for path in paths.cache_folder().glob("embeddings.db*"):
        path.unlink()


def ranking(results: SearchResults) -> list[tuple[str, float, Any]]:
    return [(hit.path, hit.score, hit.evidence.cosine) for hit in results]


def of_two_models(index: Index) -> None:
    index.sync()
    index.configure(embedding_model=OTHER)
    index.sync()


def test_after_a_change_of_the_model_words_are_searched_until_it_has_vectors(
    project: Path,
) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        index.configure(embedding_model=OTHER)
        changed = index.search(QUESTION)
        assert changed.mode == "lexical"
        assert any("nothing is embedded with the present model" in note for note in changed.notes)
        assert (index.status().vectors, index.status().pending) == (0, 3)
        report = index.sync()
        assert (report.embedded, report.unchanged, report.pending) == (3, 3, 0)
        assert index.search(QUESTION).mode == "hybrid"


def test_changing_back_embeds_nothing_and_finds_what_was_found_before(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        before = index.search(QUESTION)
        index.configure(embedding_model=OTHER)
        index.sync()
        between = index.search(QUESTION)
        index.configure(embedding_model=embed.DEFAULT)
        without_the_cache(project)
        after = index.search(QUESTION)
        report = index.sync()
    assert (after.mode, ranking(after)) == ("hybrid", ranking(before))
    assert ranking(between) != ranking(before)
    assert (report.embedded, report.reused, report.pending) == (0, 0, 0)


def test_what_changes_is_embedded_for_the_model_in_use_only(project: Path) -> None:
    with rag_agent.open(project) as index:
        of_two_models(index)
        (project / "clock.py").write_text("def later():\n    return 1\n", encoding="utf-8")
        assert index.sync().embedded == 1
        (others,) = index.status().other_models.values()
        assert others == 2
        index.configure(embedding_model=embed.DEFAULT)
        assert (index.status().vectors, index.status().pending) == (2, 1)
        results = index.search("what comes later")
        assert (results.mode, results.hits[0].path) == ("hybrid", "clock.py")
        assert any("1 chunks are not embedded yet" in note for note in results.notes)
        assert index.sync().embedded == 1


def test_the_status_names_the_other_models_with_their_vectors(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        assert index.status().other_models == {}
        main(["status"])
        assert "other models" not in capsys.readouterr().out
        of_two_models(index)
    main(["status", "--json"])
    shown = json.loads(capsys.readouterr().out)
    ((name, count),) = shown["other_models"].items()
    assert (name.partition("@")[0], count) == (embed.DEFAULT, 3)
    assert (shown["model"], shown["vectors"]) == (OTHER, 3)
    main(["status"])
    text = capsys.readouterr().out
    assert "3 vectors" in text
    assert "`rag-agent clear --other-models`" in text


def test_vectors_of_other_models_are_removed_when_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with rag_agent.open(project) as index:
        of_two_models(index)
        before = index.search(QUESTION)
        main(["clear", "--other-models"])
        assert capsys.readouterr().out == "3 vectors of other models removed.\n"
        status = index.status()
        assert (status.documents, status.vectors, status.other_models) == (3, 3, {})
        assert ranking(index.search(QUESTION)) == ranking(before)
        assert index.clear_other_models() == 0
        index.configure(embedding_model=embed.DEFAULT)
        assert index.status().pending == 3


def test_a_model_that_cannot_be_loaded_removes_no_vectors(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        index.configure(embedding_model="no/such-model")
        with pytest.raises(EmbedError, match="no/such-model"):
            index.clear_other_models()
        report = index.rebuild(force=True)
        assert (report.embedded, sum(index.status().other_models.values())) == (0, 3)
        index.configure(embedding_model=embed.DEFAULT)
        assert (index.status().vectors, index.search(QUESTION).mode) == (3, "hybrid")


def test_rebuilding_keeps_the_vectors_of_all_models_unless_forced(project: Path) -> None:
    with rag_agent.open(project) as index:
        of_two_models(index)
        index.rebuild()
        assert list(index.status().other_models.values()) == [3]
        assert index.rebuild(force=True).embedded == 3
        assert index.status().other_models == {}
        assert index.status().vectors == 3


def test_clearing_the_index_removes_the_vectors_of_all_models(project: Path) -> None:
    with rag_agent.open(project) as index:
        of_two_models(index)
        index.clear()
        status = index.status()
    assert (status.documents, status.vectors, status.other_models) == (0, 0, {})


def test_each_model_has_a_copy_of_its_vectors_of_its_own(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rag_agent.open(project) as index:
        of_two_models(index)
        scanned = index.search(QUESTION)
        monkeypatch.setattr(matrix, "SMALLEST", 1)
        with Store.open(paths.database(index.folder)) as store:
            store.refresh_statistics()
            sizes = {path.stat().st_size for path in matrix.files(store._database)}
        assert len(sizes) == 2
        copied = index.search(QUESTION)
        assert [hit.path for hit in copied] == [hit.path for hit in scanned]
        assert [hit.evidence.cosine for hit in copied] == pytest.approx(
            [hit.evidence.cosine for hit in scanned], abs=1e-5
        )
        index.clear_other_models()
        with Store.open(paths.database(index.folder)) as store:
            (left,) = matrix.files(store._database)
            assert left.stat().st_size == max(sizes)


def test_an_index_that_is_open_follows_a_change_of_the_model(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
    with rag_agent.open(project) as server, rag_agent.open(project) as command:
        first = server.search(QUESTION)
        assert first.mode == "hybrid"
        command.configure(embedding_model=OTHER)
        command.sync()
        assert ranking(server.search(QUESTION)) == ranking(command.search(QUESTION))
        assert ranking(server.search(QUESTION)) != ranking(first)
        command.configure(embedding_model=embed.DEFAULT)
        assert ranking(server.search(QUESTION)) == ranking(first)
