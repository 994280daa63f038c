"""Chunks without a vector get one: from the cache of all indexes, else from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.embed import EmbeddingCache, passage_text
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.types import Embedder

if TYPE_CHECKING:
    from rag_agent.types import Matrix

# Chunks a transaction: half a second of work, which is what a kill loses and how long a document
# has to wait for the write lock.
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many chunks the model embedded, and how many the cache had."""

    computed: int = 0
    reused: int = 0


def embed_pending(
    store: Store,
    embedder: Embedder,
    cache: EmbeddingCache,
    report: Report,
    *,
    lock: Callable[[], AbstractContextManager[object]],
    limit: int | None = None,
    trust_cache: bool = True,
) -> Embedded:
    """Embed chunks that have no vector of this model, in batches, each stored at once.

    Args:
        store: the open index.
        embedder: the model.
        cache: vectors of text that any index has seen.
        report: called before each batch; raise from it to stop.
        lock: the write lock, taken for each batch only.
        limit: stop after about this many chunks.
        trust_cache: false computes every vector anew.
    """
    with lock():
        model = store.model(embedder.fingerprint, embedder.dim)
    computed = reused = after = 0
    total = store.count_pending(model)
    while limit is None or computed + reused < limit:
        size = _BATCH if limit is None else min(_BATCH, limit - computed - reused)
        batch = store.pending(model, size, after)
        if not batch and after == 0:
            break
        if not batch:
            # Once more from the start: documents may have come while the last batch was embedded.
            after = 0
            continue
        after = batch[-1].id
        done = computed + reused
        report(Progress("embed", done, max(total, done + len(batch)), batch[0].path))
        texts = [passage_text(p.path, p.title, p.heading, p.text) for p in batch]
        vectors, fresh = _vectors(embedder, cache, texts, trust_cache)
        computed += fresh
        reused += len(batch) - fresh
        with lock():
            store.put_vectors(model, [p.id for p in batch], vectors)
    report(Progress("embed", computed + reused, computed + reused))
    return Embedded(computed, reused)


def _vectors(
    embedder: Embedder, cache: EmbeddingCache, texts: Sequence[str], trust_cache: bool
) -> tuple[Matrix, int]:
    """One vector a text, and how many of them the model had to compute."""
    import numpy as np  # 70 ms, which a sync without new text need not spend

    known = cache.get(embedder.fingerprint, texts) if trust_cache else [None] * len(texts)
    vectors = {text: v for text, v in zip(texts, known, strict=True) if v is not None}
    # Boilerplate repeats: what is missing twice is computed once.
    missing = [text for text in dict.fromkeys(texts) if text not in vectors]
    if missing:
        computed = embedder.embed_passages(missing)
        cache.put(embedder.fingerprint, missing, computed)
        vectors.update(zip(missing, computed, strict=True))
    return np.stack([vectors[text] for text in texts]), len(missing)
