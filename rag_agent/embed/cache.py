"""Vectors by content, in one SQLite file that all stores and processes of a user share.

A branch switch, another worktree or a rebuilt index finds its vectors here instead of computing
them. Everything in it can be computed again, so nothing that happens to it may stop a sync: what
cannot be read counts as empty, what cannot be written is dropped, and one warning says so.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import apsw
from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from rag_agent.types import Matrix, Vector

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

FILE = "embeddings.db"
LIMIT = 1 << 30  # bytes; about 600,000 vectors of 384 numbers, a dozen large projects

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE vectors(
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,   -- SHA-256 of fingerprint and text
    used INTEGER NOT NULL,      -- day since 1970, so that a hit writes at most once a day
    vector BLOB NOT NULL        -- float32, little-endian
);
CREATE INDEX vectors_by_use ON vectors(used, id);
"""
_BUSY_MILLISECONDS = 2_000  # a put by another process takes milliseconds
_KEYS_PER_QUERY = 500
_SECONDS_PER_DAY = 86_400

# The file is there and is not a sound database (or not ours); to be confirmed before it is moved.
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)
# Another process is at work: this one does without, this time.
_BUSY = (apsw.BusyError, apsw.LockedError)
# What is there can still be read.
_UNWRITABLE = (apsw.FullError, apsw.ReadOnlyError)


