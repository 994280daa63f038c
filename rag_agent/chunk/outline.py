"""What a way of cutting says about a document: where to cut it, what its parts are called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_agent.types import Definition

WALL = float("-inf")
"""A boundary that is always cut, such as a page that begins."""
INSIDE = 1.0
"""A boundary in the middle of something, such as of a sentence."""
NEVER = 9.0
"""A boundary that is cut only where nothing else is left, such as before a blank line."""

_HEADING_CHARACTERS = 200  # headings go into the embedded text, whose window is 256 word pieces


@dataclass(frozen=True, slots=True)
class Shape:
    """How large pieces should be (``lines``, ``characters``) and how large they may become.

    A line of more than ``most_characters`` is itself cut into parts of about ``characters``. The
    passages inside of a piece have ``passage`` characters and at most ``most_of_passage``.
    """

    lines: int
    characters: int
    most_lines: int
    most_characters: int
    passage: int = 750  # RANKING.md, 11
    most_of_passage: int = 1_100


# 50 lines as pi-local-rag's chunkText, so that both index alike; a fifth more when that keeps a
# definition whole. 4000 characters: 50 lines of 80 columns.
CODE = Shape(lines=50, characters=4000, most_lines=60, most_characters=6000)
# The model's window of 256 word pieces holds about 1000 characters of English: two windows. Smaller
# chunks answer worse: a line of the first five chunks of this size answers 0.980 of 254 questions
# about five long documents, one of chunks of 1,100 and at most 1,600 characters 0.953. That is the
# size of passages: with those of code, of 750, chunks of this size answer 0.965.
PROSE = Shape(
    lines=50,
    characters=2000,
    most_lines=60,
    most_characters=3000,
    passage=1_100,
    most_of_passage=1_600,
)
DATA = Shape(lines=50, characters=3000, most_lines=60, most_characters=6000)


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a document of n lines.

    ``costs`` has n entries: what it costs to cut before that line, from 0 (a part begins) through
    1 (in the middle of something) to NEVER; WALL forces a cut. A full piece is worth 1, so a cut
    is moved forward as long as it becomes cheaper by more than the room that it wastes.
    ``sections`` are (line, heading), sorted, lines from 0: the heading holds until the next one.
    ``definitions`` are sorted by their start.
    """

    costs: Sequence[float]
    shape: Shape
    sections: Sequence[tuple[int, str]] = ()
    definitions: Sequence[Definition] = ()

    def heading(self, start: int, end: int) -> str:
        """The heading in force at line ``start``; if there is none, the first before ``end``."""
        position = bisect_right(self.sections, start, key=_line) - 1
        if position >= 0 and self.sections[position][1]:
            return shorten(self.sections[position][1])
        for line, heading in self.sections[position + 1 :]:
            if line >= end:
                break
            if heading:
                return shorten(heading)
        return ""


def apart(outline: Outline, ranges: Sequence[tuple[int, int]]) -> Outline:
    """The outline with walls around these ranges of lines, from 1 and both ends included."""
    costs = list(outline.costs)
    for start, end in ranges:
        for line in (start - 1, end):
            if line < len(costs):
                costs[line] = WALL
    return replace(outline, costs=costs)


def shorten(heading: str) -> str:
    """The heading on one line, with its end kept when it is long: the end is the most specific."""
    flat = " ".join(heading.split())
    if len(flat) <= _HEADING_CHARACTERS:
        return flat
    return "…" + flat[-(_HEADING_CHARACTERS - 1) :]


def _line(section: tuple[int, str]) -> int:
    return section[0]
