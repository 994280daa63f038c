"""SQLite's failures as sentences that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from rag_agent.errors import StoreBusy, StoreCorrupt, StoreError
from rag_agent.store.readonly import connect_readonly

# First match wins; apsw's classes for SQLite's result codes do not derive from each other.
_SENTENCES: tuple[tuple[type[apsw.Error], str], ...] = (
    (
        apsw.FullError,
        "the disk that holds the index is full; free some space and run the command again: "
        "what was indexed before is kept",
    ),
    (
        apsw.ReadOnlyError,
        "the index cannot be written; make the file and its folder writable, or set PI_RAG_DIR "
        "to a folder that is",
    ),
    (
        apsw.CantOpenError,
        "the index cannot be opened; check that its folder exists and that you may read and "
        "write it",
    ),
    (apsw.PermissionsError, "no permission to use the index; check who owns the file"),
    (
        apsw.IOError,
        "reading or writing the index failed; check the disk (space, network drive, permissions) "
        "and run the command again",
    ),
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn apsw's exceptions into ours; every call into apsw for the store runs inside.

    Raises:
        StoreBusy: another process holds the lock longer than the time-out.
        StoreCorrupt: SQLite called the file damaged, and a check of the whole file agreed.
        StoreError: everything else (full disk, permissions, …).
    """
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(
            f"{path}: another process is writing the index; try again when it is done"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _verified(path, error) from error
    except apsw.Error as error:
        for kind, sentence in _SENTENCES:
            if isinstance(error, kind):
                raise StoreError(f"{path}: {sentence} ({error})") from error
        raise StoreError(f"{path}: SQLite refused: {error}") from error


def _verified(path: Path, error: apsw.Error) -> StoreError:
    """What to raise when SQLite said "corrupt": only a failed check of the file is damage."""
    problem = _damage(path)
    if problem is None:
        return StoreError(
            f"{path}: SQLite reported damage ({error}), but the file passes its integrity check "
            "or cannot be checked now; run the command again"
        )
    return StoreCorrupt(
        f"{path}: the index is damaged ({problem}). Nothing was deleted. "
        "Run `rag-agent rebuild --force`: it moves the file aside and indexes again"
    )


def _damage(path: Path) -> str | None:
    """The first problem of the file, None when it is sound or could not be checked now."""
    # Not by reading the file itself: to close it would end the locks that this process has on it.
    try:
        connection = connect_readonly(path.absolute())
    except apsw.Error:
        return None
    try:
        connection.set_busy_timeout(5000)
        first = connection.execute("PRAGMA integrity_check(1)").get
    except apsw.NotADBError:
        return "it is not an SQLite database"
    except apsw.CorruptError as error:
        return str(error)
    except apsw.Error:
        # Busy, or unreadable for now: that is not a failed check.
        return None
    finally:
        connection.close()
    return None if first == "ok" else str(first).replace("\n", " ")