class EmbeddingCache:
    """Vectors by fingerprint and text; safe to share between threads and processes.

    Never raises for the state of the disk: an unusable folder or file behaves as an empty cache.
    ``limit`` bounds the file in bytes; what was not used for longest goes first.
    """

    def __init__(self, folder: Path, *, limit: int = LIMIT) -> None:
        self._path = folder / FILE
        self._limit = limit
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._off = False
        self._unwritable = False

    def get(self, fingerprint: str, texts: Sequence[str]) -> list[Vector | None]:
        """One entry a text, None where the cache has none. The vectors are read-only."""
        import numpy as np

        keys = [_key(fingerprint, text) for text in texts]
        nothing: dict[bytes, bytes] = {}
        found = self._try(lambda connection: _read(connection, keys), nothing)
        vectors: list[Vector | None] = []
        for key in keys:
            blob = found.get(key)
            vectors.append(None if blob is None else np.frombuffer(blob, "<f4"))
        return vectors

    def put(self, fingerprint: str, texts: Sequence[str], vectors: Matrix) -> None:
        """Keep one row a text; rows that are there already stay."""
        rows = [
            (_key(fingerprint, text), _today(), vector.astype("<f4", copy=False).tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        self._try(lambda connection: _write(connection, rows, self._limit), None)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._close()

    def _try(self, act: Callable[[apsw.Connection], _T], otherwise: _T) -> _T:
        """What ``act`` returns, or ``otherwise`` where the cache cannot be used."""
        with self._lock:
            for _ in range(2):  # the second time with a new file where the old one was damaged
                if self._off:
                    break
                try:
                    if self._connection is None:
                        self._connection = _open(self._path)
                    return act(self._connection)
                except _BUSY as error:
                    _log.debug("embedding cache %s is busy: %s", self._path, error)
                    break
                except _UNWRITABLE as error:
                    self._report_unwritable(error)
                    break
                except _DAMAGED:
                    self._close()
                    if not self._set_aside():
                        break
                except (apsw.Error, OSError) as error:
                    self._give_up(error)
        return otherwise

    def _set_aside(self) -> bool:
        """Move a file away that a check confirms to be damaged; true if it is worth a new try."""
        try:
            # One process at a time, so that none moves the file that another has just begun.
            with FileLock(self._path.with_suffix(".lock"), timeout=_BUSY_MILLISECONDS / 1000):
                problem = _check(self._path)
                if problem:
                    _move(self._path)
                    _log.warning(
                        "embedding cache %s was damaged (%s); it was set aside and a new one begun",
                        self._path,
                        problem,
                    )
        except (Timeout, *_BUSY) as error:
            _log.debug("embedding cache %s is busy: %s", self._path, error)
            return False
        except (apsw.Error, OSError) as error:
            self._give_up(error)
            return False
        return True

    def _report_unwritable(self, error: apsw.Error) -> None:
        if not self._unwritable:
            self._unwritable = True
            _log.warning("embedding cache %s takes nothing new: %s", self._path, error)

    def _give_up(self, error: Exception) -> None:
        self._off = True
        self._close()
        _log.warning(
            "embedding cache %s cannot be used (%s: %s); vectors are computed anew until the next"
            " start",
            self._path,
            type(error).__name__,
            error,
        )

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


def _key(fingerprint: str, text: str) -> bytes:
    digest = hashlib.sha256(fingerprint.encode("utf-8"))
    digest.update(b"\0")
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _today() -> int:
    return int(time.time()) // _SECONDS_PER_DAY


def _open(path: Path) -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # The mode is a property of the file; a process that opens it at the same moment sets it.
        with suppress(apsw.BusyError):
            connection.pragma("journal_mode", "wal")
        # A crash of the machine may lose the last vectors, never the file's soundness.
        connection.pragma("synchronous", "normal")
        if connection.pragma("user_version") == 0:
            _create(connection)
        version = connection.pragma("user_version")
        if version != _SCHEMA_VERSION:
            raise apsw.CantOpenError(f"written by another version of rag_agent ({version})")
    except BaseException:
        connection.close(True)
        raise
    return connection


def _create(connection: apsw.Connection) -> None:
    with _transaction(connection):
        if connection.pragma("user_version") == 0:  # else another process was faster
            connection.execute(_SCHEMA).fetchall()
            connection.pragma("user_version", _SCHEMA_VERSION)


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    """Take the write lock at once: upgrading a read lock fails without waiting."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _read(connection: apsw.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    stale: list[int] = []
    today = _today()
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        some = keys[start : start + _KEYS_PER_QUERY]
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT id, key, used, vector FROM vectors WHERE key IN ({marks})", some
        )
        for identifier, key, used, vector in rows:
            found[key] = vector
            if used != today:
                stale.append(identifier)
    if stale:
        _mark_used(connection, stale, today)
    return found


def _mark_used(connection: apsw.Connection, identifiers: Sequence[int], today: int) -> None:
    try:
        with _transaction(connection):
            connection.executemany(
                "UPDATE vectors SET used = ? WHERE id = ?",
                ((today, identifier) for identifier in identifiers),
            )
    except (*_BUSY, *_UNWRITABLE) as error:
        # What was found is good all the same; only its age is not noted.
        _log.debug("embedding cache: use not noted: %s", error)


def _write(
    connection: apsw.Connection, rows: Sequence[tuple[bytes, int, bytes]], limit: int
) -> None:
    with _transaction(connection):
        connection.executemany(
            "INSERT INTO vectors(key, used, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows
        )
        if _bytes_in_use(connection) > limit:
            # Twice what came in: the file stops growing, and no put waits for a big clean-up.
            connection.execute(
                "DELETE FROM vectors WHERE id IN"
                " (SELECT id FROM vectors ORDER BY used, id LIMIT ?)",
                (2 * len(rows),),
            )


def _bytes_in_use(connection: apsw.Connection) -> int:
    pages: int = connection.pragma("page_count") - connection.pragma("freelist_count")
    return pages * int(connection.pragma("page_size"))


def _check(path: Path) -> str:
    """What is wrong with the file, or "" when it is sound (another process has renewed it)."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    except _DAMAGED as error:
        return str(error)
    finally:
        connection.close(True)
    return "" if problems == ["ok"] else str(problems[0])


def _move(path: Path) -> None:
    """Keep one damaged file for who wants to look; its log belongs to it and goes."""
    path.replace(path.with_suffix(".damaged"))
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
