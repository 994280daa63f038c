"""A memory-mapped copy of a model's vectors, for indexes too large for a scan of the table.

What ``copies`` says holds of it. Layout: header, ids (int64), rows of unit length (float32).
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_agent.store import copies
from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.types import Vector

# Below, scanning the table is as fast (7 ms each at 6,700 vectors; at 20,000 the copy takes a third
# of the time) and needs nothing twice on the disk.
SMALLEST = 10_000  # vectors
_DRIFT = copies.DRIFT
_HEADER = struct.Struct(f"<8s{copies.MARK}sQQQ")  # magic, mark, rows, dim, last id
_MAGIC = b"ragvec01"
_BATCH = 4096  # rows


@dataclass(frozen=True, slots=True)
class _Copy:
    """``ids`` of shape (rows,), ``vectors`` of shape (rows, dim), ``last`` the highest id."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    last: int


def path_for(database: Database, model_id: int) -> Path:
    """Where the copy of a model's vectors lies."""
    return database.path.with_name(f"{database.path.stem}-vectors-{model_id}.f32")


def files(database: Database) -> list[Path]:
    """All copies that lie beside this database."""
    return sorted(database.path.parent.glob(f"{database.path.stem}-vectors-*.f32"))


def nearest(
    database: Database, model_id: int, vector: Vector, k: int
) -> tuple[list[tuple[int, float]], int] | None:
    """Exact (chunk id, cosine) among vectors with ids up to the one that is given too.

    None when there is no copy to use.
    """
    import numpy as np

    copy = _open(database, model_id)
    if copy is None:
        return None
    length = float(np.linalg.norm(vector))
    if length == 0:
        return [], copy.last
    scores = copy.vectors @ (vector / length).astype(np.float32)
    wanted = 2 * k + 32
    while True:
        # More than k, since some may be gone; and all that tie with the last of them, so that the
        # choice among equals is by chunk as in a scan.
        best = np.arange(len(scores))
        if wanted < len(scores):
            places = np.argpartition(scores, -wanted)[-wanted:]
            best = np.flatnonzero(scores >= scores[places].min())
        chunks = _living(database, copy.ids[best])
        if len(chunks) >= k or len(best) == len(scores):
            break
        wanted *= 4
    found = [
        (chunks[identifier], score)
        for identifier, score, place in zip(
            copy.ids[best].tolist(), scores[best].tolist(), best.tolist(), strict=True
        )
        # A vector of length 0 has a cosine with nothing.
        if identifier in chunks and (score != 0 or copy.vectors[place].any())
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k], copy.last


def refresh(database: Database) -> None:
    """Write the copies that are due and remove those that are not; needs the write lock."""
    counts: dict[int, int] = dict(
        database.rows("SELECT model_id, count(*) FROM vectors GROUP BY model_id")
    )
    due = {model_id for model_id, count in counts.items() if count >= SMALLEST}
    for model_id in due:
        if _drifted(database, model_id, counts[model_id]):
            _renew(database, model_id)
    wanted = {path_for(database, model_id) for model_id in due}
    for path in files(database):
        if path not in wanted:
            copies.remove(path)


def _living(database: Database, ids: NDArray[np.int64]) -> dict[int, int]:
    """Chunk by id of those vectors that still exist."""
    return dict(
        database.rows(
            "SELECT v.id, v.chunk_id FROM json_each(?) AS w "
            "CROSS JOIN vectors AS v ON v.id = w.value",
            (json.dumps(ids.tolist()),),
        )
    )


def _drifted(database: Database, model_id: int, count: int) -> bool:
    copy = _open(database, model_id)
    if copy is None:
        return True
    living: int = database.value(
        "SELECT count(*) FROM vectors WHERE model_id = ? AND id <= ?", (model_id, copy.last)
    )
    gone, newer = len(copy.ids) - living, count - living
    return gone + newer > _DRIFT * len(copy.ids)


def _open(database: Database, model_id: int) -> _Copy | None:
    """The copy, if the file is whole and belongs to this database."""
    data = copies.mapped(path_for(database, model_id), _HEADER.size)
    if data is None:
        return None
    magic, mark, rows, dim, last = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != _MAGIC or not copies.belongs(database, _key(model_id), mark):
        return None
    if len(data) != _HEADER.size + rows * (8 + 4 * dim):
        return None
    middle = _HEADER.size + 8 * rows
    vectors = data[middle:].view("<f4").reshape(rows, dim)
    return _Copy(data[_HEADER.size : middle].view("<i8"), vectors, last)


def _key(model_id: int) -> str:
    return f"matrix {model_id}"


def _renew(database: Database, model_id: int) -> None:
    def write(mark: bytes, stream: BinaryIO) -> None:
        _write(database, model_id, mark, stream)

    copies.renew(database, path_for(database, model_id), _key(model_id), write)


def _write(database: Database, model_id: int, mark: bytes, stream: BinaryIO) -> None:
    import numpy as np

    dim: int = database.value("SELECT dim FROM models WHERE id = ?", (model_id,))
    # Vectors of length 0 are in it too, as rows of zeros, or they would count as missing.
    rows = database.rows("SELECT id FROM vectors WHERE model_id = ? ORDER BY id", (model_id,))
    ids = np.array([row[0] for row in rows], dtype="<i8")
    stream.write(_HEADER.pack(_MAGIC, mark, len(ids), dim, int(ids[-1])))
    stream.write(ids.tobytes())
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        blobs = database.rows(
            "SELECT embedding FROM vectors WHERE model_id = ? AND id BETWEEN ? AND ? ORDER BY id",
            (model_id, int(batch[0]), int(batch[-1])),
        )
        part = np.frombuffer(b"".join(row[0] for row in blobs), dtype="<f4").reshape(-1, dim)
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        stream.write((part / np.where(lengths > 0, lengths, 1)).astype("<f4").tobytes())
