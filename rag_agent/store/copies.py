"""Files beside the database that hold in columns what its tables hold in rows.

A search reads them through memory mappings, many times faster than rows. A copy stays of use while
the tables change: ids in it never name anything else later, so what is gone is left out when found,
and what came later has higher ids and is read from the tables. It is written anew when both are
many. A mark in file and database ties them together; where they differ (a restored backup, a write
that was interrupted) the file is ignored. Beside the mark the database has a checksum, by which a
file that was damaged later is found when there is time for it (refresh, doctor); what is opened is
only checked for what would end a search. All numbers are little-endian.
"""

from __future__ import annotations

import mmap
import os
import secrets
import stat
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rag_agent.late import LateLogger
from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = LateLogger(__name__)

DRIFT = 0.05  # share of rows that are gone or missing before a copy is written anew
MARK = 32  # bytes, ASCII
_BLOCK = 1 << 20  # bytes read at once
_UNFINISHED = ".new"  # ends the name of a copy that is being written
# Windows replaces no file that somebody has mapped, and a server keeps its copies open.
_MAPS = os.name != "nt"


class Mapped:
    """The bytes of a copy. Everything is to be read through the one mapping.

    The file may be replaced at any moment, which changes nothing here. Whoever cuts it short in
    place takes away the bytes that are mapped; to look at them then ends the process.
    """

    def __init__(self, data: NDArray[np.uint8], mapping: mmap.mmap | None) -> None:
        self.data = data
        self._mapping = mapping

    def is_whole(self) -> bool:
        """Whether the file has not been cut short since; asked before each search."""
        return self._mapping is None or self._mapping.size() >= len(self.data)


def mapped(path: Path, least: int) -> Mapped | None:
    """A copy, or None without one of at least so many bytes."""
    import numpy as np

    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            return None
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < least:
                return None
            if not _MAPS:
                return Mapped(np.fromfile(file, np.uint8), None)
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.info("%s is not used: %s", path.name, error)
        return None
    return Mapped(np.frombuffer(mapping, np.uint8), mapping)


def columns(
    data: NDArray[np.uint8], begin: int, layout: Sequence[tuple[np.dtype[np.generic], int]]
) -> list[NDArray[Any]] | None:
    """The columns that stand from ``begin`` on, of a type and a length each.

    None if that is not what is there.
    """
    if len(data) != begin + sum(kind.itemsize * count for kind, count in layout):
        return None
    found = []
    for kind, count in layout:
        end = begin + kind.itemsize * count
        found.append(data[begin:end].view(kind))
        begin = end
    return found


def belongs(database: Database, key: str, mark: bytes) -> bool:
    """Whether a copy with this mark is the one that was written for this database."""
    known = database.value("SELECT value FROM meta WHERE key = ?", (key,))
    return known is not None and known.encode("ascii").partition(b" ")[0] == mark


def written(database: Database, key: str) -> str:
    """Tells apart any two copies that were written."""
    return str(database.value("SELECT value FROM meta WHERE key = ?", (key,)) or "")


def is_sound(database: Database, path: Path, key: str) -> bool:
    """Whether a copy is byte for byte what was written; true where that is not known.

    Reads all of it: about a gigabyte a second.
    """
    known = database.value("SELECT value FROM meta WHERE key = ?", (key,)) or ""
    _, _, checksum = known.partition(" ")
    try:
        return path.is_file() and (not checksum or checksum == _checksum(path))
    except OSError:
        return False


def damaged(database: Database, path: Path, key: str) -> list[Path]:
    """The copy, if there is one and it is not what was written."""
    return [path] if path.exists() and not is_sound(database, path, key) else []


def _checksum(path: Path) -> str:
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = zlib.crc32(block, found)
    return f"{found:08x}"


def renew(
    database: Database, target: Path, key: str, write: Callable[[bytes, BinaryIO], None]
) -> None:
    """Replace a copy by what ``write(mark, stream)`` makes of one state of the tables."""
    mark = secrets.token_hex(MARK // 2)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=target.name, suffix=_UNFINISHED, dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream, database.snapshot():
            write(mark.encode("ascii"), stream)
        checksum = _checksum(temporary)
        temporary.replace(target)
    except OSError as error:
        logger.warning("no %s, searches take longer: %s", target.name, error)
        return
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    with database.transaction():
        database.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, f"{mark} {checksum}"))


def remove_unfinished(database: Database) -> None:
    """Remove what was left by processes that ended while they wrote; needs the write lock."""
    for path in database.path.parent.glob(f"{database.path.stem}-*{_UNFINISHED}"):
        remove(path)


def remove(path: Path) -> None:
    """Remove a copy that is not wanted any more, now or after the next refresh."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.info("%s stays: %s", path.name, error)
