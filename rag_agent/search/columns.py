"""The candidates of a question in columns: what ``matches`` says of each, computed for all at once.

Chunks are known by their ids. What else there is to know of them is read of the files that somebody
looks at, which of some 140 happens to five dozen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from rag_agent.search import lexical
from rag_agent.search.heads import HeadFacts, facts_of
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.names import Names
from rag_agent.search.nearby import nearby
from rag_agent.search.question import SATURATION, Question
from rag_agent.store import CountedPassages, Outline
from rag_agent.types import Definition

if TYPE_CHECKING:
    from rag_agent.store import ShownDocument, Store

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Candidates(Sequence[FileMatch]):
    """Files and their chunks, each chunk beside the others of its file.

    ``heads`` are the files, ``facts`` what their paths say, ``ids`` those of the chunks. ``first``
    says where the chunks of each file begin, ``file_of`` to which file each chunk belongs. ``bm25``
    and ``covered`` are those of chunks, ``cosines`` too, NaN where there is none, ``verbatim`` is
    the share of the question that a chunk has word for word, as far as it was read. ``counts`` of
    shape (chunks, words) say how often those passages of a chunk that matched have the words of the
    question. ``passages`` are the BM25 of passages, ``chunk_of`` says to which chunk each belongs.
    ``cards``, ``commits``, ``by_path`` and ``near`` are of files; a card that there is not is NaN.
    ``alike`` says of chunks, once they are compared, how alike the best name that they define is to
    the question.
    """

    def __init__(
        self,
        question: Question,
        chunk_ids: Sequence[int],
        owners: NDArray[np.int64],
        found: CountedPassages,
        asked: Mapping[int, Sequence[Definition]],
        store: Store,
    ) -> None:
        self.question = question
        self.average = store.average_passage_words()
        self.words = list(question.words)
        self.gains = np.array([question.gains[word] for word in self.words], dtype=np.float64)
        self.asked = asked
        self.names: Names = store.memory.setdefault("names", Names())
        self._store = store
        ids = np.array(chunk_ids, dtype=np.int64)
        owners, passages = owners
        wanted = set(owners.tolist())
        shown = store.shown([*wanted])
        order = np.lexsort((ids, owners))
        if len(shown) < len(wanted):  # a damaged copy of the words names chunks that are none
            order = order[np.isin(owners[order], [*shown])]
        self.ids: Places = ids[order]
        owners = owners[order]
        begins = np.ones(len(owners), dtype=np.bool_)
        begins[1:] = owners[1:] != owners[:-1]
        self.first: Places = np.flatnonzero(begins)
        self.sizes: Places = np.diff(self.first, append=len(owners))
        self.file_of: Places = np.cumsum(begins) - 1
        self.documents: list[int] = owners[self.first].tolist()
        self.heads: list[ShownDocument] = [shown[document] for document in self.documents]
        self.facts: list[HeadFacts] = [head.facts or facts_of(head) for head in self.heads]
        self._count(found, passages[order])
        nothing = np.zeros(len(self.heads))
        self.cosines: Floats = np.full(len(owners), np.nan)
        self.cards: Floats = np.full(len(self.heads), np.nan)
        self.commits: Floats = nothing
        self.by_path: Floats = nothing
        self.near: Floats = nothing
        self.verbatim: Floats = np.zeros(len(owners))
        self.alike: dict[int, float] = {}
        self._outlines: dict[int, Outline] = {}
        self._nearby: dict[int, float] = {}

    def _count(self, found: CountedPassages, everything: Places) -> None:
        chunks = len(self.ids)
        order = np.argsort(self.ids)
        wanted = np.array(found.chunk_ids, dtype=np.int64)
        at = self.ids.searchsorted(wanted, sorter=order)
        at[at == chunks] = 0
        chunk_of = order[at] if chunks else at
        known = self.ids[chunk_of] == wanted if chunks else np.zeros(len(at), dtype=np.bool_)
        if not known.all():
            found = CountedPassages([], found.counts[known], found.lengths[known])
        self.chunk_of: Places = chunk_of[known]
        in_path, path_lengths = self._paths()
        file_of = self.file_of[self.chunk_of]
        self.passages: Floats = self.bm25_of(
            found.counts + in_path[file_of], found.lengths + path_lengths[file_of], self.average
        )
        self.counts: Floats = np.zeros((chunks, len(self.words)))
        lengths = np.zeros(chunks)
        self.covered: Floats = np.zeros(chunks)
        order = np.argsort(self.chunk_of, kind="stable")
        if len(order):
            ordered = self.chunk_of[order]
            begins = np.flatnonzero(np.diff(ordered, prepend=-1))
            matched = ordered[begins]
            self.counts[matched] = np.add.reduceat(found.counts[order], begins)
            lengths[matched] = np.add.reduceat(found.lengths[order], begins)
            covered = self.coverage(found.counts)
            self.covered[matched] = np.maximum.reduceat(covered[order], begins)
        self.bm25: Floats = self.bm25_of(
            self.counts + in_path[self.file_of],
            np.maximum(lengths, np.ceil(np.maximum(everything, 1) * self.average))
            + path_lengths[self.file_of],
            lexical.PASSAGES_OF_CHUNK * self.average,
        )

    def _paths(self) -> tuple[Floats, Floats]:
        """How often the path of each file has each word of the question, and its length."""
        counts = np.zeros((len(self.heads), len(self.words)))
        asked = {word: number for number, word in enumerate(self.words)}
        is_none = asked.keys().isdisjoint
        for file in [n for n, facts in enumerate(self.facts) if not is_none(facts.counts)]:
            in_path = self.facts[file].counts
            for word in asked.keys() & in_path.keys():
                counts[file, asked[word]] = in_path[word]
        return counts, np.array([facts.length for facts in self.facts], dtype=np.float64)

    def bm25_of(
        self, counts: Floats, lengths: Floats, average: float, share: float = lexical.LENGTH
    ) -> Floats:
        """As ``lexical.bm25``, of many texts; ``counts`` are of shape (texts, words)."""
        norms = SATURATION * (1 - share + share * lengths / max(average, 1.0))
        # Row by row and not as a product of matrices, of which equal rows may come out unequal.
        shares = counts / (counts + norms[:, np.newaxis])
        scores: Floats = np.einsum("ij,j->i", shares, self.gains * (SATURATION + 1))
        return scores

    def coverage(self, counts: Floats | NDArray[np.bool_]) -> Floats:
        """As ``Question.coverage``, of many texts."""
        if not self.question.weight:
            return np.zeros(len(counts))
        covered: Floats = np.einsum("ij,j->i", counts > 0, self.gains)
        return covered / self.question.weight

    @cached_property
    def file_of_passage(self) -> Places:
        """To which file each of the passages belongs."""
        return self.file_of[self.chunk_of]

    @cached_property
    def _passages_of(self) -> dict[int, list[float]]:
        """By chunk, its passages, best first."""
        found: dict[int, list[float]] = {}
        order = np.argsort(-self.passages)
        for chunk, passage in zip(
            self.chunk_of[order].tolist(), self.passages[order].tolist(), strict=True
        ):
            found.setdefault(chunk, []).append(passage)
        return found

    def best(self, values: Floats, file_of: Places, count: int) -> tuple[Floats, Floats, Floats]:
        """Of each file the highest of its ``values``, the sum of so many, and how many these are.

        Without any they are 0.
        """
        files = len(self.heads)
        order = np.lexsort((-values, file_of))
        ordered, owners = values[order], file_of[order]
        starts = np.searchsorted(owners, np.arange(files))
        ranks = np.arange(len(owners)) - starts[owners]
        high = ranks < count
        highest = np.zeros(files)
        highest[owners[ranks == 0]] = ordered[ranks == 0]
        return (
            highest,
            np.bincount(owners[high], weights=ordered[high], minlength=files).astype(np.float64),
            np.bincount(owners[high], minlength=files).astype(np.float64),
        )

    def __len__(self) -> int:
        return len(self.heads)

    def chunks_of(self, files: Places) -> Places:
        """Where the chunks of some files are, file after file."""
        sizes = self.sizes[files]
        begins = np.cumsum(sizes) - sizes
        return np.repeat(self.first[files] - begins, sizes) + np.arange(sizes.sum())

    def outlines(self, chunks: Places) -> list[Outline | None]:
        """What is known of some of the chunks; None of one that a damaged copy misplaced."""
        ids = self.ids[chunks].tolist()
        known = self._outlines
        missing = [identifier for identifier in ids if identifier not in known]
        if missing:
            known.update(self._store.outlines(missing))
        owners = [self.documents[file] for file in self.file_of[chunks].tolist()]
        found = [known.get(identifier) for identifier in ids]
        return [
            outline if outline is not None and outline.document.id == owner else None
            for outline, owner in zip(found, owners, strict=True)
        ]

    def nearby(self, files: Places) -> list[float]:
        """Of each of some files how near each other words of the question stand in it.

        As ``FileMatch.nearby``; the texts of the documents among them are read once.
        """
        wanted = files.tolist()
        known = self._nearby
        best: dict[int, tuple[int, list[str]]] = {}
        for file in wanted:
            if file not in known and self.facts[file].kind == "prose":
                chunk = self._best_chunk(file)
                words = [self.words[one] for one in self.counts[chunk].nonzero()[0].tolist()]
                known[file] = 0.0
                if len(words) > 1:
                    best[file] = self.ids.item(chunk), words
        texts = self._store.texts([chunk for chunk, _ in best.values()]) if best else {}
        for file, (chunk, words) in best.items():
            known[file] = nearby(self.question, words, texts.get(chunk, ""))
        return [known.get(file, 0.0) for file in wanted]

    def _best_chunk(self, file: int) -> int:
        """As ``FileMatch.best``."""
        first = int(self.first[file])
        return first + int(self.bm25[first : first + int(self.sizes[file])].argmax())

    @overload
    def __getitem__(self, place: int) -> FileMatch: ...
    @overload
    def __getitem__(self, place: slice) -> list[FileMatch]: ...
    def __getitem__(self, place: int | slice) -> FileMatch | list[FileMatch]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        head = self.heads[place]
        start = int(self.first[place])
        chunks = range(start, start + int(self.sizes[place]))
        card = float(self.cards[place])
        outlines = self.outlines(np.arange(chunks.start, chunks.stop))
        matches = [
            self._chunk(chunk, outline)
            for chunk, outline in zip(chunks, outlines, strict=True)
            if outline is not None
        ]
        file = FileMatch(
            head.document,
            head.shown_path,
            tuple(sorted(matches, key=lambda match: match.stored.chunk.start)),
            None if np.isnan(card) else card,
            float(self.commits[place]),
        )
        file.by_path = float(self.by_path[place])
        file.near = float(self.near[place])
        (file.nearby,) = self.nearby(np.array([place]))
        return file

    def __iter__(self) -> Iterator[FileMatch]:
        return (self[place] for place in range(len(self)))

    def _chunk(self, place: int, outline: Outline) -> ChunkMatch:
        cosine = self.cosines.item(place)
        counts = self.counts[place].tolist() if place in self._passages_of else ()
        return ChunkMatch(
            stored=outline,
            passages=tuple(self._passages_of.get(place, ())),
            bm25=self.bm25.item(place),
            cosine=None if math.isnan(cosine) else cosine,
            counts={
                word: int(count) for word, count in zip(self.words, counts, strict=False) if count
            },
            covered=self.covered.item(place),
            asked=tuple(self.asked.get(outline.id, ())),
            alike=self.alike.get(outline.id),
            verbatim=self.verbatim.item(place),
        )
