"""One connection to the index file: statements, transactions, what is remembered, vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from rag_agent.late import LateLogger
from rag_agent.store.faults import translated

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    from rag_agent.store.records import Row

    K = TypeVar("K")
    T = TypeVar("T")
    VectorEngine = Literal["sqlite-vec", "numpy"]

logger = LateLogger(__name__)


class Database:
    """A connection whose failures are ``StoreError``; belongs to one thread at a time."""

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        *,
        readonly: bool = False,
        extension: bool = True,
    ) -> None:
        self.path = path
        self.readonly = readonly
        self._extension = extension
        self._connection = connection
        self._engine: VectorEngine | None = None
        self._functions: dict[str, Callable[..., Any]] = {}
        self._remembered: dict[str, Any] = {}
        self._state: tuple[int, int] | None = None  # that of what is remembered
        self._is_writing = False
        self._is_checked = False
        self.kept: dict[str, Any] = {}
        """What modules keep with the connection; they say themselves when it is of no use."""

    def rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        """All rows of one statement."""
        with translated(self.path):
            return self._connection.execute(sql, bindings).fetchall()

    def value(self, sql: str, bindings: Sequence[Any] = ()) -> Any:
        """First column of the first row, None without rows."""
        found = self.rows(sql, bindings)
        return found[0][0] if found else None

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of bindings."""
        with translated(self.path):
            self._connection.executemany(sql, rows).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; the write lock is taken at once, so that a later step cannot be busy."""
        self.rows("BEGIN IMMEDIATE")
        self._is_writing = True
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_writing = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Reads inside see one state of the index, whatever is written meanwhile."""
        if self._in_transaction():
            yield
            return
        self.rows("BEGIN")
        try:
            yield
        finally:
            self._is_checked = False
            self._roll_back()

    def _in_transaction(self) -> bool:
        with translated(self.path):
            return self._connection.in_transaction

    def _roll_back(self) -> None:
        # A full disk, or one that fails, makes SQLite do it by itself.
        if self._in_transaction():
            self.rows("ROLLBACK")

    def remembered(self, key: str, compute: Callable[[], T]) -> T:
        """What ``compute`` gives, computed once as long as nothing in the file changes."""
        if self._is_writing:
            return compute()  # it may be rolled back
        with self.snapshot():
            if not self._is_checked:
                # The one counts commits of other connections, the other what this one changed.
                state = (self.value("PRAGMA data_version"), self._connection.total_changes())
                if state != self._state:
                    self._remembered.clear()
                    self._state = state
                self._is_checked = True  # what a snapshot reads stays as it is
            if key not in self._remembered:
                self._remembered[key] = compute()
            found: T = self._remembered[key]
            return found

    def recalled(
        self,
        name: str,
        wanted: Sequence[K],
        most: int,
        read: Callable[[list[K]], Iterable[tuple[K, T]]],
    ) -> dict[K, T]:
        """What is known by key, with those that are ``wanted`` as far as ``read`` finds them.

        Each is read once as long as nothing in the file changes; beyond ``most`` all are forgotten.
        """
        with self.snapshot():
            known: dict[K, T] = self.remembered(name, dict)
            missing = [key for key in wanted if key not in known]
            if missing:
                if len(known) > most:
                    known.clear()
                    missing = list(wanted)
                known.update(read(missing))
            return known

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """What is locked inside is busy at once."""
        timeout = self.value("PRAGMA busy_timeout")
        self.rows("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            self.rows(f"PRAGMA busy_timeout = {timeout}")

    def load_vectors(self) -> VectorEngine:
        """Make ``vec_distance_cosine`` known to SQL: sqlite-vec's, or numpy's if it cannot load."""
        if self._engine is None:
            if self._extension and self._load_extension():
                self._engine = "sqlite-vec"
            else:
                self.define("vec_distance_cosine", _cosine_distance, 2)
                self._engine = "numpy"
        return self._engine

    def _load_extension(self) -> bool:
        # Not `import sqlite_vec`: that imports the standard sqlite3 module, which not every Python
        # has and which must not share a process with apsw.
        import importlib.util

        spec = importlib.util.find_spec("sqlite_vec")
        if spec is None or spec.origin is None:
            return False
        try:
            self._connection.enable_load_extension(True)
            self._connection.load_extension(str(Path(spec.origin).with_name("vec0")))
        except (apsw.ExtensionLoadingError, apsw.SQLError, AttributeError) as error:
            # AttributeError: a build of apsw without extension loading.
            logger.info("sqlite-vec cannot be loaded, numpy takes over: %s", error)
            return False
        self._connection.enable_load_extension(False)
        return True

    def define(self, name: str, function: Callable[..., Any], arguments: int) -> None:
        """Make a Python function known to SQL on this connection, or replace it."""
        if name not in self._functions:
            # Once: SQLite prepares all statements anew after a function is registered.
            self._connection.create_scalar_function(
                name, lambda *values: self._functions[name](*values), arguments
            )
        self._functions[name] = function

    def close(self) -> None:
        """Close; a second call does nothing."""
        with translated(self.path):
            self._connection.close()


def _cosine_distance(left: Any, right: Any) -> float | None:
    """1 - cosine of two float32 blobs, None where a length is 0: as sqlite-vec's function."""
    import numpy as np

    first = np.frombuffer(left, dtype=np.float32)
    second = np.frombuffer(right, dtype=np.float32)
    product = float(np.linalg.norm(first)) * float(np.linalg.norm(second))
    return 1.0 - float(first @ second) / product if product > 0 else None


def engine() -> str:
    """Versions of what the store runs on, and whether sqlite-vec can be loaded."""
    connection = apsw.Connection(":memory:")
    database = Database(Path(":memory:"), connection)
    try:
        loaded = database.load_vectors() == "sqlite-vec"
        vectors = f"sqlite-vec {database.value('SELECT vec_version()')}" if loaded else "numpy"
    finally:
        database.close()
    return f"SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}, vectors by {vectors}"
