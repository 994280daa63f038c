"""The candidates of a question in columns: what ``matches`` says of each, computed for all at once.

A file and its chunks are made of the columns when somebody looks at them, which of some 140 files
happens to a dozen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rag_agent.search import lexical
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.names import Names
from rag_agent.search.question import SATURATION, Question
from rag_agent.store import CountedPassages, Outline
from rag_agent.types import Definition

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Candidates(Sequence[FileMatch]):
    """Files and their chunks, each chunk beside the others of its file.

    ``outlines`` are the chunks. ``first`` says where the chunks of each file begin, ``file_of`` to
    which file each chunk belongs. ``bm25`` and ``covered`` are those of chunks, ``cosines`` too,
    NaN where there is none. ``counts`` of shape (chunks, words) say how often those passages of a
    chunk that matched have the words of the question. ``passages`` are the BM25 of passages,
    ``chunk_of`` says to which chunk each belongs. ``cards``, ``commits``, ``by_path`` and ``near``
    are of files; a card that there is not is NaN.
    """

    def __init__(
        self,
        question: Question,
        outlines: Sequence[Outline],
        found: CountedPassages,
        cosines: Mapping[int, float],
        asked: Mapping[int, Sequence[Definition]],
        average: float,
        names: Names,
    ) -> None:
        self.question = question
        self.outlines = outlines
        self.average = average
        self.names = names
        self.words = list(question.words)
        self.gains = np.array([question.gains[word] for word in self.words], dtype=np.float64)
        self.asked = asked
        documents = [outline.document.id for outline in outlines]
        begins = [
            place
            for place, document in enumerate(documents)
            if place == 0 or document != documents[place - 1]
        ]
        self.first: Places = np.array(begins, dtype=np.int64)
        self.sizes: Places = np.diff(self.first, append=len(outlines))
        self.file_of: Places = np.repeat(np.arange(len(begins)), self.sizes)
        self.heads = [outlines[place] for place in begins]
        self.cosines: Floats = np.array(
            [cosines.get(outline.id, np.nan) for outline in outlines], dtype=np.float64
        )
        self._count(found)
        nothing = np.zeros(len(begins))
        self.cards: Floats = np.full(len(begins), np.nan)
        self.commits: Floats = nothing
        self.by_path: Floats = nothing
        self.near: Floats = nothing

    def _count(self, found: CountedPassages) -> None:
        place_of = {outline.id: place for place, outline in enumerate(self.outlines)}
        chunk_of = np.array([place_of.get(chunk, -1) for chunk in found.chunk_ids], dtype=np.int64)
        known = chunk_of >= 0
        if not known.all():  # a copy of the words that was damaged names chunks that are none
            found = CountedPassages([], found.counts[known], found.lengths[known])
        self.chunk_of: Places = chunk_of[known]
        in_path, path_lengths = self._paths()
        file_of = self.file_of[self.chunk_of]
        self.passages: Floats = self.bm25_of(
            found.counts + in_path[file_of], found.lengths + path_lengths[file_of], self.average
        )
        chunks = len(self.outlines)
        self.counts: Floats = np.zeros((chunks, len(self.words)))
        lengths = np.zeros(chunks)
        self.covered: Floats = np.zeros(chunks)
        order = np.argsort(self.chunk_of, kind="stable")
        if len(order):
            matched, begins = np.unique(self.chunk_of[order], return_index=True)
            self.counts[matched] = np.add.reduceat(found.counts[order], begins)
            lengths[matched] = np.add.reduceat(found.lengths[order], begins)
            covered = self.coverage(found.counts)
            self.covered[matched] = np.maximum.reduceat(covered[order], begins)
        everything = np.array([outline.passages or 1 for outline in self.outlines])
        self.bm25: Floats = self.bm25_of(
            self.counts + in_path[self.file_of],
            np.maximum(lengths, np.ceil(everything * self.average)) + path_lengths[self.file_of],
            lexical.PASSAGES_OF_CHUNK * self.average,
        )

    def _paths(self) -> tuple[Floats, Floats]:
        """How often the path of each file has each word of the question, and its length."""
        number_of = {word: number for number, word in enumerate(self.words)}
        files, numbers, lengths = [], [], []
        for file, head in enumerate(self.heads):
            in_path = lexical.path_words(head.document.path)
            lengths.append(len(in_path))
            for word in in_path:
                if word in number_of:
                    files.append(file)
                    numbers.append(number_of[word])
        counts = np.zeros((len(self.heads), len(self.words)))
        if files:
            np.add.at(counts, (files, numbers), 1.0)
        return counts, np.array(lengths, dtype=np.float64)

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
        file = FileMatch(
            head.document,
            head.shown_path,
            tuple(self._chunk(chunk) for chunk in chunks),
            None if np.isnan(card) else card,
            float(self.commits[place]),
        )
        file.by_path = float(self.by_path[place])
        file.near = float(self.near[place])
        return file

    def __iter__(self) -> Iterator[FileMatch]:
        return (self[place] for place in range(len(self)))

    def _chunk(self, place: int) -> ChunkMatch:
        outline = self.outlines[place]
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
        )
