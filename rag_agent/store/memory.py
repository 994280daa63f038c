"""What agents' sessions were shown, and what injection did so far: ``turns.db`` beside the index.

A file of its own, for readers of the index never write it, and for all of this may be lost: it is
a courtesy. So nothing here waits long, and a file that is broken is begun anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import apsw

from rag_agent.errors import StoreError
from rag_agent.paths import make_private
from rag_agent.store.faults import translated

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

_FILE = "turns.db"
_VERSION = 1
_BUSY_TIMEOUT = 100  # milliseconds; a turn waits for nobody
_KEEP = 14 * 24 * 3600.0  # seconds; sessions that rest for longer are forgotten
LONGEST_PROMPT = 2000  # characters of the turn before that a follow-up may lean on
_SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, seen REAL NOT NULL, prompt TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shown (session TEXT, chunk BLOB, PRIMARY KEY (session, chunk)) WITHOUT ROWID;
CREATE TABLE turn (session TEXT, id TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID;
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class TurnMemory:
    """One connection to the memory of an index; belongs to one thread at a time."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._clock = clock

    @classmethod
    def open(cls, folder: Path, clock: Callable[[], float] = time.time) -> TurnMemory:
        """The memory in the folder of an index; ``clock`` gives Unix time in seconds.

        Raises:
            StoreError: the file can neither be used nor be made.
        """
        path = folder / _FILE
        try:
            with translated(path):
                return cls(_connected(path), clock)
        except StoreError as error:
            if not isinstance(error.__cause__, apsw.NotADBError | apsw.CorruptError):
                raise
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        with translated(path):
            return cls(_connected(path), clock)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether anything has been remembered there."""
        return (folder / _FILE).is_file()

    def __enter__(self) -> TurnMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close; a second call does nothing."""
        self._connection.close()

    # sessions

    def claim(self, session: str, turn: str) -> bool:
        """Whether this turn is new: the first to ask has it, for a host may ask twice."""
        with translated(_path(self._connection)), self._connection:
            added = self._change("INSERT OR IGNORE INTO turn VALUES (?, ?)", (session, turn))
            if added:
                self._touch(session)
        return added

    def shown(self, session: str) -> frozenset[bytes]:
        """Keys of the chunks that this session has been shown."""
        rows = self._rows("SELECT chunk FROM shown WHERE session = ?", (session,))
        return frozenset(row[0] for row in rows)

    def prompt_before(self, session: str) -> str:
        """What the session's last remembered turn asked, empty if there is none."""
        rows = self._rows("SELECT prompt FROM session WHERE id = ?", (session,))
        return str(rows[0][0]) if rows else ""

    def remember(self, session: str, prompt: str, chunks: Collection[bytes]) -> None:
        """What this turn asked, and the keys of what it was shown."""
        with translated(_path(self._connection)), self._connection:
            self._touch(session)
            self._connection.execute(
                "UPDATE session SET prompt = ? WHERE id = ?", (prompt[:LONGEST_PROMPT], session)
            )
            self._connection.executemany(
                "INSERT OR IGNORE INTO shown VALUES (?, ?)", [(session, chunk) for chunk in chunks]
            )

    def forget(self, session: str) -> None:
        """The session has lost what it was shown: its context was compacted or cleared."""
        self._change("DELETE FROM shown WHERE session = ?", (session,))
        self._change("UPDATE session SET prompt = '' WHERE id = ?", (session,))

    def forget_old(self) -> None:
        """Drop sessions that nobody has used for two weeks."""
        oldest = self._clock() - _KEEP
        with translated(_path(self._connection)), self._connection:
            for table in ("shown", "turn"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE session NOT IN "
                    "(SELECT id FROM session WHERE seen >= ?)",
                    (oldest,),
                )
            self._connection.execute("DELETE FROM session WHERE seen < ?", (oldest,))

    # counters and notes

    def count(self, amounts: Mapping[str, int]) -> None:
        """Add to counters."""
        with translated(_path(self._connection)):
            self._connection.executemany(
                "INSERT INTO counter VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                list(amounts.items()),
            )

    def counts(self) -> dict[str, int]:
        """All counters."""
        return dict(self._rows("SELECT name, value FROM counter ORDER BY name"))

    def note(self, name: str, value: str) -> None:
        """Keep a text under a name."""
        self._change("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str:
        """The text under a name, empty if there is none."""
        rows = self._rows("SELECT value FROM note WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def claim_every(self, name: str, seconds: float) -> bool:
        """Whether ``seconds`` have gone by since anybody, in any process, was last told so."""
        now = self._clock()
        return self._change(
            "INSERT INTO note VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2 "
            "WHERE CAST(value AS REAL) <= ?3 OR CAST(value AS REAL) > ?2",  # the clock was set back
            (name, str(now), now - seconds),
        )

    # inside

    def _touch(self, session: str) -> None:
        self._connection.execute(
            "INSERT INTO session VALUES (?, ?, '') "
            "ON CONFLICT (id) DO UPDATE SET seen = excluded.seen",
            (session, self._clock()),
        )

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with translated(_path(self._connection)):
            return self._connection.execute(sql, bindings).fetchall()

    def _change(self, sql: str, bindings: tuple[Any, ...]) -> bool:
        """Whether any row was changed."""
        with translated(_path(self._connection)):
            self._connection.execute(sql, bindings)
            return self._connection.changes() > 0


def _path(connection: apsw.Connection) -> Path:
    return Path(connection.filename)


def _connected(path: Path) -> apsw.Connection:
    make_private(path)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_TIMEOUT)
        connection.execute("PRAGMA synchronous = OFF")  # for a crash of the system: may be lost
        version = connection.execute("PRAGMA user_version").get
        if version != _VERSION:
            _create(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: apsw.Connection) -> None:
    """Make the tables, once of all processes; those of another version are made anew."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").get != _VERSION:
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (name,) in names:
            connection.execute(f'DROP TABLE "{name}"')
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")
