"""Running heads, running feet and page numbers: what comes again page after page at its edges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from heapq import nlargest, nsmallest

from rag_agent.extract.layout.lines import Line, lines_of
from rag_agent.extract.layout.sheet import Run, Sheet

_RUNS = 10  # of each edge that are looked at
_LINES = 3  # of each edge
_ZONE = 0.2  # of the page's height: no edge reaches further in
_AGAIN = 3  # pages from which on a line is one of all pages
_APART = 1.8  # sizes; lines of a text are closer
_PLACE = 8.0  # points; lines that come again stand as high
_LARGE = 1.25  # of the size of the text: titles of slides come again, too, and are kept

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]+")
_PAGE_NUMBER = re.compile(
    r"[^\w#]*(?:page|seite|pagina|página|p)?\W*#(?:\W*(?:of|von|de|sur)?\W*#)?\W*"
)
_FIRST_NUMBER = re.compile(r"(\d{1,4})\b")
_LAST_NUMBER = re.compile(r"\b(\d{1,4})\W*$")


@dataclass(frozen=True, slots=True)
class _Edge:
    """A line near the top or the bottom of a page. ``outer``: no other lies further out.

    ``apart``: there is more room to the next line than between lines.
    """

    line: Line
    top: bool
    key: str
    place: int
    outer: bool
    apart: bool


def without_furniture(sheets: Sequence[Sheet], body: float) -> list[list[Run]]:
    """The runs of each page without what is part of every page; ``body`` is the text's size."""
    edges = [_edges(sheet) for sheet in sheets]
    seen = Counter((edge.key, edge.place) for page in edges for edge in page)
    offsets = Counter(
        offset
        for number, page in enumerate(edges)
        for offset in {n - number for edge in page if edge.outer for n in _numbers(edge.line)}
    )
    counted = {offset for offset, count in offsets.items() if count >= _AGAIN}
    kept = []
    for number, (sheet, page) in enumerate(zip(sheets, edges, strict=True)):
        dropped: set[int] = set()
        ended: set[bool] = set()  # at which edge something was kept
        for edge in page:
            fits = edge.line.font.size <= _LARGE * body or edge.key == "#"
            if edge.top in ended or not (
                fits and (_again(edge, seen) or _has_number(edge, number, counted))
            ):
                ended.add(edge.top)
                continue
            dropped.update(id(run) for run in edge.line.runs)
        kept.append([run for run in sheet.runs if id(run) not in dropped])
    return kept


def _edges(sheet: Sheet) -> list[_Edge]:
    """The uppermost and the lowermost lines of a page, each from the edge inwards."""
    top = lines_of(nsmallest(_RUNS, sheet.runs, key=_base))
    bottom = lines_of(nlargest(_RUNS, sheet.runs, key=_base))[::-1]
    found = []
    for lines, reach in ((top, _ZONE * sheet.height), (bottom, (1 - _ZONE) * sheet.height)):
        for place, line in enumerate(lines[:_LINES]):
            if (line.base > reach) is (lines is top):
                break
            further = lines[place + 1].base if place + 1 < len(lines) else reach
            apart = abs(further - line.base) > _APART * line.font.size
            key = _key(line.text)
            found.append(_Edge(line, lines is top, key, int(line.base / _PLACE), place == 0, apart))
    return found


def _again(edge: _Edge, seen: Counter[tuple[str, int]]) -> bool:
    """Whether the line stands on other pages, too: thrice, or twice where it is clear of the text.

    On left and right pages of a short paper the heads differ.
    """
    count = sum(seen[edge.key, edge.place + step] for step in (-1, 0, 1))
    return count >= _AGAIN or (count == _AGAIN - 1 and edge.outer and edge.apart)


def _has_number(edge: _Edge, page: int, counted: Set[int]) -> bool:
    """Whether the line is at the very edge and carries the number of its page."""
    if not edge.outer:
        return False
    numbers = _numbers(edge.line)
    if _PAGE_NUMBER.fullmatch(edge.key):
        # Most pages are counted from 1, and a document of one page may show it as well.
        return bool(_ROMAN.fullmatch(edge.line.text)) or any(
            number - page in counted | {1} for number in numbers
        )
    # With a text beside it the number must be one that counts the pages of this document.
    return len(edge.line.runs) > 1 and any(number - page in counted for number in numbers)


def _numbers(line: Line) -> set[int]:
    """A number at the beginning or at the end of a line."""
    found = (
        _FIRST_NUMBER.match(line.text.lstrip(" -\u2013\u2014[(")),
        _LAST_NUMBER.search(line.text),
    )
    return {int(match[1]) for match in found if match}


def _key(text: str) -> str:
    """A line without regard to case, blanks and numbers."""
    flat = "".join(text.split()).lower()
    return "#" if _ROMAN.fullmatch(flat) else _NUMBER.sub("#", flat)


def _base(run: Run) -> float:
    return run.base
