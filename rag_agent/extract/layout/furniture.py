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
# Of the page's height. Of 300 manuals, papers and slides all heads lie above the first, all feet
# below the second, and what comes again between them is text.
_HEAD, _FOOT = 0.155, 0.81
_LETTERS = 3  # of a head or foot that is no page number
_AGAIN = 3  # pages from which on a line is one of all pages
_APART = 1.8  # sizes; lines of a text are closer
_PLACE = 8.0  # points; lines that come again stand as high
_LARGE = 1.12  # of the size of the text: titles of slides come again, too, and are kept

_NUMBER = re.compile(r"(?<!\d)\d{1,5}(?!\d)")
_ROMAN = re.compile(r"[ivxlc]+")
_PAGE = "page|seite|pagina|página|strona|p"
_PAGE_NUMBER = re.compile(rf"[^\w#]*(?:{_PAGE})?\W*#(?:\W*(?:of|von|de|sur)?\W*[#\d]+)?\W*")
_FIRST_NUMBER = re.compile(rf"(?:{_PAGE})?\W*(\d{{1,4}})\b", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"\b(\d{1,4})\W*$")


@dataclass(frozen=True, slots=True)
class _Edge:
    """A line near the top or the bottom of a page.

    ``outer``: no other lies further out. ``apart``: there is more room to the next line than
    between lines. ``place`` is the height on the page, coarsely.
    """

    line: Line
    top: bool
    place: int
    outer: bool
    apart: bool


_Seen = Counter[tuple[str, int]]
"""How often a line stands at a place."""


def without_furniture(sheets: Sequence[Sheet], body: float) -> list[list[Run]]:
    """The runs of each page without what is part of every page; ``body`` is the text's size.

    What stands on the first page as on the others is kept there: the head of a letter.
    """
    edges = [_edges(sheet) for sheet in sheets]
    counted = _offsets(edges)
    keys = [
        [_key(edge.line.text, page, counted) for edge in found] for page, found in enumerate(edges)
    ]
    seen: _Seen = Counter(
        (key, edge.place)
        for names, found in zip(keys, edges, strict=True)
        for key, edge in zip(names, found, strict=True)
    )
    kept = []
    for page, sheet in enumerate(sheets):
        dropped: set[int] = set()
        ended: set[bool] = set()  # at which edge something was kept
        for key, edge in zip(keys[page], edges[page], strict=True):
            if edge.top not in ended and _is_furniture(edge, key, page, seen, counted, body):
                dropped.update(id(run) for run in edge.line.runs)
            else:
                ended.add(edge.top)
        kept.append([run for run in sheet.runs if id(run) not in dropped])
    return kept


def _edges(sheet: Sheet) -> list[_Edge]:
    """The uppermost and the lowermost lines of a page, each from the edge inwards."""
    top = lines_of(nsmallest(_RUNS, sheet.runs, key=_base))
    bottom = lines_of(nlargest(_RUNS, sheet.runs, key=_base))[::-1]
    found = []
    for lines, reach in ((top, _HEAD * sheet.height), (bottom, _FOOT * sheet.height)):
        for number, line in enumerate(lines[:_LINES]):
            if (line.base > reach) is (lines is top):
                break
            further = lines[number + 1].base if number + 1 < len(lines) else reach
            apart = abs(further - line.base) > _APART * line.font.size
            place = int(line.base / _PLACE)
            found.append(_Edge(line, lines is top, place, number == 0, apart))
    return found


def _offsets(edges: Sequence[Sequence[_Edge]]) -> Set[int]:
    """What is to be added to the place of a page, from 0, for the numbers at its edges."""
    offsets = Counter(
        offset
        for page, found in enumerate(edges)
        for offset in {n - page for edge in found if edge.outer for n in _numbers(edge.line.text)}
    )
    least = _AGAIN if len(edges) >= 2 * _AGAIN else _AGAIN - 1
    return {offset for offset, count in offsets.items() if count >= least}


def _is_furniture(
    edge: _Edge, key: str, page: int, seen: _Seen, counted: Set[int], body: float
) -> bool:
    if _PAGE_NUMBER.fullmatch(key):
        # Most pages are counted from 1, and a document of one page may show it as well.
        right = any(n - page in counted | {1} for n in _numbers(edge.line.text))
        return edge.outer and (right or bool(_ROMAN.fullmatch(edge.line.text.strip().lower())))
    if edge.line.font.size > _LARGE * body or page == 0:
        return False
    if sum(map(str.isalpha, key)) < _LETTERS:  # a bracket of a listing
        return False
    count = sum(seen[key, edge.place + step] for step in (-1, 0, 1))
    # Thrice, or twice where it is clear of the text: the heads of left and right pages differ.
    if count >= _AGAIN or (count == _AGAIN - 1 and edge.outer and edge.apart):
        return True
    # The head of a short chapter, with the number of the page beside it.
    return edge.outer and edge.apart and len(edge.line.runs) > 1 and "#" in key


def _numbers(text: str) -> set[int]:
    """A number at the beginning or at the end of a line."""
    found = (_FIRST_NUMBER.match(text), _LAST_NUMBER.search(text))
    return {int(match[1]) for match in found if match}


def _key(text: str, page: int, counted: Set[int]) -> str:
    """A line without regard to case and blanks, with # for the number of its page.

    Other numbers stay: of forms and invoices each has its own at the top.
    """
    flat = "".join(text.split()).lower()
    if _ROMAN.fullmatch(flat):
        return "#"

    def number(match: re.Match[str]) -> str:
        return "#" if int(match[0]) - page in counted or int(match[0]) == page + 1 else match[0]

    return _NUMBER.sub(number, flat)


def _base(run: Run) -> float:
    return run.base
