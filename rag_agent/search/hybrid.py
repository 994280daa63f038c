"""Search: the algorithm on one screen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.embed import passage_text
from rag_agent.errors import QueryError
from rag_agent.search import fusion
from rag_agent.search.candidates import find_candidates
from rag_agent.search.dense import Meaning, read_meaning
from rag_agent.search.diversity import collapse
from rag_agent.search.facts import Corpus, corpus_of
from rag_agent.search.matches import FileMatch
from rag_agent.search.passages import choose_chunks, choose_places, evidence
from rag_agent.search.question import Question, read_question
from rag_agent.store import filters
from rag_agent.types import Hit, SearchResults

if TYPE_CHECKING:
    from rag_agent.search.rerank import Reranking
    from rag_agent.store import Store
    from rag_agent.types import Embedder


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """``alpha`` is the weight of BM25 in the blend, in [0, 1]; the rest is the cosine's."""

    alpha: float = fusion.ALPHA


def search(
    store: Store,
    query: str,
    *,
    embedder: Embedder | None,
    options: SearchOptions | None = None,
    limit: int = 10,
    where: str = "",
    reranking: Reranking | None = None,
) -> SearchResults:
    """The files that answer, best first, each with its best chunk and up to two more.

    Without an embedder, or while nothing is embedded, words alone rank, and a note says so.

    Raises:
        QueryError: the query is empty, the filter cannot be understood, or limit is below 1.
    """
    started = time.perf_counter()
    if limit < 1:
        raise QueryError(f"limit is {limit}; ask for at least 1 hit")
    alpha = (options or SearchOptions()).alpha
    narrowed = filters.compile(where)
    question, notes = read_question(store, query)
    reading = read_meaning(store, embedder, question.text)
    with store.snapshot():
        files = find_candidates(store, question, reading, narrowed)
        corpus = corpus_of(store)
    meaning, without = reading.result()
    ranked = rank(question, files, alpha, corpus)
    unread: Sequence[str] = ()
    if reranking:
        ranked, unread = reranking.rerank(query, ranked, lambda one: _read_as(question, one, alpha))
    return SearchResults(
        query=query,
        mode="hybrid" if meaning else "lexical",
        hits=collapse((_hit(question, scored, alpha) for scored in ranked), limit),
        took_ms=(time.perf_counter() - started) * 1000,
        notes=(*notes, *without, *_missing_vectors(store, meaning, files), *unread),
    )


@dataclass(frozen=True, slots=True)
class Scored:
    """A file with what its score is the sum of."""

    file: FileMatch
    signals: Mapping[str, float]

    @property
    def score(self) -> float:
        """Orders files of one question; says nothing across questions."""
        return sum(self.signals.values())


def rank(
    question: Question, files: Sequence[FileMatch], alpha: float, corpus: Corpus
) -> list[Scored]:
    """Best first."""
    parts = fusion.score(question, files, alpha, corpus)
    scored = [Scored(file, own) for file, own in zip(files, parts, strict=True)]
    return sorted(scored, key=lambda found: (-found.score, found.file.shown_path))


def _hit(question: Question, scored: Scored, alpha: float) -> Hit:
    best, *more = choose_chunks(question, scored.file, alpha)
    return Hit(
        path=scored.file.shown_path,
        score=scored.score,
        chunk=best,
        more=tuple(more),
        signals=scored.signals,
        evidence=evidence(question, scored.file),
        converted=scored.file.document.converted,
        document=scored.file.document,
    )


def _read_as(question: Question, scored: Scored, alpha: float) -> str:
    """What a reranker reads of a file: its best chunk, below where it stands."""
    best = scored.file.chunks[choose_places(question, scored.file, alpha)[0]].stored
    document = best.document
    return passage_text(document.path, document.title, best.chunk.heading, best.chunk.text)


def _missing_vectors(
    store: Store, meaning: Meaning | None, files: Sequence[FileMatch]
) -> Sequence[str]:
    """A note where some of what was found could be ranked by words only."""
    if meaning is None or all(c.cosine is not None for file in files for c in file.chunks):
        return ()
    missing = store.count_pending(meaning.model)
    if all(file.card is not None for file in files):
        return (
            f"{missing:,} chunks are not embedded yet; their files were found by words and by a "
            "summary of each.",
        )
    return (f"{missing:,} chunks are not embedded yet and were ranked by words only.",)
