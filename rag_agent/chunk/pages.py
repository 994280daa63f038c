"""Documents with pages: chunks begin and end with pages, unless pages are tiny."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.chunk.markdown import paragraph_costs
from rag_agent.chunk.outline import PROSE, WALL, Outline
from rag_agent.types import Document

_TINY = 300  # characters: a title page, a page with a figure


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """Paragraphs inside of pages; the heading names the pages."""
    costs = paragraph_costs(lines, [False] * len(lines))
    sections = []
    for first, last, start in _groups(document.pages, lines):
        costs[start] = WALL
        sections.append((start, f"page {first}" if first == last else f"pages {first}-{last}"))
    return Outline(costs=costs, shape=PROSE, sections=sections)


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
