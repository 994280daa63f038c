from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from rag_agent import cachefile
from rag_agent.cachefile import CacheFile
from rag_agent.embed import EmbeddingCache, cache

MODEL = "model@1"


def vectors(count: int, dim: int = 384, seed: int = 0) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def missing(found: list[NDArray[np.float32] | None]) -> list[int]:
    return [number for number, vector in enumerate(found) if vector is None]


def test_vectors_come_back_bit_for_bit(tmp_path: Path) -> None:
    rows = vectors(3)
    EmbeddingCache(tmp_path).put(MODEL, ["a", "", "漢\ud800"], rows)
    found = EmbeddingCache(tmp_path).get(MODEL, ["漢\ud800", "unknown", "a", "a", ""])
    assert missing(found) == [1]
    assert np.array_equal([found[0], found[2], found[3], found[4]], rows[[2, 0, 0, 1]])


def test_models_do_not_mix(tmp_path: Path) -> None:
    here = EmbeddingCache(tmp_path)
    here.put("model@1", ["text"], vectors(1))
    assert missing(here.get("model@2", ["text"])) == [0]
    # The border between fingerprint and text is part of the key.
    assert missing(here.get("model@", ["1text"])) == [0]


def test_more_texts_than_a_statement_takes_are_found(tmp_path: Path) -> None:
    texts = [str(number) for number in range(1234)]
    here = EmbeddingCache(tmp_path)
    here.put(MODEL, texts, vectors(1234, dim=8))
    assert missing(here.get(MODEL, texts)) == []


def test_a_text_put_twice_keeps_its_first_vector(tmp_path: Path) -> None:
    here = EmbeddingCache(tmp_path)
    first, second = vectors(2)[:1], vectors(2)[1:]
    here.put(MODEL, ["text"], first)
    here.put(MODEL, ["text"], second)
    assert np.array_equal(here.get(MODEL, ["text"]), first)


_FILL = """
import sys
from pathlib import Path
import numpy as np
from rag_agent.embed import EmbeddingCache
here = EmbeddingCache(Path(sys.argv[1]))
for part in range(20):
    texts = [f"{sys.argv[2]} {part} {number}" for number in range(10)]
    here.put("model@1", texts, np.ones((10, 8), np.float32))
"""


def test_several_processes_write_one_cache(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    running = [
        subprocess.Popen([sys.executable, "-c", _FILL, str(tmp_path), name]) for name in names
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    texts = [f"{n} {part} {number}" for n in names for part in range(20) for number in range(10)]
    assert missing(EmbeddingCache(tmp_path).get(MODEL, texts)) == []


def test_several_threads_share_one_cache(tmp_path: Path) -> None:
    here = EmbeddingCache(tmp_path)

    def work(name: str) -> None:
        for number in range(30):
            here.put(MODEL, [f"{name} {number}"], vectors(1, dim=8))
            here.get(MODEL, [f"{name} {number}"])

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing(here.get(MODEL, [f"{n} {number}" for n in "abcd" for number in range(30)])) == []


def test_what_was_not_used_for_longest_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = EmbeddingCache(tmp_path, limit=400_000)
    monkeypatch.setattr(cachefile, "_today", lambda: 100)
    here.put(MODEL, ["kept", "forgotten"], vectors(2))
    for number in range(40):
        monkeypatch.setattr(cachefile, "_today", lambda day=101 + number: day)
        assert missing(here.get(MODEL, ["kept"])) == []
        texts = [f"{number} {other}" for other in range(10)]
        here.put(MODEL, texts, vectors(10, seed=number))
    assert missing(here.get(MODEL, ["kept", "forgotten", "0 0", "39 0", "39 9"])) == [1, 2]
    here.close()
    assert (tmp_path / cache.FILE).stat().st_size < 500_000


def test_a_use_is_noted_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = EmbeddingCache(tmp_path)
    monkeypatch.setattr(cachefile, "_today", lambda: 100)
    here.put(MODEL, ["text"], vectors(1))
    reader = apsw.Connection(str(tmp_path / cache.FILE))

    def version() -> int:
        return int(reader.pragma("data_version"))

    before = version()
    here.get(MODEL, ["text"])
    assert version() == before
    monkeypatch.setattr(cachefile, "_today", lambda: 101)
    here.get(MODEL, ["text"])
    assert version() != before
    assert reader.execute("SELECT used FROM vectors").fetchall() == [(101,)]
    reader.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 500)


def _torn(path: Path) -> None:
    """A sound header and first page, noise behind it."""
    here = EmbeddingCache(path.parent)
    here.put(MODEL, [str(number) for number in range(400)], vectors(400))
    here.close()
    data = bytearray(path.read_bytes())
    data[4096:] = np.random.default_rng(1).bytes(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_garbage, _torn])
