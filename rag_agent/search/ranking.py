"""Scores of all candidates at once: ``fusion.score`` with arrays in the place of loops.

Both give the same numbers. This one takes numpy, which a hook has no time to load.
"""

from __future__ import annotations

import numpy as np

from rag_agent.search import fusion, measuring
from rag_agent.search.columns import Candidates, Floats, Places
from rag_agent.search.facts import Corpus
from rag_agent.search.measuring import Columns, Read
from rag_agent.search.signals import PARTS, SIGNALS, Signal
from rag_agent.search.weights import HYBRID, WORDS_ONLY

PROMISING = 60
"""Files whose definitions are read and compared, and all that are as promising as the last."""

# Files that are compared in any case, as they define names that the question gives: of their words
# nothing may have been found.
_NAMED, _NAME = 8, "definition: definition"


class Scores:
    """What each part of a score gives to each of some files.

    ``files`` are places among the candidates in their order, ``parts`` of shape (names, files).
    """

    __slots__ = ("files", "names", "parts")

    def __init__(self, files: Places, names: list[str], parts: Floats) -> None:
        self.files = files
        self.names = names
        self.parts = parts


def score(files: Candidates, alpha: float, corpus: Corpus, most: int | None = None) -> Scores:
    """The scores of the ``most`` promising files and some more, or of all.

    Which files are promising is said by all that is known without reading what their chunks define.
    """
    if not len(files):
        return _nothing()
    values = measuring.scale(measuring.of_all(files, corpus))
    is_hybrid = any(not np.isnan(values[key]).all() for key in fusion.MEANINGS)
    if is_hybrid:
        _stand_in(values)
    weights = _Weights(files, alpha, is_hybrid=is_hybrid)
    chosen: Places = np.arange(len(files))
    if most is not None and most < len(files):
        chosen = _promising(weights.gains(values, chosen)[1].sum(axis=0), values[_NAME], most)
    read = Read(files, chosen)
    if not len(read.files):  # a damaged copy of the words put all chunks elsewhere
        return _nothing()
    values = {key: column[read.files] for key, column in values.items()}
    values |= measuring.scale(measuring.of_some(read, corpus, values.keys()))
    return Scores(read.files, list(PARTS), weights.parts(values, read.files))


def _nothing() -> Scores:
    return Scores(np.arange(0), list(PARTS), np.zeros((len(PARTS), 0)))


def _promising(promise: Floats, named: Floats, most: int) -> Places:
    """The best by either, and whatever is as good as the last by the first: copies go together."""
    least = np.partition(promise, -most)[-most]
    by_name = np.argsort(-named, kind="stable")[:_NAMED]
    return np.union1d(np.flatnonzero(promise >= least), by_name[named[by_name] > 0])


def scaled(files: Candidates, corpus: Corpus) -> Columns:
    """As ``fusion.scaled``; what is not known is NaN."""
    values = measuring.scale(measuring.of_all(files, corpus))
    read = Read(files, np.arange(len(files)))
    return values | measuring.scale(measuring.of_some(read, corpus, values.keys()))


def _stand_in(values: Columns) -> None:
    """As ``fusion.stand_in``."""
    card, found = values[fusion.OF_CARD], values[fusion.STANDS_FOR_MEANING]
    guess = np.where(np.isnan(card), found, fusion.CARD * card + (1 - fusion.CARD) * found)
    for key in fusion.MEANINGS:
        values[key] = np.where(np.isnan(values[key]), guess, values[key])


class _Weights:
    """What each signal counts for each of the candidates."""

    def __init__(self, files: Candidates, alpha: float, *, is_hybrid: bool) -> None:
        table = (HYBRID if is_hybrid else WORDS_ONLY) | fusion.GIVEN
        factors = fusion.factors_of(alpha, is_hybrid)
        self._used = [signal for signal in SIGNALS if signal.key in table]
        weights = np.array([table[signal.key] for signal in self._used])
        weights *= np.array([[factors[signal.part]] for signal in self._used])
        self._in_code = weights[:, 0] + weights[:, 1] * files.question.length
        self._in_prose = weights[:, 2]
        self._is_prose = np.array([facts.kind == "prose" for facts in files.facts])

    def gains(self, values: Columns, files: Places) -> tuple[list[Signal], Floats]:
        """Signals, and what each gives to each of some files, of shape (signals, files)."""
        places = [n for n, signal in enumerate(self._used) if signal.key in values]
        used = [self._used[place] for place in places]
        gains = np.array([values[signal.key] for signal in used])
        gains *= np.where(
            self._is_prose[files],
            self._in_prose[places, np.newaxis],
            self._in_code[places, np.newaxis],
        )
        return used, gains

    def parts(self, values: Columns, files: Places) -> Floats:
        """The same summed by parts of a score, of shape (parts, files)."""
        names = list(PARTS)
        used, gains = self.gains(values, files)
        sums = np.zeros((len(names), len(files)))
        np.add.at(sums, [names.index(signal.part) for signal in used], gains)
        return sums
