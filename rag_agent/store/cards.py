"""File cards: one vector a document, so that a new index can be asked by meaning in seconds.

What a card says is made elsewhere (``embed.card``) of what is here; a document that is put anew
with any of that changed loses its cards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_agent.store import dense, roots
from rag_agent.store.connection import Database
from rag_agent.store.filters import Filter
from rag_agent.store.records import PendingCard
from rag_agent.utf8 import encodable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.types import Chunk, Document, Matrix, Vector

_REMEMBERED = 10_000  # cards, of 1.5 KB with 384 dimensions
_NAMES = 90  # more do not fit in the window of any model that reads a page at a time


def digest_of(document: Document, chunks: Sequence[Chunk], author: str, year: object) -> bytes:
    """Changes whenever what the document's card is made of does."""
    found: dict[str, None] = {}
    for chunk in chunks:
        found.update((encodable(definition.name), None) for definition in chunk.definitions)
    names = list(found)[:_NAMES] or _distinct([encodable(chunk.heading) for chunk in chunks])
    first = chunks[0].text if chunks else ""
    parts = [document.path, document.kind, document.title, first, *names]
    if author:
        parts += [author, str(year)]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "backslashreplace")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def forget_outdated(database: Database, document_id: int, digest: bytes) -> None:
    """Note what the card is to be made of now, inside a transaction; made of else it goes."""
    known = database.value("SELECT card_digest FROM documents WHERE id = ?", (document_id,))
    if known != digest:
        database.rows("UPDATE documents SET card_digest = ? WHERE id = ?", (digest, document_id))
        database.rows("DELETE FROM cards WHERE document_id = ?", (document_id,))


# A document without chunks cannot be found, so it needs no card.
_WITHOUT = (
    "d.chunks > 0 AND NOT EXISTS ("
    "SELECT 1 FROM cards AS k WHERE k.document_id = d.id AND k.model_id = ?)"
)


def pending(database: Database, model_id: int, limit: int, after: int = 0) -> list[PendingCard]:
    """As ``Store.pending_cards``, by id."""
    with database.snapshot():
        rows = database.rows(
            "SELECT d.id, d.card_digest, d.path, d.kind, d.title, d.author, d.year, coalesce(("
            "    SELECT text FROM document_chunks WHERE document_id = d.id "
            "    ORDER BY position LIMIT 1), '') "
            f"FROM documents AS d WHERE d.id > ? AND {_WITHOUT} ORDER BY d.id LIMIT ?",
            (after, model_id, max(limit, 0)),
        )
        return [
            PendingCard(
                document, digest, path, kind, title, text, _names(database, document), author, year
            )
            for document, digest, path, kind, title, author, year, text in rows
        ]


def _names(database: Database, document_id: int) -> tuple[str, ...]:
    rows = database.rows(
        "SELECT f.name FROM document_chunks AS c JOIN definitions AS f ON f.chunk_id = c.id "
        "WHERE c.document_id = ? GROUP BY f.name ORDER BY min(c.position), min(f.id) LIMIT ?",
        (document_id, _NAMES),
    ) or database.rows(
        "SELECT heading FROM document_chunks WHERE document_id = ? ORDER BY position LIMIT ?",
        (document_id, _NAMES),
    )
    return tuple(_distinct([row[0] for row in rows]))


def _distinct(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names[:_NAMES]) if name]


def put(database: Database, model_id: int, made: Sequence[PendingCard], vectors: Matrix) -> None:
    """Keep one row of ``vectors`` for each document that is as it was when it was read.

    Raises:
        ModelMismatch: the rows do not have the model's dimension.
    """
    if len(made) == 0:
        return
    dense.check_dim(database, model_id, vectors.shape[1])
    with database.transaction():
        database.many(
            "INSERT OR REPLACE INTO cards (model_id, embedding, document_id) "
            "SELECT ?, ?, id FROM documents WHERE id = ? AND card_digest = ?",
            [
                (model_id, row.tobytes(), card.document_id, card.digest)
                for card, row in zip(made, dense.finite(vectors), strict=True)
            ],
        )


def nearest(
    database: Database, model_id: int, vector: Vector, k: int, where: Filter | None = None
) -> list[tuple[int, float]]:
    """As ``Store.nearest_cards``; narrowed by ``where`` before ranking.

    Raises:
        ModelMismatch: the vector does not have the model's dimension.
    """
    import numpy as np

    dense.check_dim(database, model_id, len(vector))
    if k < 1 or not np.isfinite(vector).all():
        return []
    database.load_vectors()
    condition, bindings = roots.condition(database, where, chunks=False)
    narrowed = (
        f"AND k.document_id IN (SELECT d.id FROM documents AS d WHERE TRUE{condition})"
        if condition
        else ""
    )
    # Without a condition an index only adds a look-up for each row.
    plan = "" if condition else "NOT INDEXED"
    rows = database.rows(
        "SELECT k.document_id, vec_distance_cosine(k.embedding, ?) AS distance "
        f"FROM cards AS k {plan} WHERE k.model_id = ? {narrowed} "
        "ORDER BY distance NULLS LAST, k.document_id LIMIT ?",
        (dense.blob(vector), model_id, *bindings, k),
    )
    return dense.as_cosines(rows)


def cosines(
    database: Database, model_id: int, vector: Vector, document_ids: Sequence[int]
) -> NDArray[np.float64]:
    """Raw cosine of the card of each of the documents, NaN where it has none."""
    import numpy as np

    dense.check_dim(database, model_id, len(vector))
    known = database.recalled(
        f"cards {model_id}",
        document_ids,
        _REMEMBERED,
        lambda missing: _embeddings(database, model_id, missing).items(),
    )
    without = bytes(4 * len(vector))
    cards = b"".join([known[number] or without for number in document_ids])
    rows = np.frombuffer(cards, dtype="<f4").reshape(len(document_ids), len(vector))
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * np.linalg.norm(vector)
    # Row by row, so that equal cards are equally near. One of length 0 is near to nothing.
    products = np.einsum("ij,j->i", rows, vector)
    found = np.full(len(rows), np.nan)
    np.divide(products, lengths, out=found, where=lengths > 0)
    return found


def vector_of(database: Database, model_id: int, document_id: int) -> Vector | None:
    """The document's card, None where it has none that is near to anything."""
    return dense.read_vector(
        database.value(
            "SELECT embedding FROM cards WHERE document_id = ? AND model_id = ?",
            (document_id, model_id),
        )
    )


def _embeddings(database: Database, model_id: int, document_ids: Sequence[int]) -> dict[int, bytes]:
    """Empty for a document without a card."""
    rows = database.rows(
        "SELECT k.document_id, k.embedding FROM json_each(?) AS w "
        "CROSS JOIN cards AS k ON k.document_id = w.value AND k.model_id = ?",
        (json.dumps([int(number) for number in document_ids]), model_id),
    )
    return dict.fromkeys(document_ids, b"") | dict(rows)
