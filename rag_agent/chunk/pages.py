"""Documents with pages: Markdown whose chunks begin and end with pages, unless pages are tiny."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from rag_agent.chunk import markdown
from rag_agent.chunk.outline import WALL, Outline
from rag_agent.types import Document

_TINY = 300  # characters: a title page, a page with a figure


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """Sections inside of pages; the heading names the page first: ``page 3 > Methods > Data``."""
    found = markdown.outline(document, lines)
    costs = list(found.costs)
    headings = dict(found.sections)
    starts = [line for line, _ in found.sections]
    sections: list[tuple[int, str]] = []
    for first, last, start in _groups(document.pages, lines):
        start = _with_heading(start, lines, headings)
        costs[start] = WALL
        name = f"page {first}" if first == last else f"pages {first}-{last}"
        position = bisect_right(starts, start) - 1
        inherited = found.sections[position][1] if position >= 0 else ""
        sections.append((start, _joined(name, inherited)))
    pages = [line for line, _ in sections]
    names = [heading.partition(" > ")[0] for _, heading in sections]
    for line, heading in found.sections:
        page = bisect_right(pages, line) - 1
        if page >= 0 and line not in pages:
            sections.append((line, _joined(names[page], heading)))
    return replace(found, costs=costs, sections=sorted(sections))


def _joined(page: str, heading: str) -> str:
    return f"{page} > {heading}" if heading else page


def _with_heading(start: int, lines: Sequence[str], headings: dict[int, str]) -> int:
    """The line from 0 at which a page begins, or the headings at the end of the one before.

    What they are about stands on this page.
    """
    line = start
    while line > 0 and (line - 1 in headings or not lines[line - 1].strip()):
        line -= 1
    while line < start and not lines[line].strip():
        line += 1
    return line


def _groups(pages: Sequence[int], lines: Sequence[str]) -> list[tuple[int, int, int]]:
    """(first page, last page, line from 0): tiny pages go with the page after them."""
    groups = []
    first = 1
    start = 0
    for number in range(1, len(pages) + 1):
        following = pages[number] - 1 if number < len(pages) else len(lines)
        if sum(map(len, lines[start:following])) >= _TINY or number == len(pages):
            if start < len(lines):
                groups.append((first, number, start))
            first, start = number + 1, following
    return groups
