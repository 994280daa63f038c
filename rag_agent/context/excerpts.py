"""Which lines of a passage to show when there is no room for all of them."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from rag_agent.context.lines import Piece, is_numbered
from rag_agent.context.ordering import by_worth
from rag_agent.tokens import words
from rag_agent.types import Definition

# Lines that name things without saying anything about them.
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|using\s+[\w.:]+\s*;|use\s+[\w:\\]"
    r"|package\s+[\w.]+|require(?:_relative|_once)?\b|(?:const|let|var)\b.*\brequire\()"
)
_OPEN_IMPORT = re.compile(r"\s*(?:from\s+\S+\s+)?import\b[^)}]*[({]\s*$")
_LICENCE = re.compile(
    r"copyright\b|\blicen[cs]ed?\b.*\b(?:under|version|terms)\b|SPDX-|all rights reserved"
    r"|without warrant",
    re.IGNORECASE,
)

_REPEATED = 0.2  # of a word's weight, for each further line that has it
_MOST_REPEATS = 5
_DEFINED = 2.0  # times the weight of a name, on the line that defines it
_AT_DEFINITION = 1.15  # a cut that begins where a definition does reads better
_LEAD = 5  # of so many lines one stands before the first that tells something
_MARK = 1  # lines; leaving out no more than so many costs as much as showing them


@dataclass(frozen=True)  # without slots, for the order that is made once
class Reading:
    """A piece read for what its lines tell about a question, to be cut to any length.

    By line: ``told`` are the stems of the question that count there, ``bonus`` the weight of the
    definitions that begin there. ``weights`` are by stem; ``begins`` are the indexes of the lines
    where definitions begin, and ``typed`` that of one whose name was typed, with that of the line
    with the name, which decorators and comments may precede. ``given`` are those of the lines that
    the question gives by their numbers.
    """

    piece: Piece
    lines: Sequence[str]
    told: Sequence[set[str]]
    weights: Mapping[str, float]
    bonus: Sequence[float]
    begins: frozenset[int]
    typed: tuple[int, int] | None
    definitions: tuple[Definition, ...] = ()
    given: tuple[int, ...] = ()

    def cut(self, count: int) -> Piece:
        """At most ``count`` consecutive lines that tell most; all if there are no more.

        The lines are whole, without blank ones at the edges.
        """
        piece = self.piece
        if len(self.lines) <= count or count < 1:
            return piece
        if self.given:
            first = min(max(0, self.given[0] - count // 2), len(self.lines) - count)
        elif self.typed is None:
            first = _best_first(self, count)
        else:
            begin, named = self.typed
            first = begin if named < begin + count else named
        first, last = _trimmed(self.lines, first, count)
        text = "\n".join(self.lines[first:last])
        if not is_numbered(piece):
            return Piece(piece.path, piece.start, piece.end, text, piece.heading)
        return Piece(piece.path, piece.start + first, piece.start + last - 1, text, piece.heading)

    def excerpt(self, count: int) -> tuple[Piece, ...]:
        """The at most ``count`` lines that tell most, as pieces in the order of their lines.

        With the signature of the definition in which they stand, small definitions whole. Lines
        that the question gives, else the first ones of a definition that was asked for by name, are
        always among them.
        """
        if len(self.lines) <= count or count < 1:
            return (self.piece,)
        if not is_numbered(self.piece):
            return (self.cut(count),)
        wanted = count
        shown = _filled(self.order[:wanted])
        while len(shown) > count and wanted > 1:
            wanted -= 1
            shown = _filled(self.order[:wanted])
        return tuple(_pieces(self, shown))

    @cached_property
    def order(self) -> list[int]:
        """The indexes of all lines, those first that tell most, each with what explains it."""
        return list(by_worth(self))


def read(
    piece: Piece,
    asked: Iterable[str],
    definitions: Sequence[Definition] = (),
    given: Iterable[int] = (),
) -> Reading:
    """What the lines of a piece tell about a question, whose stems are ``asked``.

    Every cut is about the lines that the question gives by their numbers (``given``), else begins
    with a definition whose whole name was typed; otherwise words count by how few lines have them,
    once in full and a little for each further line. Lines of imports and licences do not count.
    """
    lines, wanted = piece.text.split("\n"), set(asked)
    found = [wanted.intersection(words(line)) for line in lines]
    is_empty = _empty(lines, found)
    told = [set() if empty else stems for stems, empty in zip(found, is_empty, strict=True)]
    if not any(told):
        told = found
    weights = _weights(told)
    bonus, begins, typed = [0.0] * len(lines), set(), []
    for definition in definitions:
        place = definition.start - piece.start
        if not 0 <= place < len(lines):
            continue
        begins.add(place)
        name = typed_name(definition, wanted)
        if name:
            after = range(place, min(len(lines), definition.end - piece.start + 1))
            named = next((index for index in after if name in found[index]), place)
            typed.append((weights.get(name, 0.0), -place, named))
        parts = set(words(definition.name))
        if parts <= wanted:
            bonus[place] += _DEFINED * sum(weights.get(part, 0.0) for part in sorted(parts))
    rarest = max(typed, default=None)
    start = None if rarest is None else (-rarest[1], rarest[2])
    inside = tuple(sorted(line - piece.start for line in given if piece.start <= line <= piece.end))
    return Reading(
        piece,
        lines,
        told,
        weights,
        bonus,
        frozenset(begins),
        start,
        tuple(definitions),
        inside if is_numbered(piece) else (),
    )


def typed_name(definition: Definition, asked: Iterable[str]) -> str:
    """The stem of a definition's whole name if the question has it, else an empty string.

    A name of one part (``status``, ``sha256``) is a word like others: it counts as typed when
    nothing else was.
    """
    stems, wanted = words(definition.name), set(asked)
    if not stems or stems[0] not in wanted:
        return ""
    parts = [stem for stem in stems[1:] if not stem.isdigit()]
    return stems[0] if len(parts) > 1 or wanted <= set(stems) else ""


def _best_first(reading: Reading, size: int) -> int:
    """The first line of the best window; among equals the one with a little before its words."""
    places = range(len(reading.lines) - size + 1)
    totals = list(accumulate(reading.bonus, initial=0.0))
    scores = [totals[place + size] - totals[place] for place in places]
    for stem, weight in reading.weights.items():
        seen = list(accumulate((stem in line for line in reading.told), initial=0))
        for place in places:
            times = seen[place + size] - seen[place]
            if times:
                scores[place] += weight * (1 + _REPEATED * min(times - 1, _MOST_REPEATS))
    telling = [index for index, line in enumerate(reading.told) if line]

    def rank(place: int) -> tuple[float, int, int]:
        score = scores[place] * (_AT_DEFINITION if place in reading.begins else 1.0)
        after = bisect_left(telling, place)
        lead = telling[after] - place if after < len(telling) else 0
        return round(score, 6), -abs(lead - size // _LEAD), -place

    return max(places, key=rank)


def _filled(chosen: Iterable[int]) -> list[int]:
    """The lines in their order, with those between them that a mark would not be shorter than."""
    lines: list[int] = []
    for index in sorted(chosen):
        if lines and index - lines[-1] - 1 <= _MARK:
            lines.extend(range(lines[-1] + 1, index))
        lines.append(index)
    return lines


def _pieces(reading: Reading, shown: Sequence[int]) -> Iterator[Piece]:
    """Consecutive lines as pieces without blank edges; those of nothing but blanks are left out."""
    piece, start = reading.piece, 0
    for place in range(1, len(shown) + 1):
        if place < len(shown) and shown[place] == shown[place - 1] + 1:
            continue
        first, last = _trimmed(reading.lines, shown[start], place - start)
        text = "\n".join(reading.lines[first:last])
        if text.strip() or start == 0 == len(shown) - place:
            yield Piece(
                piece.path, piece.start + first, piece.start + last - 1, text, piece.heading
            )
        start = place


def _weights(counted: Sequence[set[str]]) -> dict[str, float]:
    """By stem: 1 for a word of one line, less the more lines have it."""
    frequencies: dict[str, int] = {}
    for line in counted:
        for stem in line:
            frequencies[stem] = frequencies.get(stem, 0) + 1
    # Sorted, since sums of floats in the order of a set would differ between runs.
    return {stem: 1 / (1 + math.log(frequencies[stem])) for stem in sorted(frequencies)}


def _empty(lines: Sequence[str], found: Sequence[set[str]]) -> list[bool]:
    """Which lines are imports (over several lines too) or, if they tell anything, of a licence."""
    empty, inside = [], False
    for line, stems in zip(lines, found, strict=True):
        if inside:
            empty.append(True)
            inside = not re.match(r"\s*[)}]", line)
            continue
        inside = bool(_OPEN_IMPORT.match(line))
        empty.append(bool(_IMPORT.match(line) or (stems and _LICENCE.search(line))))
    return empty


def _trimmed(lines: Sequence[str], first: int, size: int) -> tuple[int, int]:
    """The range without blank lines at its edges; one line at least."""
    last = min(first + size, len(lines))
    while last - first > 1 and not lines[first].strip():
        first += 1
    while last - first > 1 and not lines[last - 1].strip():
        last -= 1
    return first, last
