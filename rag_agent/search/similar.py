"""Files that are near a document, or near one place in it, in meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_agent.search.hybrid import search
from rag_agent.types import Evidence, Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_agent.store import Store, StoredChunk
    from rag_agent.types import Embedder, Mode, Vector

_FACTOR = 4  # chunks that are looked at for each file that is wanted
_LONGEST_QUESTION = 600  # characters of the document in the place of a question


def similar(
    store: Store, document_id: int, line: int | None, embedder: Embedder | None, limit: int
) -> tuple[tuple[Hit, ...], Mode, tuple[str, ...]]:
    """Up to ``limit`` other files, nearest first; how they were found; notes about that.

    Near to the chunk at the line, or to the document as a whole; by its words while it has no
    vector.
    """
    chunks = store.chunks_of(document_id)
    if not chunks or limit < 1:
        return (), "lexical", ()
    place = None if line is None else _at(chunks, line)
    model = None if embedder is None else store.find_model(embedder.fingerprint)
    vector = None
    if model is not None:
        vector = store.card_vector(model, document_id) if place is None else None
        vector = store.chunk_vector(model, (place or chunks[0]).id) if vector is None else vector
    if model is None or vector is None:
        return _by_words(store, place or chunks[0], limit)
    return _by_vector(store, model, vector, document_id, limit), "hybrid", ()


def _at(chunks: Sequence[StoredChunk], line: int) -> StoredChunk:
    """The chunk that has the line, or else the one nearest to it."""
    return min(chunks, key=lambda c: (max(c.chunk.start - line, line - c.chunk.end, 0), c.id))


def _by_vector(
    store: Store, model: int, vector: Vector, document_id: int, limit: int
) -> tuple[Hit, ...]:
    """The best chunk of each file."""
    wanted, total = limit * _FACTOR, store.counts().chunks
    best: dict[int, tuple[int, float]] = {}
    while True:
        found = store.nearest(model, vector, wanted)
        owners = {o.id: o.document.id for o in store.outlines([one for one, _ in found]).values()}
        for chunk, cosine in found:
            owner = owners.get(chunk, document_id)
            if owner != document_id:
                best.setdefault(owner, (chunk, cosine))
        if len(best) >= limit or wanted >= total:
            break
        wanted *= _FACTOR
    chosen = list(best.values())[:limit]
    chunks = store.chunks([chunk for chunk, _ in chosen])
    return tuple(_hit(chunks[chunk], cosine) for chunk, cosine in chosen)


def _hit(found: StoredChunk, cosine: float) -> Hit:
    return Hit(
        path=found.shown_path,
        score=cosine,
        chunk=replace(found.chunk, path=found.shown_path),
        signals={"meaning": cosine},
        evidence=Evidence(cosine, 0.0, 0.0),
        converted=found.document.converted,
        document=found.document,
    )


def _by_words(
    store: Store, place: StoredChunk, limit: int
) -> tuple[tuple[Hit, ...], Mode, tuple[str, ...]]:
    text = f"{place.document.title}\n{place.chunk.heading}\n{place.chunk.text}"[:_LONGEST_QUESTION]
    if not text.strip():
        return (), "lexical", ()
    found = search(store, text, embedder=None, limit=limit + 1)
    others = [hit for hit in found.hits if hit.document and hit.document.id != place.document.id]
    return tuple(others[:limit]), "lexical", ("compared by words only: it has no vector yet",)
