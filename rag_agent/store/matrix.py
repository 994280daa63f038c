"""A memory-mapped copy of a model's vectors, for indexes too large for a scan of the table.

What ``copies`` says holds of it. Layout: header; of each vector its id and its chunk (int64), and
its direction, a row of unit length (float32).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_agent.store import copies
from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.types import Matrix, Vector

# Below, scanning the table is as fast and needs nothing twice on the disk.
SMALLEST = 2_000  # vectors
NEWER = 2_000  # vectors that are read from the table until the copy is written anew
_DRIFT = copies.DRIFT
_HEADER = struct.Struct(f"<8s{copies.MARK}sQQQ")  # magic, mark, rows, dim, last id
_MAGIC = b"ragvec02"
_BATCH = 4096  # rows


class Directions:
    """Vectors of unit length: ``ids`` and ``chunks`` of shape (rows,), ``rows`` (rows, dim).

    ``last`` is the highest id that there was. A vector of length 0 is a row of zeros.
    """

    def __init__(
        self,
        last: int,
        ids: NDArray[np.int64],
        chunks: NDArray[np.int64],
        rows: Matrix,
        source: copies.Mapped | None = None,
    ) -> None:
        self.last = last
        self.source = source
        self.ids = ids
        self.chunks = chunks
        self.rows = rows


class Vectors:
    """All vectors of a model in one state of the index."""

    def __init__(self, parts: Sequence[Directions], living: NDArray[np.bool_] | None) -> None:
        import numpy as np

        self._parts = parts
        self._chunks = np.concatenate([part.chunks for part in parts])
        there = np.concatenate([_has_length(part.rows) for part in parts])
        if living is not None:
            there &= living
        order = np.argsort(self._chunks, kind="stable")
        order = order[there[order]]
        self._order, self._sorted = order, self._chunks[order]  # a chunk has one vector
        self._last: tuple[bytes, NDArray[np.float32]] = b"", np.empty(0, dtype=np.float32)

    def is_whole(self) -> bool:
        """Whether all of it can still be read."""
        return all(part.source is None or part.source.is_whole() for part in self._parts)

    def nearest(self, vector: Vector, k: int) -> list[tuple[int, float]]:
        """(chunk id, raw cosine), highest first; ties by chunk."""
        import numpy as np

        if not vector.any():
            return []
        scores = self._cosines(vector)
        places = self._order
        if k < len(places):
            high = scores[places]
            places = places[high >= np.partition(high, -k)[-k]]
        places = places[np.argsort(-scores[places], kind="stable")][:k]
        return list(zip(self._chunks[places].tolist(), scores[places].tolist(), strict=True))

    def cosines(self, vector: Vector, chunk_ids: Sequence[int]) -> NDArray[np.float64]:
        """Raw cosine of each of the chunks, NaN where there is none."""
        import numpy as np

        cosines = np.full(len(chunk_ids), np.nan)
        if not len(self._sorted) or not vector.any():
            return cosines
        wanted = np.array(chunk_ids, dtype=np.int64)
        at = self._sorted.searchsorted(wanted)
        at[at == len(self._sorted)] = 0
        there = np.flatnonzero(self._sorted[at] == wanted)
        cosines[there] = self._cosines(vector)[self._order[at[there]]]
        return cosines

    def _cosines(self, vector: Vector) -> NDArray[np.float32]:
        """Of all vectors, whether they are still there or not."""
        import numpy as np

        # A search asks for the nearest and then for those of what it found otherwise.
        asked = vector.tobytes()
        known, scores = self._last
        if known != asked:
            length = float(np.linalg.norm(vector))
            unit = (vector / (length or 1.0)).astype(np.float32)
            # Row by row: of a product by BLAS equal rows may come out unequal, and its threads keep
            # the other core busy for milliseconds after it.
            scores = np.concatenate([np.einsum("ij,j->i", part.rows, unit) for part in self._parts])
            self._last = asked, scores
        return scores


def _has_length(rows: Matrix) -> NDArray[np.bool_]:
    """Of each row whether it is near to anything."""
    import numpy as np

    found: NDArray[np.bool_] = rows[:, 0] != 0  # of nearly all this tells it
    others = np.flatnonzero(~found)
    found[others] = rows[others].any(axis=1)
    return found


def path_for(database: Database, model_id: int) -> Path:
    """Where the copy of a model's vectors lies."""
    return database.path.with_name(f"{database.path.stem}-vectors-{model_id}.f32")


def files(database: Database) -> list[Path]:
    """All copies that lie beside this database."""
    return sorted(database.path.parent.glob(f"{database.path.stem}-vectors-*.f32"))


def current(database: Database, model_id: int) -> Vectors | None:
    """The vectors of the present state, inside a snapshot; None where there is no copy to use."""
    found = database.remembered(f"vectors {model_id}", lambda: _current(database, model_id))
    return found if found and found.is_whole() else None