def test_a_damaged_file_is_set_aside_and_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    assert callable(damage)
    path = tmp_path / cache.FILE
    damage(path)
    bytes_before = path.read_bytes()
    here = EmbeddingCache(tmp_path)
    assert missing(here.get(MODEL, ["1", "2"])) == [0, 1]
    here.put(MODEL, ["1"], vectors(1))
    assert missing(here.get(MODEL, ["1", "2"])) == [1]
    assert path.with_suffix(".damaged").read_bytes() == bytes_before
    assert len(warnings(caplog)) == 1
    assert "damaged" in warnings(caplog)[0]


def test_a_busy_file_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cachefile, "_BUSY_MILLISECONDS", 20)
    here = EmbeddingCache(tmp_path)
    here.put(MODEL, ["a"], vectors(1))
    other = apsw.Connection(str(tmp_path / cache.FILE))
    other.execute("BEGIN IMMEDIATE")
    here.put(MODEL, ["b"], vectors(1))
    assert missing(here.get(MODEL, ["a", "b"])) == [1]
    # A process that starts meanwhile does without, and looks again later.
    late = EmbeddingCache(tmp_path)
    late.put(MODEL, ["b"], vectors(1))
    other.execute("ROLLBACK")
    other.close()
    late.put(MODEL, ["b"], vectors(1))
    assert missing(late.get(MODEL, ["a", "b"])) == []
    assert warnings(caplog) == []
    assert not list(tmp_path.glob("*.damaged"))


def test_a_suspicion_that_the_check_does_not_confirm_moves_nothing(tmp_path: Path) -> None:
    here = EmbeddingCache(tmp_path)
    here.put(MODEL, ["a"], vectors(1))
    here.close()
    assert here.file._set_aside()
    assert not list(tmp_path.glob("*.damaged"))
    assert missing(here.get(MODEL, ["a"])) == []


def test_an_unusable_folder_is_an_empty_cache_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a folder", encoding="utf-8")
    here = EmbeddingCache(occupied / "cache")
    here.put(MODEL, ["a"], vectors(1))
    assert missing(here.get(MODEL, ["a"])) == [0]
    assert len(warnings(caplog)) == 1
    assert str(occupied) in warnings(caplog)[0]


def test_a_read_only_file_is_read_and_not_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    EmbeddingCache(tmp_path).put(MODEL, ["a"], vectors(1))
    here = EmbeddingCache(tmp_path)
    here.get(MODEL, ["a"])
    assert here.file._connection is not None
    here.file._connection.pragma("query_only", True)  # permissions do not stop the administrator
    here.put(MODEL, ["b"], vectors(1))
    assert missing(here.get(MODEL, ["a", "b"])) == [1]
    assert len(warnings(caplog)) == 1


def test_a_full_disk_leaves_the_cache_readable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here = EmbeddingCache(tmp_path)
    here.put(MODEL, ["a"], vectors(1))
    assert here.file._connection is not None
    here.file._connection.pragma("max_page_count", 6)
    for number in range(20):
        here.put(MODEL, [str(number)], vectors(1))
    assert missing(here.get(MODEL, ["a", "19"])) == [1]
    assert len(warnings(caplog)) == 1


def test_a_cache_from_the_future_is_not_touched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / cache.FILE
    future = apsw.Connection(str(path))
    future.execute("CREATE TABLE marvel(x); PRAGMA user_version = 99").fetchall()
    future.close()
    here = EmbeddingCache(tmp_path)
    here.put(MODEL, ["a"], vectors(1))
    assert missing(here.get(MODEL, ["a"])) == [0]
    assert len(warnings(caplog)) == 1
    here.close()
    future = apsw.Connection(str(path))
    assert future.pragma("user_version") == 99
    future.close()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="Linux lists the locks of processes")
def test_a_second_cache_of_the_process_does_not_take_sqlites_locks_of_the_first(
    tmp_path: Path,
) -> None:
    first = CacheFile(tmp_path / "some.db", "vector", "some cache", 1 << 20)
    first.put([(b"one", b"1")])
    held = _locks(tmp_path / "some.db")
    second = CacheFile(tmp_path / "some.db", "vector", "some cache", 1 << 20)
    assert second.get([b"one"]) == {b"one": b"1"}
    second.close()
    assert held
    assert _locks(tmp_path / "some.db") >= held
    first.close()


def _locks(file: Path) -> set[str]:
    inode, mine = file.stat().st_ino, f" {os.getpid()} "
    rows = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
    return {row.partition(": ")[2] for row in rows if mine in row and f":{inode} " in row}
