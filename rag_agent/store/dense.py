"""Vectors of chunks: kept by model, found by cosine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_agent.errors import ModelMismatch
from rag_agent.late import LateLogger
from rag_agent.store import matrix, roots
from rag_agent.store.connection import Database
from rag_agent.store.filters import Filter
from rag_agent.store.records import Pending

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.types import Matrix, Vector

logger = LateLogger(__name__)


def find_model(database: Database, fingerprint: str) -> int | None:
    """The model's id, None when no vector of it was ever wanted here."""
    found: int | None = database.value(
        "SELECT id FROM models WHERE fingerprint = ?", (fingerprint,)
    )
    return found


def model(database: Database, fingerprint: str, dim: int) -> int:
    """The model's id, made when missing.

    Raises:
        ModelMismatch: the fingerprint is known with another dimension, and has vectors.
    """
    found = find_model(database, fingerprint)
    if found is None:
        with database.transaction():
            database.rows(
                "INSERT OR IGNORE INTO models (fingerprint, dim) VALUES (?, ?)", (fingerprint, dim)
            )
        found = find_model(database, fingerprint)
    assert found is not None
    if not database.value(
        "SELECT EXISTS (SELECT 1 FROM vectors WHERE model_id = ?1) "
        "    OR EXISTS (SELECT 1 FROM cards WHERE model_id = ?1)",
        (found,),
    ):
        with database.transaction():
            database.rows("UPDATE models SET dim = ? WHERE id = ?", (dim, found))
    check_dim(database, found, dim)
    return found


def fingerprints(database: Database) -> dict[int, str]:
    """Every model that vectors were ever wanted of, by id."""
    return dict(database.rows("SELECT id, fingerprint FROM models ORDER BY id"))


def forget(database: Database, keep: int | None = None) -> int:
    """Remove vectors and cards of every model but ``keep``; returns how many vectors that were.

    The models stay known: another process may be about to put vectors of one.
    """
    with database.transaction():
        before = database.value("SELECT count(*) FROM vectors WHERE model_id IS NOT ?", (keep,))
        for table in ("vectors", "cards"):
            database.rows(f"DELETE FROM {table} WHERE model_id IS NOT ?", (keep,))
    return int(before)


def pending(database: Database, model_id: int, limit: int, after: int = 0) -> list[Pending]:
    """Chunks with an id above ``after`` that lack a vector of the model, by id."""
    return _pending(database, model_id, "c.id > ?", after, max(limit, 0))


def pending_of(database: Database, model_id: int, document_id: int) -> list[Pending]:
    """Those of one document, all of them."""
    return _pending(database, model_id, "c.document_id = ?", document_id, -1)


def _pending(
    database: Database, model_id: int, condition: str, binding: int, limit: int
) -> list[Pending]:
    rows = database.rows(
        "SELECT c.id, d.path, d.title, c.heading, c.text, d.description, d.tags "
        "FROM document_chunks AS c JOIN documents AS d ON d.id = c.document_id "
        f"WHERE {condition} AND c.embedded = 1 AND NOT EXISTS ("
        "    SELECT 1 FROM vectors AS v WHERE v.chunk_id = c.id AND v.model_id = ?"
        ") ORDER BY c.id LIMIT ?",
        (binding, model_id, limit),
    )
    return [
        Pending(identifier, path, title, heading, text, description, tuple(json.loads(tags)))
        for identifier, path, title, heading, text, description, tags in rows
    ]


def count_pending(database: Database, model_id: int) -> int:
    """How many chunks lack a vector of the model."""
    return database.remembered(f"pending {model_id}", lambda: _count_pending(database, model_id))


def _count_pending(database: Database, model_id: int) -> int:
    return int(
        database.value(
            "SELECT (SELECT coalesce(sum(chunks), 0) FROM documents) "
            "     - (SELECT count(*) FROM document_chunks WHERE embedded = 0) "
            "     - (SELECT count(*) FROM vectors WHERE model_id = ?)",
            (model_id,),
        )
    )


def put_vectors(
    database: Database, model_id: int, chunk_ids: Sequence[int], vectors: Matrix
) -> None:
    """Keep one row of ``vectors`` for each chunk; chunks that vanished meanwhile are ignored.

    Raises:
        ModelMismatch: the rows do not have the model's dimension.
    """
    if len(chunk_ids) == 0:
        return
    check_dim(database, model_id, vectors.shape[1])
    kept = finite(vectors)
    with database.transaction():
        database.many(
            # REPLACE and not UPDATE: another vector has another id.
            "INSERT OR REPLACE INTO vectors (model_id, embedding, chunk_id) "
            "SELECT ?, ?, id FROM document_chunks WHERE id = ?",
            [
                (model_id, row.tobytes(), int(chunk_id))
                for chunk_id, row in zip(chunk_ids, kept, strict=True)
            ],
        )


