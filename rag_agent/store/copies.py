"""Files beside the database that hold in columns what its tables hold in rows.

A search reads them through memory mappings, many times faster than rows. A copy stays of use while
the tables change: ids in it never name anything else later, so what is gone is left out when found,
and what came later has higher ids and is read from the tables. It is written anew when both are
many. A mark in file and database ties them together; where they differ (a restored backup, a write
that was interrupted) the file is ignored. All numbers are little-endian.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_agent.late import LateLogger
from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = LateLogger(__name__)

DRIFT = 0.05  # share of rows that are gone or missing before a copy is written anew
MARK = 32  # bytes, ASCII
# Windows replaces no file that somebody has mapped, and a server keeps its copies open.
_MAPS = os.name != "nt"


def mapped(path: Path, least: int) -> NDArray[np.uint8] | None:
    """The bytes of a copy, or None without one of at least so many bytes.

    Everything is to be read through this one mapping: the file may be replaced at any moment.
    """
    import numpy as np

    try:
        data = np.memmap(path, dtype=np.uint8, mode="r") if _MAPS else np.fromfile(path, np.uint8)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.info("%s is not used: %s", path.name, error)
        return None
    # The plain array keeps the mapping and costs less to take slices of.
    return np.asarray(data) if len(data) >= least else None


def belongs(database: Database, key: str, mark: bytes) -> bool:
    """Whether a copy with this mark is the one that was written for this database."""
    known = database.value("SELECT value FROM meta WHERE key = ?", (key,))
    return known is not None and known.encode("ascii") == mark


def renew(
    database: Database, target: Path, key: str, write: Callable[[bytes, BinaryIO], None]
) -> None:
    """Replace a copy by what ``write(mark, stream)`` makes of one state of the tables."""
    mark = secrets.token_hex(MARK // 2)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=target.name, suffix=".new", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream, database.snapshot():
            write(mark.encode("ascii"), stream)
        temporary.replace(target)
    except OSError as error:
        logger.warning("no %s, searches take longer: %s", target.name, error)
        return
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    with database.transaction():
        database.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, mark))


def remove(path: Path) -> None:
    """Remove a copy that is not wanted any more, now or after the next refresh."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.info("%s stays: %s", path.name, error)
