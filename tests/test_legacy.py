from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from rag_agent import legacy


def _file(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text", encoding="utf-8")
    return str(path)


def test_lens_is_renamed_once(tmp_path: Path) -> None:
    _file(tmp_path / ".pi" / "lens" / "config.json")
    told = legacy.adopt_lens(tmp_path)
    assert told is not None
    assert str(tmp_path / ".pi" / "rag") in told
    assert (tmp_path / ".pi" / "rag" / "config.json").is_file()
    assert not (tmp_path / ".pi" / "lens").exists()
    assert legacy.adopt_lens(tmp_path) is None


def test_lens_stays_where_there_is_a_store_already(tmp_path: Path) -> None:
    _file(tmp_path / ".pi" / "lens" / "config.json")
    _file(tmp_path / ".pi" / "rag" / "config.json")
    assert legacy.adopt_lens(tmp_path) is None
    assert (tmp_path / ".pi" / "lens" / "config.json").is_file()


def test_nothing_happens_where_nothing_was(tmp_path: Path) -> None:
    assert legacy.adopt_lens(tmp_path) is None
    assert legacy.legacy_files(tmp_path) == []
    assert not legacy.foreign_database(tmp_path)
    legacy.remove_index(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_pi_local_rag_is_recognised_and_told(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "rag.db"))
    connection.execute("CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    connection.close()
    assert legacy.foreign_database(tmp_path)
    assert "rag_agent.db" in legacy.foreign_notice(tmp_path)


def test_the_files_of_an_index_become_known(tmp_path: Path) -> None:
    known = [_file(tmp_path / name) for name in ("b.md", "a.md")]
    entry = {"hash": "x", "chunks": 1, "indexed": "", "size": 4, "embedded": True}
    index = {"chunks": [], "files": dict.fromkeys([*known, "relative.md"], entry)}
    (tmp_path / "index.json").write_text(json.dumps(index), encoding="utf-8")
    assert legacy.legacy_files(tmp_path) == sorted(known)
    legacy.remove_index(tmp_path)
    assert not (tmp_path / "index.json").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"files": []}', "[" * 100_000, ""])
def test_an_unusable_index_is_left_alone(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "index.json").write_text(content, encoding="utf-8")
    assert legacy.legacy_files(tmp_path) == []
    assert "not taken over" in caplog.text
    assert (tmp_path / "index.json").read_text(encoding="utf-8") == content


def test_what_is_tracked_already_is_not_tracked_again(tmp_path: Path) -> None:
    inside = _file(tmp_path / "project" / "a.md")
    gone = str(tmp_path / "gone.md")
    tracked = [str(tmp_path / "project")]
    assert legacy.untracked([inside, gone], tracked, tmp_path) == []


def test_folders_are_tracked_as_they_once_were_and_never_the_home_folder(tmp_path: Path) -> None:
    names = (
        "work/one/README.md",
        "work/one/src/deep/a.py",
        "work/two/src/a.py",
        "work/two/src/b.py",
        "work/two/docs/c.md",
        "todo.md",
    )
    files = [_file(tmp_path / name) for name in names]
    assert legacy.untracked(files, [], tmp_path) == [
        str(tmp_path / name)
        for name in ("todo.md", "work/one", "work/two/docs/c.md", "work/two/src")
    ]
