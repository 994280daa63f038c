"""Which chunks of a file answer best: what is seen in each of them, and what it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rag_agent.search.definitions import Likeness

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.matches import ChunkMatch, FileMatch
    from rag_agent.search.question import Question

# Fitted by softmax over the chunks of a file against those with the lines that 495 bug fixes in 28
# repositories changed, and rounded. Every measure is in [0, 1]; of the first three the best chunk
# of the file has 1. Documents keep these three, from the middle of where 254 questions about five
# long ones are answered best; neighbours only led astray there.
_WEIGHTS = {
    "code": {
        "best passage": 2.0,
        "chunk": 1.7,
        "meaning": 1.5,
        "neighbour": 0.9,
        "named": 1.2,
        "likeness": 1.5,
        "definitions": -0.75,
        "lines": 0.6,
    },
    "prose": {"best passage": 1.5, "chunk": 2.0, "meaning": 1.8},
}
_VERBATIM = 5.0  # not fitted, as few of those questions have anything word for word
# At this alpha words and meaning weigh what the table says; towards either end the other fades. As
# fusion.ALPHA, which cannot be had here without all of its signals.
_FITTED_ALPHA = 0.4
_MANY_DEFINITIONS = 10  # a list of declarations: it has all names and answers little
_FULL_CHUNK = 50  # lines
# Chunks leave out blank lines at their edges, so neighbours may lie this far apart.
_GAP = 3


def score_chunks(question: Question, file: FileMatch, alpha: float) -> list[float]:
    """How well each of ``file.chunks`` answers beside the others; says nothing across files."""
    weights = _WEIGHTS["code" if file.document.kind == "code" else "prose"]
    chunks = file.chunks
    if all(chunk.cosine is None for chunk in chunks):
        alpha = 1.0
    of_words = min(1.0, alpha / _FITTED_ALPHA)
    of_meaning = min(1.0, (1 - alpha) / (1 - _FITTED_ALPHA))
    passages = _by_maximum([max(chunk.passages, default=0.0) for chunk in chunks])
    wholes = _by_maximum([chunk.bm25 for chunk in chunks])
    meanings = _meanings(chunks, wholes)
    scores = [
        of_words * (weights["best passage"] * passage + weights["chunk"] * whole)
        + of_meaning * weights["meaning"] * meaning
        + _VERBATIM * chunk.verbatim**3
        for passage, whole, meaning, chunk in zip(passages, wholes, meanings, chunks, strict=True)
    ]
    if file.document.kind != "code":
        return scores
    beside = _best_neighbours(chunks, meanings)
    return [
        score
        + of_meaning * weights["neighbour"] * neighbour
        + weights["named"] * bool(chunk.asked)
        + weights["likeness"] * _alike(question, chunk)
        + weights["definitions"] * _definitions(chunk)
        + weights["lines"] * _lines(chunk)
        for score, neighbour, chunk in zip(scores, beside, chunks, strict=True)
    ]


def _by_maximum(values: Sequence[float]) -> list[float]:
    highest = max(values)
    return [value / highest if highest > 0 else 0.0 for value in values]


def _meanings(chunks: Sequence[ChunkMatch], words: Sequence[float]) -> list[float]:
    """0 for the farthest chunk and 1 for the nearest; words stand for what is not known yet."""
    known = [chunk.cosine for chunk in chunks if chunk.cosine is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    meanings = list(words)
    for place, chunk in enumerate(chunks):
        if chunk.cosine is not None:
            meanings[place] = (chunk.cosine - low) / (high - low) if high > low else 1.0
    return meanings


def _best_neighbours(chunks: Sequence[ChunkMatch], meanings: Sequence[float]) -> list[float]:
    """The meaning of the nearer of the chunks right above and below, 0 where neither matched.

    An answer often begins at the end of one chunk and goes on in the next.
    """
    order = sorted(range(len(chunks)), key=lambda place: chunks[place].stored.chunk.start)
    best = [0.0] * len(chunks)
    for upper, lower in pairwise(order):
        if chunks[lower].stored.chunk.start - chunks[upper].stored.chunk.end <= _GAP:
            best[upper] = max(best[upper], meanings[lower])
            best[lower] = max(best[lower], meanings[upper])
    return best


def _alike(question: Question, chunk: ChunkMatch) -> float:
    if chunk.alike is None:
        chunk.alike = Likeness(question, chunk.stored.chunk.definitions).best
    return chunk.alike


def _definitions(chunk: ChunkMatch) -> float:
    return min(len(chunk.stored.chunk.definitions), _MANY_DEFINITIONS) / _MANY_DEFINITIONS


def _lines(chunk: ChunkMatch) -> float:
    piece = chunk.stored.chunk
    return min(1.0, (piece.end - piece.start + 1) / _FULL_CHUNK)
