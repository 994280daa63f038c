"""The index file opened: made where there is none, brought to the present schema, or only read."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from rag_agent.errors import SchemaTooNew, StoreError, StoreMissing
from rag_agent.paths import APPLICATION_ID, make_private
from rag_agent.store import migrations
from rag_agent.store.connection import Database
from rag_agent.store.faults import translated
from rag_agent.store.readonly import connect_readonly

_BUSY_TIMEOUT = 5000  # milliseconds; a document's transaction takes a few
# Vectors of 384 float32: two fill 75 % of a page of 4,096 bytes, five 95 % of one of 8,192.
_PAGE_SIZE = 8192
_CACHE_KIB = 16_000


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
        f"busy_timeout = {_BUSY_TIMEOUT}",
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
    deadline = time.monotonic() + _BUSY_TIMEOUT / 1000
    while True:
        try:
            database.rows("PRAGMA journal_mode = WAL")
        except StoreError as error:
            if not isinstance(error.__cause__, apsw.BusyError) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
