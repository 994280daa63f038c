"""One connection to the index file: opening, settings, transactions, the vector function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from rag_agent.errors import SchemaTooNew, StoreError, StoreMissing
from rag_agent.late import LateLogger
from rag_agent.paths import APPLICATION_ID, make_private
from rag_agent.store import migrations
from rag_agent.store.faults import translated
from rag_agent.store.readonly import connect_readonly

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    from rag_agent.store.records import Row

    K = TypeVar("K")
    T = TypeVar("T")
    VectorEngine = Literal["sqlite-vec", "numpy"]

logger = LateLogger(__name__)

BUSY_TIMEOUT = 5000  # milliseconds; a document's transaction takes a few
# Vectors of 384 float32: two fill 75 % of a page of 4,096 bytes, five 95 % of one of 8,192.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_000


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
        if self._connection.in_transaction:
            yield
            return
        self.rows("BEGIN")
        try:
            yield
        finally:
            self._is_checked = False
            self._roll_back()

    def _roll_back(self) -> None:
        # A full disk, or one that fails, makes SQLite do it by itself.
        if self._connection.in_transaction:
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


def open_database(path: Path, *, readonly: bool = False, extension: bool = True) -> Database:
    """Open, create and migrate the file (``readonly`` only opens).

    Without ``extension`` numpy computes cosines, as where sqlite-vec cannot be loaded.

    Raises:
        SchemaTooNew: a newer rag_agent wrote the file.
        StoreError: the file is missing (``readonly``), of another program, or unusable.
    """
    path = path.absolute()
    if readonly:
        return _open_for_reading(path, extension)
    with translated(path):
        make_private(path)
        connection = apsw.Connection(str(path))
    return _checked(Database(path, connection, extension=extension))


def _open_for_reading(path: Path, extension: bool) -> Database:
    if not path.is_file():
        raise StoreMissing(f"{path}: there is no index yet; run `rag-agent index`")
    try:
        return _checked(_connect_readonly(path, "mode=ro", extension))
    except StoreError as error:
        # Reading a WAL database needs its -shm file, which cannot be made on a read-only medium.
        # Where no -wal holds newer pages, the file alone is the whole truth.
        unopened = isinstance(error.__cause__, apsw.CantOpenError | apsw.ReadOnlyError)
        if not unopened or _has_wal(path):
            raise
        return _checked(_connect_readonly(path, "mode=ro&immutable=1", extension))


def _connect_readonly(path: Path, parameters: str, extension: bool) -> Database:
    with translated(path):
        connection = connect_readonly(path, parameters)
    return Database(path, connection, readonly=True, extension=extension)


def _has_wal(path: Path) -> bool:
    wal = path.with_name(path.name + "-wal")
    return wal.is_file() and wal.stat().st_size > 0


def _checked(database: Database) -> Database:
    try:
        _configure(database)
        _check_owner(database)
        if not database.readonly:
            _create_or_migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _configure(database: Database) -> None:
    for setting in (
        f"busy_timeout = {BUSY_TIMEOUT}",
        "foreign_keys = ON",
        "synchronous = NORMAL",  # safe with WAL: a power cut loses the last commits, never the file
        f"cache_size = -{_CACHE_KIB}",
        "temp_store = MEMORY",
    ):
        database.rows(f"PRAGMA {setting}")


def _check_owner(database: Database) -> None:
    owner = database.value("PRAGMA application_id")
    version = database.value("PRAGMA user_version")
    tables = database.value("SELECT count(*) FROM sqlite_schema")
    if owner != APPLICATION_ID and tables:
        raise StoreError(
            f"{database.path}: this is a database of another program, not an index of rag_agent; "
            "it was left alone. Move it away, or set PI_RAG_DIR to another folder"
        )
    if owner == APPLICATION_ID and version > migrations.VERSION:
        raise SchemaTooNew(
            f"{database.path}: the index has format {version}, this rag_agent reads up to "
            f"{migrations.VERSION}; upgrade rag_agent, or set PI_RAG_DIR to another folder"
        )
    if database.readonly and not tables:
        # Another process is just about to create it.
        raise StoreMissing(f"{database.path}: the index is empty; run `rag-agent index`")
    if database.readonly and version < migrations.VERSION:
        raise StoreError(
            f"{database.path}: the index has the older format {version}; run `rag-agent refresh`, "
            "which brings it up to date"
        )


def _create_or_migrate(database: Database) -> None:
    if database.value("PRAGMA user_version") == migrations.VERSION:
        # Nothing to do, and so nothing is written: opening must not disturb a writer.
        return
    database.rows(f"PRAGMA page_size = {_PAGE_SIZE}")
    # Lets a cleared index give its space back without a copy of the whole file (VACUUM).
    database.rows("PRAGMA auto_vacuum = INCREMENTAL")
    if database.value("PRAGMA application_id") != APPLICATION_ID:
        # Before WAL, so that it stands in the file itself, where paths.database looks for it.
        database.rows(f"PRAGMA application_id = {APPLICATION_ID}")
    _use_wal(database)
    migrations.apply(database)


def _use_wal(database: Database) -> None:
    """Switch to WAL; SQLite does not wait for other connections here, so we do."""
    deadline = time.monotonic() + BUSY_TIMEOUT / 1000
    while True:
        try:
            database.rows("PRAGMA journal_mode = WAL")
        except StoreError as error:
            if not isinstance(error.__cause__, apsw.BusyError) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
