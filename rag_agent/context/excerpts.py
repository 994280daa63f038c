"""Which lines of a passage to show when there is no room for all of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

from rag_agent.context.lines import Piece, is_numbered
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


def excerpt(
    piece: Piece, asked: Iterable[str], count: int, definitions: Sequence[Definition] = ()
) -> Piece:
    """At most ``count`` consecutive lines that tell most about the question; all if no more.

    ``asked`` are stems. The lines are whole, without blank ones at the edges.
    """
    lines = piece.text.split("\n")
    if len(lines) <= count or count < 1:
        return piece
    first, last = window(lines, set(asked), count, definitions, piece.start)
    text = "\n".join(lines[first:last])
    if not is_numbered(piece):
        return Piece(piece.path, piece.start, piece.end, text, piece.heading)
    return Piece(piece.path, piece.start + first, piece.start + last - 1, text, piece.heading)


def window(
    lines: Sequence[str],
    asked: set[str],
    count: int,
    definitions: Sequence[Definition] = (),
    start: int = 1,
) -> tuple[int, int]:
    """Where the ``count`` most telling lines lie: indexes, half open, no blank lines at the edges.

    ``start`` is the number of the first line, from which ``definitions`` count. A definition whose
    whole name was typed begins the window; otherwise words count by how few lines have them, once
    in full and a little for each further line; lines of imports and licences do not count.
    """
    if not lines:
        return 0, 0
    size = min(count, len(lines))
    found = [asked.intersection(words(line)) for line in lines]
    counted = [set() if empty else stems for stems, empty in zip(found, _empty(lines), strict=True)]
    if not any(counted):
        counted = found
    weights = _weights(counted)
    begins = [(d.start - start, d) for d in definitions if 0 <= d.start - start < len(lines)]
    typed = [
        (weights.get(name, 0.0), -begin, begin)
        for begin, definition in begins
        if (name := typed_name(definition, asked))
    ]
    if typed:
        return _trimmed(lines, max(typed)[2], size)
    bonus = [0.0] * len(lines)
    for begin, definition in begins:
        parts = set(words(definition.name))
        if parts <= asked:
            bonus[begin] += _DEFINED * sum(weights.get(part, 0.0) for part in parts)
    first = _best_first(counted, weights, bonus, {begin for begin, _ in begins}, size)
    return _trimmed(lines, first, size)


def typed_name(definition: Definition, asked: Iterable[str]) -> str:
    """The stem of a definition's whole name if the question has it, else an empty string.

    A name of one part is a word like others: it counts as typed when nothing else was.
    """
    stems = words(definition.name)
    wanted = set(asked)
    if not stems or stems[0] not in wanted:
        return ""
    return stems[0] if len(stems) > 1 or len(wanted) == 1 else ""


def _best_first(
    counted: Sequence[set[str]],
    weights: dict[str, float],
    bonus: Sequence[float],
    begins: set[int],
    size: int,
) -> int:
    """The first line of the best window; among equals the one with a little before its words."""
    places = range(len(counted) - size + 1)
    totals = list(accumulate(bonus, initial=0.0))
    scores = [totals[place + size] - totals[place] for place in places]
    for stem, weight in weights.items():
        seen = list(accumulate((stem in line for line in counted), initial=0))
        for place in places:
            times = seen[place + size] - seen[place]
            if times:
                scores[place] += weight * (1 + _REPEATED * min(times - 1, _MOST_REPEATS))
    telling = [index for index, line in enumerate(counted) if line]

    def rank(place: int) -> tuple[float, int, int]:
        score = scores[place] * (_AT_DEFINITION if place in begins else 1.0)
        lead = next((index - place for index in telling if index >= place), 0)
        return round(score, 6), -abs(lead - size // _LEAD), -place

    return max(places, key=rank)


def _weights(counted: Sequence[set[str]]) -> dict[str, float]:
    """By stem: 1 for a word of one line, less the more lines have it."""
    frequencies: dict[str, int] = {}
    for line in counted:
        for stem in line:
            frequencies[stem] = frequencies.get(stem, 0) + 1
    # Sorted, since sums of floats in the order of a set would differ between runs.
    return {stem: 1 / (1 + math.log(frequencies[stem])) for stem in sorted(frequencies)}


def _empty(lines: Sequence[str]) -> list[bool]:
    """Which lines are imports (over several lines too) or belong to a licence."""
    empty, inside = [], False
    for line in lines:
        if inside:
            empty.append(True)
            inside = not re.match(r"\s*[)}]", line)
            continue
        inside = bool(_OPEN_IMPORT.match(line))
        empty.append(bool(_IMPORT.match(line) or _LICENCE.search(line)))
    return empty


def _trimmed(lines: Sequence[str], first: int, size: int) -> tuple[int, int]:
    """The range without blank lines at its edges; one line at least."""
    last = min(first + size, len(lines))
    while last - first > 1 and not lines[first].strip():
        first += 1
    while last - first > 1 and not lines[last - 1].strip():
        last -= 1
    return first, last
