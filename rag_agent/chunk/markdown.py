"""Prose: cut at headings, then paragraphs, then sentences; code blocks stay whole if they fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from rag_agent.chunk.headings import FINDERS, Heading
from rag_agent.chunk.outline import INSIDE, NEVER, PROSE, Outline
from rag_agent.chunk.sentences import sentence_starts
from rag_agent.types import Document

_LEVEL = 0.05  # a level down: 0 before a first-level heading, 0.25 before a sixth-level one
_PARAGRAPH = 0.45
_ITEM = 0.6
_SENTENCE = 0.85
_ROW = 0.99  # of a table
_LINE = INSIDE
_CODE = 1.2
_CODE_AFTER_BLANK = 1.05
_BELOW_HEADING = 2.0

# Characters above the first heading that belong to it: a label, badges, a line of front matter.
_SHORT_PREAMBLE = 200
_LOOK = 300  # characters of a line that are looked at
_FENCE = re.compile(r"[ >]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})([^\n]*)$")
_ITEM_START = re.compile(r"\s*(?:[-*+•]|\d{1,9}[.)])\s")
_FRONT_MATTER = {"---": ("---", "..."), "+++": ("+++",)}


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """Headings are found by the document's language; conversions are Markdown."""
    language = "markdown" if document.converted else document.language
    # Beginnings decide; a pattern on a line of megabytes would be slow.
    beginnings = [line[:_LOOK] for line in lines]
    find = FINDERS.get(language, FINDERS["text"])
    literal = _literal_lines(beginnings, fences=find is FINDERS["markdown"])
    headings = list(find(beginnings, literal))
    costs = paragraph_costs(lines, literal)
    for heading in headings:
        for line in range(heading.start + 1, min(heading.end + 1, len(lines))):
            costs[line] = _BELOW_HEADING
        _keep_with_next(costs, lines, heading.end)
    for heading in headings:
        costs[heading.start] = min(heading.level - 1, 5) * _LEVEL
    if headings and 0 < sum(map(len, lines[: headings[0].start])) < _SHORT_PREAMBLE:
        costs[headings[0].start] = _BELOW_HEADING
    return Outline(costs=costs, shape=PROSE, sections=_sections(headings, lines))


def paragraph_costs(lines: Sequence[str], literal: Sequence[bool]) -> list[float]:
    """Cheap where paragraphs begin; inside them cheaper after the end of a sentence."""
    costs: list[float] = []
    begins = _sentence_lines(lines, literal)
    previous = ""
    for index, line in enumerate(lines):
        inside = literal[index] and index > 0 and literal[index - 1]
        if not line.strip():
            costs.append(NEVER)
        elif inside:
            costs.append(_CODE if previous.strip() else _CODE_AFTER_BLANK)
        elif literal[index]:
            costs.append(_ITEM)  # a code block stays with the paragraph that introduces it
        elif not previous.strip():
            costs.append(_PARAGRAPH if not line.startswith((" ", "\t")) else _ITEM)
        elif _ITEM_START.match(line):
            costs.append(_ITEM)
        elif index in begins:
            costs.append(_SENTENCE)
        else:
            costs.append(_ROW if line.startswith("|") else _LINE)
        previous = line
    return costs


def _sentence_lines(lines: Sequence[str], literal: Sequence[bool]) -> set[int]:
    """Lines inside of paragraphs with which a sentence begins."""
    found: set[int] = set()
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].strip() and not literal[end]:
            end += 1
        if end - start > 1:
            offsets = accumulate((len(line) + 1 for line in lines[start:end]), initial=0)
            starts = set(sentence_starts("\n".join(lines[start:end])))
            found.update(
                start + n
                for n, (line, offset) in enumerate(zip(lines[start:end], offsets, strict=False))
                if offset + len(line) - len(line.lstrip()) in starts
            )
        start = max(end, start + 1)
    return found


def _keep_with_next(costs: list[float], lines: Sequence[str], line: int) -> None:
    """A heading is never cut off from the first text below it, past the blank lines between."""
    while line < len(lines) and not lines[line].strip():
        line += 1
    if line < len(lines):
        costs[line] = _BELOW_HEADING


def _literal_lines(lines: Sequence[str], *, fences: bool) -> list[bool]:
    """Which lines lie in front matter or, where there are any, in a fenced block."""
    literal = [False] * len(lines)
    start = _front_matter_end(lines)
    literal[:start] = [True] * start
    fence = ""
    for index in range(start, len(lines) if fences else 0):
        found = _FENCE.match(lines[index])
        if fence:
            literal[index] = True
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and "`" not in found[2]:
            literal[index] = True
            fence = found[1]
    return literal


def _front_matter_end(lines: Sequence[str]) -> int:
    """The number of lines of YAML or TOML front matter, 0 if there is none."""
    closings = _FRONT_MATTER.get(lines[0].rstrip()) if lines else None
    if closings:
        for index in range(1, len(lines)):
            if lines[index].rstrip() in closings:
                return index + 1
    return 0


def _sections(headings: Sequence[Heading], lines: Sequence[str]) -> list[tuple[int, str]]:
    """(line, ``Guide > Install``) for each heading.

    A heading without text of its own takes the path of the deeper one that follows, because that
    is what a chunk that begins there is about.
    """
    paths: list[str] = []
    open_headings: list[Heading] = []
    for heading in headings:
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        open_headings.append(heading)
        paths.append(" > ".join(parent.title for parent in open_headings if parent.title))
    for index in range(len(headings) - 2, -1, -1):
        heading, following = headings[index], headings[index + 1]
        body = lines[heading.end : following.start]
        if following.level > heading.level and not any(line.strip() for line in body):
            paths[index] = paths[index + 1]
    return [(heading.start, path) for heading, path in zip(headings, paths, strict=True)]