def finite(vectors: Matrix) -> Matrix:
    """As they are stored; a row that is not finite becomes zeros, which nothing is near to.

    Asking the model again would give the same.
    """
    import numpy as np

    kept = np.array(vectors, dtype="<f4")
    broken = ~np.isfinite(kept).all(axis=1)
    if broken.any():
        logger.warning("%d vectors are not finite and count as absent", int(broken.sum()))
        kept[broken] = 0.0
    return kept


def nearest(
    database: Database, model_id: int, vector: Vector, k: int, where: Filter | None = None
) -> list[tuple[int, float]]:
    """(chunk id, raw cosine), highest first; exact, and narrowed by ``where`` before ranking.

    Raises:
        ModelMismatch: the vector does not have the model's dimension.
    """
    import numpy as np

    check_dim(database, model_id, len(vector))
    if k < 1 or not np.isfinite(vector).all():
        return []
    if where is None:
        known = matrix.current(database, model_id)
        if known is not None:
            return known.nearest(vector, k)
        return scan(database, model_id, vector, k)
    condition, bindings = roots.condition(database, where, chunks=True)
    narrowed = (
        "AND v.chunk_id IN (SELECT c.id FROM documents AS d "
        f"JOIN document_chunks AS c ON c.document_id = d.id WHERE TRUE{condition})"
    )
    return scan(database, model_id, vector, k, narrowed, bindings)


def scan(
    database: Database,
    model_id: int,
    vector: Vector,
    k: int,
    condition: str = "",
    bindings: Sequence[object] = (),
) -> list[tuple[int, float]]:
    """As ``nearest``, by the table itself; ``condition`` is on ``vectors AS v``."""
    database.load_vectors()
    # Without a condition an index only adds a look-up for each row.
    plan = "" if condition else "NOT INDEXED"
    rows = database.rows(
        "SELECT v.chunk_id, vec_distance_cosine(v.embedding, ?) AS distance "
        f"FROM vectors AS v {plan} WHERE v.model_id = ? {condition} "
        "ORDER BY distance NULLS LAST, v.chunk_id LIMIT ?",
        (blob(vector), model_id, *bindings, k),
    )
    return as_cosines(rows)


def cosines(
    database: Database, model_id: int, vector: Vector, chunk_ids: Sequence[int]
) -> NDArray[np.float64]:
    """Raw cosine of each of the chunks, NaN where it has no vector."""
    import numpy as np

    check_dim(database, model_id, len(vector))
    known = matrix.current(database, model_id)
    if known is not None:
        return known.cosines(vector, chunk_ids)
    database.load_vectors()
    rows = database.rows(
        "SELECT v.chunk_id, vec_distance_cosine(v.embedding, ?) FROM json_each(?) AS w "
        "CROSS JOIN vectors AS v ON v.chunk_id = w.value AND v.model_id = ?",
        (blob(vector), json.dumps([int(chunk_id) for chunk_id in chunk_ids]), model_id),
    )
    found = dict(as_cosines(rows))
    return np.array([found.get(one, np.nan) for one in chunk_ids], dtype=np.float64)


def vector_of(database: Database, model_id: int, chunk_id: int) -> Vector | None:
    """The chunk's vector, None where it has none that is near to anything."""
    return read_vector(
        database.value(
            "SELECT embedding FROM vectors WHERE chunk_id = ? AND model_id = ?",
            (chunk_id, model_id),
        )
    )


def read_vector(embedding: bytes | None) -> Vector | None:
    """A stored vector; None for none, and for one of zeros."""
    import numpy as np

    if embedding is None:
        return None
    vector = np.frombuffer(embedding, dtype="<f4")
    return vector if vector.any() else None


def as_cosines(rows: Sequence[tuple[int, float | None]]) -> list[tuple[int, float]]:
    """(id, raw cosine) of rows (id, cosine distance)."""
    # The distance to a vector of length 0 is NULL: no similarity rather than a high one.
    return [(identifier, 1.0 - distance) for identifier, distance in rows if distance is not None]


def blob(vector: Vector) -> bytes:
    """As it is stored: float32, little-endian."""
    return vector.astype("<f4").tobytes()


def check_dim(database: Database, model_id: int, dim: int) -> None:
    """Raises ``ModelMismatch`` unless the model's vectors have this dimension."""
    row = database.rows("SELECT fingerprint, dim FROM models WHERE id = ?", (model_id,))
    if row and row[0][1] != dim:
        raise ModelMismatch(
            f"{database.path}: vectors of {row[0][0]} have {row[0][1]} dimensions, not {dim}; "
            "run `rag-agent rebuild --force` to embed with the present model"
        )
