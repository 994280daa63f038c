"""Rows of words that a question and a text both have, as a message and the code that says it."""

from __future__ import annotations

import re
from itertools import pairwise

from rag_agent.tokens import without_accents

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from rag_agent.types import Kind

IN_A_ROW = 4
"""Words, stop words among them; three stand together by chance."""

# In documents, which name in few words what the code does that is sought.
_IN_A_ROW_OF_PROSE = 6
_TELLING = 2  # of them, so many that are no stop words; of a longer row one
_LONG_ROW = 6
# Characters that stand in the code of a message for what is filled in when it is said.
_GAP = 40
_MOST_PIECES = 12  # between values; with more of them it is a table
_STARTS = 8  # places of a text at which such a message is tried to begin
_BETWEEN = r"[\W_]+"  # words of a row
# Quotation marks, dashes and points beyond ASCII, the wide ones of East Asia included.
_MARKS = re.compile("[\u00a0-\u00bf\u2000-\u206f\u3000-\u303f]+")
_LETTERS = bytes(one if one >= 128 or chr(one).isalnum() else 32 for one in range(256))


class Rows:
    """The words of a question in their order; places are theirs.

    ``weights`` are what they count, ``values`` the places of those that may have been filled in
    where a program says what its code has.
    """

    __slots__ = ("_pieces", "_rows", "_values", "_weights", "_words")

    def __init__(self, words: Sequence[bytes], weights: Sequence[float], values: Set[int]) -> None:
        self._words = words
        self._weights = weights
        self._values = values
        self._pieces = self._between_values() if values else []
        self._rows: dict[int, list[bytes]] = {}

    @property
    def has_values(self) -> bool:
        """Whether a text may have it with other words at some places."""
        return bool(self._pieces)

    def places_in(self, plain: bytes, kind: Kind) -> set[int]:
        """Where the words stand that are part of a row which a ``plain`` text has too."""
        least = IN_A_ROW if kind == "code" else _IN_A_ROW_OF_PROSE
        found = self._in_rows(plain, least)
        return found | self._in_pieces(plain, least) if self._pieces else found

    def begins_in(self, folded: str, kind: Kind) -> list[int]:
        """Where in a text in lower case rows of words begin."""
        least = IN_A_ROW if kind == "code" else _IN_A_ROW_OF_PROSE
        places = self._in_rows(plain(folded), least)
        found: list[int] = []
        for begin in sorted(place for place in places if place - 1 not in places):
            own = [word.decode("utf-8") for word in self._words[begin : begin + IN_A_ROW]]
            pattern = _BETWEEN.join(map(re.escape, own))
            found += [match.start() for match in re.finditer(pattern, folded)]
        return found

    def _in_rows(self, text: bytes, least: int) -> set[int]:
        """Where the words stand that are part of a row of words which the text has too."""
        found: set[int] = set()
        own, start, count = self._words, 0, len(self._words)
        if least not in self._rows:
            rows = [row(own[place : place + least]) for place in range(count - least + 1)]
            self._rows[least] = rows
        if not any(one in text for one in self._rows[least]):  # as mostly
            return found
        while start + least <= count:
            end = start + least
            if row(own[start:end]) not in text:
                start += 1
                continue
            while end < count and row(own[start : end + 1]) in text:
                end += 1
            if self._tells(range(start, end)):
                found.update(range(start, end))
            start = end
        return found

    def _in_pieces(self, text: bytes, least: int) -> set[int]:
        """Where the words stand of a row that has other words where the question has a value."""
        found: set[int] = set()
        for first, (start, stop, beginning) in enumerate(self._pieces):
            begin = text.find(beginning)
            for _ in range(_STARTS):
                if begin < 0:
                    break
                end, places = begin + len(beginning), [*range(start, stop)]
                for begins, ends, following in self._pieces[first + 1 :]:
                    at = text.find(following, end - 1, end + _GAP + len(following))
                    if at >= 0:
                        end = at + len(following)
                        places += range(begins, ends)
                if len(places) > stop - start and len(places) >= least and self._tells(places):
                    found.update(places, self._values & {*range(start, places[-1])})
                begin = text.find(beginning, begin + 1)
        return found

    def _tells(self, places: Sequence[int]) -> bool:
        """Whether words in a row are more than stop words that are there by chance."""
        telling = sum(self._weights[place] > 0 for place in places)
        return telling >= (1 if len(places) >= _LONG_ROW else _TELLING)

    def _between_values(self) -> list[tuple[int, int, bytes]]:
        """The pieces of the question between values: where each begins and ends, and its words."""
        edges = [-1, *sorted(self._values), len(self._words)]
        spans = [(before + 1, behind) for before, behind in pairwise(edges) if behind > before + 1]
        found = [(start, end, row(self._words[start:end])) for start, end in spans]
        return found if 1 < len(found) <= _MOST_PIECES else []


def plain(folded: str) -> bytes:
    """The words of a text in lower case with a space around each."""
    if not folded.isascii():
        folded = _MARKS.sub(" ", without_accents(folded))
    return row(folded.encode("utf-8", "replace").translate(_LETTERS).split())


def row(some: Sequence[bytes]) -> bytes:
    """Words as ``plain`` has them."""
    return b" " + b" ".join(some) + b" "