def _current(database: Database, model_id: int) -> Vectors | None:
    key = f"vectors {model_id}"
    counts = (_written(database), _present(database, model_id))
    state = (*counts, copies.written(database, _key(model_id)))
    known_state, found = database.kept.get(key, (None, None))
    if known_state != state:
        copied = _open(database, model_id)
        found = None if copied is None else _with_newer(database, model_id, copied, *counts)
        database.kept[key] = state, found
    known: Vectors | None = found
    return known


def _written(database: Database) -> int:
    """With the number of those that are there it tells any two states apart: no id comes again."""
    found = database.value("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'")
    return int(found or 0)


def _present(database: Database, model_id: int, last: int | None = None) -> int:
    # By "+" the index of chunks is read, and not the table, in which the vectors are.
    condition, bindings = ("AND +id <= ?", (last,)) if last is not None else ("", ())
    return int(
        database.value(
            f"SELECT count(*) FROM vectors WHERE model_id = ? {condition}", (model_id, *bindings)
        )
    )


def _with_newer(
    database: Database, model_id: int, copied: Directions, written: int, present: int
) -> Vectors | None:
    import numpy as np

    is_last = written == copied.last
    old = present if is_last else _present(database, model_id, copied.last)
    if present - old > NEWER:
        return None
    parts = [copied]
    if present > old:
        parts.extend(_batches(database, model_id, copied.last))
    living = None
    if old != len(copied.ids):
        rows = database.rows(
            "SELECT id FROM vectors WHERE model_id = ? AND +id <= ?", (model_id, copied.last)
        )
        there = np.array([row[0] for row in rows], dtype=np.int64)
        newer = np.ones(sum(len(part.ids) for part in parts[1:]), dtype=np.bool_)
        living = np.concatenate([np.isin(copied.ids, there, assume_unique=True), newer])
    return Vectors(parts, living)


def refresh(database: Database) -> None:
    """Write the copies that are due and remove those that are not; needs the write lock."""
    counts: dict[int, int] = dict(
        database.rows("SELECT model_id, count(*) FROM vectors GROUP BY model_id")
    )
    due = {model_id for model_id, count in counts.items() if count >= SMALLEST}
    for model_id in due:
        if _drifted(database, model_id, counts[model_id]):
            _renew(database, model_id)
            database.kept.pop(f"vectors {model_id}", None)
    wanted = {path_for(database, model_id) for model_id in due}
    for path in files(database):
        if path not in wanted:
            copies.remove(path)


def damaged(database: Database) -> list[Path]:
    """Copies that are not what was written, and wait for the next refresh."""
    models = database.rows("SELECT id FROM models")
    return [
        path
        for (model_id,) in models
        for path in copies.damaged(database, path_for(database, model_id), _key(model_id))
    ]


def _drifted(database: Database, model_id: int, count: int) -> bool:
    copied = _open(database, model_id)
    if copied is None or not copies.is_sound(
        database, path_for(database, model_id), _key(model_id)
    ):
        return True
    living = _present(database, model_id, copied.last)
    gone, newer = len(copied.ids) - living, count - living
    return gone + newer > _DRIFT * len(copied.ids) or newer > NEWER // 2


def _open(database: Database, model_id: int) -> Directions | None:
    """The copy, if the file is whole and belongs to this database."""
    source = copies.mapped(path_for(database, model_id), _HEADER.size)
    if source is None:
        return None
    data = source.data
    magic, mark, rows, dim, last = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != _MAGIC or not copies.belongs(database, _key(model_id), mark):
        return None
    own = database.value("SELECT dim FROM models WHERE id = ?", (model_id,))
    if dim != own or len(data) != _HEADER.size + rows * (16 + 4 * dim):
        return None
    middle = _HEADER.size + 8 * rows
    end = middle + 8 * rows
    return Directions(
        last,
        data[_HEADER.size : middle].view("<i8"),
        data[middle:end].view("<i8"),
        data[end:].view("<f4").reshape(rows, dim),
        source,
    )


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
    rows = database.rows(
        "SELECT id, chunk_id FROM vectors WHERE model_id = ? ORDER BY id", (model_id,)
    )
    ids = np.array(rows, dtype="<i8").reshape(-1, 2)
    stream.write(_HEADER.pack(_MAGIC, mark, len(ids), dim, int(ids[-1, 0])))
    stream.write(ids[:, 0].tobytes())
    stream.write(ids[:, 1].tobytes())
    for batch in _batches(database, model_id, 0):
        stream.write(batch.rows.tobytes())


def _batches(database: Database, model_id: int, after: int) -> Iterator[Directions]:
    """Vectors with higher ids than ``after``, by id."""
    import numpy as np

    while True:
        rows = database.rows(
            "SELECT id, chunk_id, embedding FROM vectors WHERE model_id = ? AND id > ? "
            "ORDER BY id LIMIT ?",
            (model_id, after, _BATCH),
        )
        if not rows:
            return
        after = rows[-1][0]
        part = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4").reshape(len(rows), -1)
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        yield Directions(
            after,
            np.array([row[0] for row in rows], dtype="<i8"),
            np.array([row[1] for row in rows], dtype="<i8"),
            (part / np.where(lengths > 0, lengths, 1)).astype("<f4"),
        )
