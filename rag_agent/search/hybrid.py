"""Search: the algorithm on one screen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from rag_agent.embed import passage_text
from rag_agent.errors import QueryError
from rag_agent.links import nearness
from rag_agent.search import fusion, ranking
from rag_agent.search.candidates import find_candidates
from rag_agent.search.columns import Candidates
from rag_agent.search.dense import Meaning, read_meaning
from rag_agent.search.diversity import collapse
from rag_agent.search.facts import Corpus, corpus_of
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.passages import choose_places, exact_lines, measures, uncounted
from rag_agent.search.pointing import lines_given
from rag_agent.search.question import Question, read_question
from rag_agent.search.unmatched import WITHOUT_FILTER, explain_nothing
from rag_agent.store import filters
from rag_agent.types import Chunk, Definition, Evidence, Hit, SearchResults

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
    starts = filters.boosts(where)
    question, notes = read_question(store, query)
    reading = read_meaning(store, embedder, question.text)
    unread: Sequence[str] = ()
    with store.snapshot():
        linked = nearness(store, starts) if starts else None
        files = find_candidates(store, question, reading, narrowed, linked)
        corpus = corpus_of(store)
        # Twice as many as are wanted, for some may turn out to be copies of others. A reranker
        # takes so much longer that it may have all at once.
        promising = len(files) if reranking else max(ranking.PROMISING, 2 * limit)
        for most in (promising, len(files)):
            ranked: Sequence[Scored] = Ranking(files, alpha, corpus, most)
            if reranking:
                ranked, unread = reranking.rerank(
                    query, ranked, lambda one: _read_as(store, question, one, alpha)
                )
            hits = collapse(_hits(store, question, ranked, alpha, limit), limit)
            if len(hits) == limit or most >= len(files):
                break
    meaning, without = reading.result()
    left: int | None = None
    why: Sequence[str] = ()
    if narrowed and not hits:
        best = search(store, query, embedder=embedder, options=options, limit=WITHOUT_FILTER)
        left, why = explain_nothing(store, narrowed, best.hits)
    return SearchResults(
        query=query,
        mode="hybrid" if meaning else "lexical",
        hits=hits,
        took_ms=(time.perf_counter() - started) * 1000,
        notes=(*why, *notes, *without, *_missing_vectors(store, meaning, files), *unread),
        left_by_filter=left,
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


class Ranking(Sequence[Scored]):
    """The ``most`` promising files or all, best first; each is put together when looked at."""

    def __init__(
        self, files: Candidates, alpha: float, corpus: Corpus, most: int | None = None
    ) -> None:
        self._files = files
        self._scores = ranking.score(files, alpha, corpus, most)
        totals = self._scores.parts.sum(axis=0).tolist()
        paths = [files.heads[place].shown_path for place in self._scores.files.tolist()]
        self._order = sorted(range(len(paths)), key=lambda place: (-totals[place], paths[place]))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, rank: int) -> Scored: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Scored]: ...
    def __getitem__(self, rank: int | slice) -> Scored | list[Scored]:
        if isinstance(rank, slice):
            return [self._scored(place) for place in self._order[rank]]
        return self._scored(self._order[rank])

    def _scored(self, place: int) -> Scored:
        parts = self._scores.parts[:, place].tolist()
        signals = {name: gain for name, gain in zip(self._scores.names, parts, strict=True) if gain}
        return Scored(self._files[int(self._scores.files[place])], signals)


def _hits(
    store: Store, question: Question, ranked: Sequence[Scored], alpha: float, batch: int
) -> Iterator[Hit]:
    """Hits as they are asked for; texts are read for a ``batch`` of files at once."""
    for start in range(0, len(ranked), batch):
        some = [
            (
                scored,
                [
                    scored.file.chunks[place]
                    for place in choose_places(question, scored.file, alpha)
                ],
            )
            for scored in ranked[start : start + batch]
        ]
        wanted = [
            chunk.stored.id for scored, shown in some for chunk in (*shown, *uncounted(scored.file))
        ]
        texts = store.texts(wanted)
        yield from (_hit(question, scored, shown, texts) for scored, shown in some)


def _hit(
    question: Question, scored: Scored, shown: Sequence[ChunkMatch], texts: Mapping[int, str]
) -> Hit:
    file = scored.file
    best, *more = (_chunk(match, texts[match.stored.id]) for match in shown)
    unread = [texts[match.stored.id] for match in uncounted(file)]
    kind = file.document.kind
    return Hit(
        path=file.shown_path,
        score=scored.score,
        chunk=best,
        more=tuple(more),
        signals=scored.signals,
        evidence=Evidence(*measures(question, file, unread)),
        converted=file.document.converted,
        document=file.document,
        given=lines_given(question, file.document.path),
        exact=tuple(
            line
            for match in shown
            for line in exact_lines(question, match, texts[match.stored.id], kind)
        ),
    )


def _chunk(match: ChunkMatch, text: str) -> Chunk:
    """The chunk under the path that people see."""
    known = match.stored.chunk
    return Chunk(
        path=match.stored.shown_path,
        start=known.start,
        end=known.end,
        text=text,
        heading=known.heading,
        definitions=tuple(
            Definition(found.name, found.kind, found.start, found.end)
            for found in known.definitions
        ),
    )


def _read_as(store: Store, question: Question, scored: Scored, alpha: float) -> str:
    """What a reranker reads of a file: its best chunk, below where it stands."""
    best = scored.file.chunks[choose_places(question, scored.file, alpha)[0]].stored
    document = best.document
    return passage_text(
        document.path, document.title, best.chunk.heading, store.texts([best.id])[best.id]
    )


def _missing_vectors(store: Store, meaning: Meaning | None, files: Candidates) -> Sequence[str]:
    """A note where some of what was found could be ranked by words only."""
    if meaning is None or not np.isnan(files.cosines).any():
        return ()
    missing = store.count_pending(meaning.model)
    if not missing:  # what is found by words only has none to come
        return ()
    if not np.isnan(files.cards).any():
        return (
            f"{missing:,} chunks are not embedded yet; their files were found by words and by a "
            "summary of each.",
        )
    return (f"{missing:,} chunks are not embedded yet and were ranked by words only.",)
