"""One SQLite file by content, that all stores and processes of a user share.

Everything in it can be made again, so nothing that happens to it may stop a sync: what cannot be
read counts as empty, what cannot be written is dropped, and one warning says so.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw
from filelock import FileLock, Timeout

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE {what}s(
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    used INTEGER NOT NULL,      -- day since 1970, so that a hit writes at most once a day
    {what} BLOB NOT NULL
);
CREATE INDEX {what}s_by_use ON {what}s(used, id);
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


class CacheFile:
    """Bytes by key; safe to share between threads and processes.

    Never raises for the state of the disk: an unusable folder or file behaves as an empty cache.
    ``limit`` bounds the file in bytes; what was not used for longest goes first. ``what`` names the
    table and its column, ``name`` the cache in what is logged. Only the user may read the file.
    """

    def __init__(self, path: Path, what: str, name: str, limit: int) -> None:
        self._path = path
        self._what = what
        self._name = name
        self._limit = limit
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._off = False
        self._unwritable = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What there is of these."""
        nothing: dict[bytes, bytes] = {}
        return self._try(lambda connection: _read(connection, self._what, keys), nothing)

    def put(self, rows: Sequence[tuple[bytes, bytes]], *, replace: bool = False) -> None:
        """Keep these keys and values; what is there already stays unless it is to be replaced."""
        verb = "REPLACE" if replace else "IGNORE"
        self._try(lambda connection: _write(connection, self._what, verb, rows, self._limit), None)

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
                        self._connection = _open(self._path, self._what)
                    return act(self._connection)
                except _BUSY as error:
                    _log.debug("%s %s is busy: %s", self._name, self._path, error)
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
                        "%s %s was damaged (%s); it was set aside and a new one begun",
                        self._name,
                        self._path,
                        problem,
                    )
        except (Timeout, *_BUSY) as error:
            _log.debug("%s %s is busy: %s", self._name, self._path, error)
            return False
        except (apsw.Error, OSError) as error:
            self._give_up(error)
            return False
        return True

    def _report_unwritable(self, error: apsw.Error) -> None:
        if not self._unwritable:
            self._unwritable = True
            _log.warning("%s %s takes nothing new: %s", self._name, self._path, error)

    def _give_up(self, error: Exception) -> None:
        self._off = True
        self._close()
        _log.warning(
            "%s %s cannot be used (%s: %s); there is none until the next start",
            self._name,
            self._path,
            type(error).__name__,
            error,
        )

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


def _today() -> int:
    return int(time.time()) // _SECONDS_PER_DAY


def _open(path: Path, what: str) -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made before SQLite would, whose new files everybody may read. Its logs take the mode over.
    # One that is there is not opened: to close it would end the locks that another connection of
    # this process has on it (https://sqlite.org/howtocorrupt.html, 2.2).
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # The mode is a property of the file; a process that opens it at the same moment sets it.
        with suppress(apsw.BusyError):
            connection.pragma("journal_mode", "wal")
        # A crash of the machine may lose the last vectors, never the file's soundness.
        connection.pragma("synchronous", "normal")
        if connection.pragma("user_version") == 0:
            _create(connection, what)
        version = connection.pragma("user_version")
        if version != _SCHEMA_VERSION:
            raise apsw.CantOpenError(f"written by another version of rag_agent ({version})")
    except BaseException:
        connection.close(True)
        raise
    return connection


def _create(connection: apsw.Connection, what: str) -> None:
    with _transaction(connection):
        if connection.pragma("user_version") == 0:  # else another process was faster
            connection.execute(_SCHEMA.format(what=what)).fetchall()
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


def _read(connection: apsw.Connection, what: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    stale: list[int] = []
    today = _today()
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        some = keys[start : start + _KEYS_PER_QUERY]
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT id, key, used, {what} FROM {what}s WHERE key IN ({marks})", some
        )
        for identifier, key, used, value in rows:
            found[key] = value
            if used != today:
                stale.append(identifier)
    if stale:
        _mark_used(connection, what, stale, today)
    return found


def _mark_used(
    connection: apsw.Connection, what: str, identifiers: Sequence[int], today: int
) -> None:
    try:
        with _transaction(connection):
            connection.executemany(
                f"UPDATE {what}s SET used = ? WHERE id = ?",
                ((today, identifier) for identifier in identifiers),
            )
    except (*_BUSY, *_UNWRITABLE) as error:
        # What was found is good all the same; only its age is not noted.
        _log.debug("cached %ss: use not noted: %s", what, error)


def _write(
    connection: apsw.Connection,
    what: str,
    verb: str,
    rows: Sequence[tuple[bytes, bytes]],
    limit: int,
) -> None:
    today = _today()
    with _transaction(connection):
        connection.executemany(
            f"INSERT OR {verb} INTO {what}s(key, used, {what}) VALUES (?, ?, ?)",
            ((key, today, value) for key, value in rows),
        )
        # Twice what came in: the file stops growing, and no put waits for a big clean-up.
        oldest = f"SELECT id FROM {what}s ORDER BY used, id LIMIT {2 * len(rows)}"
        while _bytes_in_use(connection) > limit:
            connection.execute(f"DELETE FROM {what}s WHERE id IN ({oldest})")
            if not connection.changes():
                break


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
