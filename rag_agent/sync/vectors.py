"""Files and chunks without a vector get one: from the cache of all indexes, else from the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.embed import EmbeddingCache, card_text, passage_text
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.types import Embedder

if TYPE_CHECKING:
    from rag_agent.types import Matrix

# Texts a transaction: half a second of work, which is what a kill loses and how long a document
# has to wait for the write lock.
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many chunks the model embedded, how many the cache had, and how many files got a card."""

    computed: int = 0
    reused: int = 0
    cards: int = 0


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
    """Embed what has no vector of this model, in batches, each stored at once.

    Cards of files first: with them a new tree is asked by meaning in seconds.

    Args:
        store: the open index.
        embedder: the model.
        cache: vectors of text that any index has seen.
        report: called before each batch, with chunks counted; raise from it to stop.
        lock: the write lock, taken for each batch only.
        limit: stop after about this many cards, and as many chunks.
        trust_cache: false computes every vector anew.
    """
    with lock():
        model = store.model(embedder.fingerprint, embedder.dim)
    work = _Work(store, embedder, cache, report, lock, model, trust_cache)
    cards = computed = reused = 0
    while True:
        left = None if limit is None else limit - computed - reused
        made = work.cards(None if limit is None else limit - cards, computed + reused)
        fresh, known = work.chunks(left, computed + reused)
        cards, computed, reused = cards + made, computed + fresh, reused + known
        # Once more from the start: documents may have come while the last ones were embedded.
        if made == fresh == known == 0:
            break
    report(Progress("embed", computed + reused, computed + reused))
    return Embedded(computed, reused, cards)


@dataclass(frozen=True, slots=True)
class _Work:
    """One pass over what is pending, from the first id to the last."""

    store: Store
    embedder: Embedder
    cache: EmbeddingCache
    report: Report
    lock: Callable[[], AbstractContextManager[object]]
    model: int
    trust_cache: bool

    def cards(self, limit: int | None, chunks_done: int) -> int:
        """Embed pending cards; how many."""
        store, embedder = self.store, self.embedder
        made = after = 0
        total = chunks_done + store.count_pending(self.model)
        while batch := store.pending_cards(self.model, _size(limit, made), after):
            after = batch[-1].document_id
            self.report(Progress("embed", chunks_done, total, batch[0].path))
            texts = [
                embedder.first_window(
                    card_text(c.path, c.kind, c.title, c.text, c.names, c.author, c.year)
                )
                for c in batch
            ]
            vectors, _ = _vectors(embedder, self.cache, texts, self.trust_cache)
            made += len(batch)
            with self.lock():
                store.put_cards(self.model, batch, vectors)
        return made

    def chunks(self, limit: int | None, before: int) -> tuple[int, int]:
        """Embed pending chunks; how many the model computed, and how many the cache had."""
        computed = reused = after = 0
        total = before + self.store.count_pending(self.model)
        while batch := self.store.pending(self.model, _size(limit, computed + reused), after):
            after = batch[-1].id
            done = before + computed + reused
            self.report(Progress("embed", done, max(total, done + len(batch)), batch[0].path))
            texts = [
                passage_text(p.path, p.title, p.heading, p.text, p.description, p.tags)
                for p in batch
            ]
            vectors, fresh = _vectors(self.embedder, self.cache, texts, self.trust_cache)
            computed += fresh
            reused += len(batch) - fresh
            with self.lock():
                self.store.put_vectors(self.model, [p.id for p in batch], vectors)
        return computed, reused


def _size(limit: int | None, done: int) -> int:
    return _BATCH if limit is None else min(_BATCH, limit - done)


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
