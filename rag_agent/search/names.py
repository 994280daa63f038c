"""Defined names by number: how alike a question all those of a thousand definitions are at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rag_agent.search.definitions import parts_of_name, words_of_name
from rag_agent.search.question import Question
from rag_agent.store.glance import GlancedDefinition

# Kinds of definitions as ``Likeness`` tells them apart.
OF_TYPE, OF_FUNCTION = 1, 2
_KINDS = {"type": OF_TYPE, "module": OF_TYPE, "function": OF_FUNCTION}

Numbers = NDArray[np.int32]
Kinds = NDArray[np.int8]
Floats = NDArray[np.float64]


class Names:
    """The names that an index defines, as far as searches met them, with their words.

    It belongs to the index that is open and only grows: a name keeps its number.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._having: dict[str, array[int]] = {}  # by word, the names that have it
        self._made_of: dict[str, array[int]] = {}  # by word, the names that have it as a part
        self._sizes, self._parts = array("i"), array("i")

    def numbers(self, definitions: Iterable[GlancedDefinition]) -> tuple[Numbers, Kinds]:
        """The numbers of the names of definitions, and what kind each is of."""
        found, kinds = array("i"), array("b")
        for definition in definitions:
            number = self._numbers.get(definition.name)
            found.append(self._add(definition.name) if number is None else number)
            kinds.append(_KINDS.get(definition.kind, 0))
        return np.array(found, dtype=np.int32), np.array(kinds, dtype=np.int8)

    def _add(self, name: str) -> int:
        number = self._numbers[name] = len(self._numbers)
        words, parts = words_of_name(name), parts_of_name(name)
        self._sizes.append(len(words))
        self._parts.append(len(parts))
        for word in words:
            self._having.setdefault(word, array("i")).append(number)
        for part in parts:
            self._made_of.setdefault(part, array("i")).append(number)
        return number

    def likeness(
        self, question: Question, numbers: Numbers
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Of each of some names what ``Likeness`` says of one: ``best``, ``whole``.

        The third, of shape (names, words), says which words of the question each has.
        """
        known = len(self._numbers)
        has = np.zeros((len(numbers), len(question.gains)), dtype=np.bool_)
        parts = np.zeros(len(numbers), dtype=np.int32)
        mark = np.zeros(known, dtype=np.bool_)
        for place, word in enumerate(question.gains):
            for holders, note in ((self._having, True), (self._made_of, False)):
                if word not in holders:
                    continue
                those = np.array(holders[word])
                mark[those] = True
                if note:
                    has[:, place] = mark[numbers]
                else:
                    parts += mark[numbers]
                mark[those] = False
        gains = np.array(list(question.gains.values()), dtype=np.float64)
        # Row by row and not as a product of matrices, of which equal rows may come out unequal.
        shared = np.einsum("ij,j->i", has, gains)
        unasked = np.array(self._sizes)[numbers] - has.sum(axis=1)
        weight = question.weight or 1.0
        alike = 2 * shared / (weight + shared + unasked * question.rarity_of(""))
        is_whole = (parts == np.array(self._parts)[numbers]) & (shared > 0)
        return alike, np.where(is_whole, shared / weight, 0.0), has
