"""The models that the settings name now, and the caches of what they and the parsers made."""

from __future__ import annotations

import logging

from rag_agent import paths
from rag_agent.embed import EmbeddingCache, load, load_reranker
from rag_agent.embed.loading import LateModel, LatestModel
from rag_agent.errors import ConfigError
from rag_agent.search.rerank import Reranking
from rag_agent.sync.texts import TextCache
from rag_agent.tracking import Tracking
from rag_agent.types import Embedder, Reranker

_log = logging.getLogger(__name__)


class Engines:
    """Each is made when it is first asked for. Settings may change meanwhile: a server lives on."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._embedders: LatestModel[Embedder] = LatestModel(load)
        self._rerankers: LatestModel[Reranker] = LatestModel(load_reranker)
        self._cache: EmbeddingCache | None = None
        self._texts: dict[bool, TextCache] = {}

    def close(self) -> None:
        """Close the files of the caches; whoever asks for one opens it again."""
        if self._cache is not None:
            self._cache.close()
        for texts in self._texts.values():
            texts.close()

    @property
    def embedder(self) -> LateModel[Embedder]:
        """What turns text into vectors."""
        settings = self._tracking.config
        return self._embedders.of(settings.embedding_model, settings.embedding_threads)

    def load_embedder(self) -> Embedder:
        """Another one of the same, loaded now: for ``doctor``, which wants to see that."""
        settings = self._tracking.config
        return load(settings.embedding_model, settings.embedding_threads)

    def reranking(self) -> Reranking | None:
        """None where the settings name no reranker."""
        settings = self._tracking.config
        if not settings.rag_reranker:
            return None
        model = self._rerankers.of(settings.rag_reranker, settings.embedding_threads)
        return Reranking(model, settings.rag_rerank_top, settings.rag_rerank_budget_ms / 1000)

    def download_reranker(self) -> Reranker | None:
        """For ``doctor``: a search has no time to wait for a network."""
        settings = self._tracking.config
        if not settings.rag_reranker:
            return None
        return load_reranker(settings.rag_reranker, settings.embedding_threads, download=True)

    def embeddings(self) -> EmbeddingCache:
        """Vectors that any index of the user has seen."""
        if self._cache is None:
            self._cache = EmbeddingCache(paths.cache_folder())
        return self._cache

    def texts(self, *, trusted: bool = True) -> TextCache | None:
        """None where no folder is known that a cache might lie in: words need none."""
        try:
            if trusted not in self._texts:
                self._texts[trusted] = TextCache(paths.cache_folder(), trusted=trusted)
            return self._texts[trusted]
        except ConfigError as error:
            _log.info("no text cache: %s", error)
            return None
