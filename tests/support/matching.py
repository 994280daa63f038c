"""What the index of words finds, as it can be looked at."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.store import Filter, Store, StoredChunk


def matching(
    store: Store, words: Sequence[str], k: int, where: Filter | None = None
) -> list[StoredChunk]:
    """The chunks of the ``k`` best passages that hold any of the stems, the best first."""
    ids = store.match_counts(words, k, where).chunk_ids
    chunks = store.chunks(ids)
    return [chunks[identifier] for identifier in ids]
