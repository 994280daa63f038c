"""A memory-mapped copy of a model's vectors, for indexes too large for a scan of the table.

Derived data: the file carries the identity and generation of the database, and is ignored when
they differ. Layout, little-endian: header, chunk ids (int64), rows of unit length (float32).
"""

from __future__ import annotations

import logging
import os
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.types import Vector

logger = logging.getLogger(__name__)

# Below, scanning the table takes under 10 ms (MODEL.md) and needs no second copy on the disk.
SMALLEST = 20_000  # vectors
_HEADER = struct.Struct("<8s32sQQQ")  # magic, database, generation, rows, dim
_MAGIC = b"ragvec01"
_BATCH = 4096  # rows


def path_for(database: Database, model_id: int) -> Path:
    """Where the matrix of a model lies."""
    return database.path.with_name(f"{database.path.stem}-vectors-{model_id}.f32")


def files(database: Database) -> list[Path]:
    """All matrix files of this database, current or not."""
    return sorted(database.path.parent.glob(f"{database.path.stem}-vectors-*.f32"))


def nearest(
    database: Database, model_id: int, vector: Vector, k: int
) -> list[tuple[int, float]] | None:
    """Exact (chunk id, cosine), highest first; None when there is no current matrix."""
    import numpy as np

    loaded = _load(database, model_id, len(vector))
    if loaded is None:
        return None
    ids, rows = loaded
    length = float(np.linalg.norm(vector))
    if length == 0 or len(ids) == 0:
        return []
    scores = rows @ (vector.astype(np.float32) / np.float32(length))
    if k < len(ids):
        best = np.argpartition(scores, -k)[-k:]
        # All that tie with the last place, so that the choice among them is by id as in the scan.
        best = np.flatnonzero(scores >= scores[best].min())
    else:
        best = np.arange(len(ids))
    ordered = best[np.lexsort((ids[best], -scores[best]))][:k]
    return [(int(ids[place]), float(scores[place])) for place in ordered]


def refresh(database: Database) -> None:
    """Write the matrices that are due and remove those that are not; needs the write lock."""
    with database.snapshot():
        # A vector of length 0 is near nothing and stays out.
        counts: dict[int, int] = dict(
            database.rows("SELECT model_id, count(*) FROM vectors GROUP BY model_id")
        )
        due = {model_id for model_id, count in counts.items() if count >= SMALLEST}
        wanted = {path_for(database, model_id) for model_id in due}
        for model_id in due:
            dim: int = database.value("SELECT dim FROM models WHERE id = ?", (model_id,))
            if _header(database, model_id) != _expected(database, dim):
                _write(database, model_id, dim)
    for path in files(database):
        if path not in wanted:
            _remove(path)


def _expected(database: Database, dim: int) -> tuple[bytes, int, int]:
    identity, generation = (
        database.value("SELECT value FROM meta WHERE key = ?", (key,))
        for key in ("database", "generation")
    )
    return identity.encode("ascii"), int(generation), dim


def _header(database: Database, model_id: int) -> tuple[bytes, int, int] | None:
    """(database, generation, dim) of the file; None when it is missing, foreign or cut short."""
    path = path_for(database, model_id)
    try:
        with path.open("rb") as stream:
            data = stream.read(_HEADER.size)
        size = path.stat().st_size
    except OSError:
        return None
    if len(data) != _HEADER.size:
        return None
    magic, identity, generation, rows, dim = _HEADER.unpack(data)
    if magic != _MAGIC or size != _HEADER.size + rows * (8 + 4 * dim):
        return None
    return identity, generation, dim


def _load(
    database: Database, model_id: int, dim: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
    import numpy as np

    header = _header(database, model_id)
    if header is None or header != _expected(database, dim):
        return None
    try:
        data = np.memmap(path_for(database, model_id), dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        logger.info("vector matrix not used: %s", error)
        return None
    rows = (len(data) - _HEADER.size) // (8 + 4 * dim)
    middle = _HEADER.size + 8 * rows
    return (
        data[_HEADER.size : middle].view("<i8"),
        data[middle:].view("<f4").reshape(rows, dim),
    )


def _write(database: Database, model_id: int, dim: int) -> None:
    import numpy as np

    ids = [
        row[0]
        for row in database.rows(
            "SELECT chunk_id FROM vectors WHERE model_id = ? AND embedding != zeroblob(?) "
            "ORDER BY id",
            (model_id, 4 * dim),
        )
    ]
    target = path_for(database, model_id)
    identity, generation, _ = _expected(database, dim)
    try:
        handle, name = tempfile.mkstemp(prefix=target.name, suffix=".new", dir=target.parent)
    except OSError as error:
        logger.warning("no vector matrix, searches take longer: %s", error)
        return
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_HEADER.pack(_MAGIC, identity, generation, len(ids), dim))
            stream.write(np.array(ids, dtype="<i8").tobytes())
            last = 0
            while True:
                batch = database.rows(
                    "SELECT id, embedding FROM vectors WHERE model_id = ? AND id > ? "
                    "AND embedding != zeroblob(?) ORDER BY id LIMIT ?",
                    (model_id, last, 4 * dim, _BATCH),
                )
                if not batch:
                    break
                last = batch[-1][0]
                rows = np.frombuffer(b"".join(row[1] for row in batch), dtype="<f4")
                rows = rows.reshape(len(batch), dim)
                stream.write((rows / np.linalg.norm(rows, axis=1, keepdims=True)).tobytes())
        # Windows refuses while another process has the old file mapped; its generation is old, so
        # nobody uses it, and the next refresh tries again.
        temporary.replace(target)
    except OSError as error:
        logger.warning("no vector matrix, searches take longer: %s", error)
    finally:
        temporary.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.info("old vector matrix stays: %s", error)
