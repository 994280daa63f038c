"""Words and meaning brought to one scale and blended."""

from __future__ import annotations

import math
from collections.abc import Sequence

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.matches import FileMatch
    from rag_agent.types import Kind

# How many of its best places speak for a file: source code answers in several, prose in one.
_PLACES: dict[Kind, int] = {"code": 3, "prose": 1, "data": 1}
# How much of its weight the cosine keeps: a sentence model reads prose better than code. When
# fitted on code, words to meaning were 4.1 : 3, which this gives at alpha 0.4.
_MEANING: dict[Kind, float] = {"code": 0.5, "prose": 1.0, "data": 1.0}
# How much of a file's meaning its card tells, which is one window of the whole: with 0.4 it gives
# half of what all vectors give (nDCG@10 on the semble set 0.893 by words, 0.900, 0.906), with 1 a
# tenth.
_CARD = 0.4
_PASSAGE_SHARE = 0.56  # best passages against the best chunk as a whole; 2.3 : 1.8 when fitted


def lexical(files: Sequence[FileMatch]) -> list[float]:
    """For each file how well its words match, in [0, 1], the best of its kind having about 1."""
    sums = {
        count: _by_maximum([sum(file.best_passages(count)) for file in files]) for count in (1, 3)
    }
    chunks = _by_maximum([file.bm25 for file in files])
    return [
        _PASSAGE_SHARE * sums[_PLACES[file.document.kind]][place]
        + (1 - _PASSAGE_SHARE) * chunks[place]
        for place, file in enumerate(files)
    ]


def semantic(files: Sequence[FileMatch]) -> list[float | None]:
    """For each file how near its chunks are in meaning, in [0, 1]; None where it has no vector.

    The middle candidate has 0 and the nearest 1: cosines of one model lie close together, at a
    height that depends on the question.
    """
    scaled = {count: _from_median([_cosine(file, count) for file in files]) for count in (1, 3)}
    return [scaled[_PLACES[file.document.kind]][place] for place, file in enumerate(files)]


def of_cards(files: Sequence[FileMatch]) -> list[float | None]:
    """The same of the files' cards, whose cosines lie at a height of their own."""
    return _from_median([file.card for file in files])


def blend(
    words: float,
    meaning: float | None,
    alpha: float,
    kind: Kind = "prose",
    card: float | None = None,
) -> tuple[float, float]:
    """What words and meaning contribute: alpha · words + (1 - alpha) · meaning, in two parts.

    ``alpha`` is the weight of BM25, in [0, 1]; for code it is raised towards 1 and stays what it is
    at both ends. Where the meaning is not known yet the words stand for it: a file whose vectors
    are still to come is neither punished nor preferred. If it has a ``card``, that speaks beside
    the words.
    """
    if meaning is None:
        if card is None:
            return words, 0.0
        meaning = _CARD * card + (1 - _CARD) * words
    of_meaning = (1 - alpha) * _MEANING[kind]
    alpha = alpha / (alpha + of_meaning) if alpha else 0.0
    return alpha * words, (1 - alpha) * meaning


def _cosine(file: FileMatch, count: int) -> float | None:
    cosines = file.best_cosines(count)
    return math.fsum(cosines) / len(cosines) if cosines else None


def _by_maximum(values: Sequence[float]) -> list[float]:
    highest = max(values, default=0.0)
    return [value / highest if highest > 0 else 0.0 for value in values]


def _from_median(values: Sequence[float | None]) -> list[float | None]:
    known = [value for value in values if value is not None]
    low, high = (_median(known), max(known)) if known else (0.0, 0.0)
    if high <= low:
        # All alike, or only one: no reason to prefer any, and none to punish.
        return [None if value is None else 1.0 for value in values]
    return [
        None if value is None else min(1.0, max(0.0, (value - low) / (high - low)))
        for value in values
    ]


def _median(values: Sequence[float]) -> float:
    """As statistics.median, which costs a hook two milliseconds to import."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
