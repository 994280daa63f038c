"""The question as a vector, and the chunks nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.errors import EmbedError

if TYPE_CHECKING:
    from rag_agent.store import Filter, Store
    from rag_agent.types import Embedder, Vector

CANDIDATES = 100  # chunks; 200 rank no better and take longer to read
_LONGEST_QUESTION = 4_000  # characters; far beyond the window of any model here


@dataclass(frozen=True, slots=True)
class Meaning:
    """The question's vector, and the id of its model in the store."""

    model: int
    vector: Vector


def read_meaning(
    store: Store, embedder: Embedder | None, text: str
) -> tuple[Meaning | None, Sequence[str]]:
    """The question as a vector; without one a sentence that says why."""
    if embedder is None:
        return None, ("Ranked by words only: no embedding model is loaded.",)
    model = store.find_model(embedder.fingerprint)
    if model is None:
        return None, ("Ranked by words only: nothing is embedded with the present model yet.",)
    try:
        return Meaning(model, embedder.embed_query(text[:_LONGEST_QUESTION])), ()
    except EmbedError as error:
        return None, (f"Ranked by words only: {error}",)


def nearest(store: Store, meaning: Meaning, where: Filter | None) -> dict[int, float]:
    """Raw cosine of the nearest chunks by id."""
    return dict(store.nearest(meaning.model, meaning.vector, CANDIDATES, where))


def cosines(store: Store, meaning: Meaning, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Raw cosine of those of the chunks that have a vector."""
    return store.cosines(meaning.model, meaning.vector, chunk_ids) if chunk_ids else {}
