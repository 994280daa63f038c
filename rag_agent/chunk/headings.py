"""Headings of the light markup languages: one function a language, each ``(lines) -> headings``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading on the lines ``start`` to ``end`` (from 0, half open); level 1 is the highest."""

    start: int
    end: int
    level: int
    title: str


Finder = Callable[[Sequence[str], Sequence[bool]], Iterator[Heading]]
"""Takes the lines and, for each, whether it is literal (code or front matter, never a heading)."""

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|#]|\d{1,9}[.)])(?:\s|$)|\s{4,}|\s*$")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*$")
_ASCIIDOC = re.compile(r"(={1,6})[ \t]+(\S.*?)(?:[ \t]+=+)?\s*$")
_ORG = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(\S.*?)(?:[ \t]+:[\w@:]+:)?\s*$")
_LATEX = re.compile(
    r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{(.*)\}"
)
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")


def markdown(lines: Sequence[str], literal: Sequence[bool]) -> Iterator[Heading]:
    """``# ATX`` and underlined headings (CommonMark 4.2 and 4.3)."""
    for index, line in enumerate(lines):
        if literal[index]:
            continue
        if atx := _ATX.match(line):
            yield Heading(index, index + 1, len(atx[1]), (atx[2] or "").strip())
        elif (
            index
            and not literal[index - 1]
            and (underline := _SETEXT.match(line))
            and not _NO_PARAGRAPH.match(lines[index - 1])
            and not _SETEXT.match(lines[index - 1])
        ):
            level = 1 if underline[1][0] == "=" else 2
            yield Heading(index - 1, index + 1, level, lines[index - 1].strip())


def restructuredtext(lines: Sequence[str], literal: Sequence[bool]) -> Iterator[Heading]:
    """Underlined titles; the order in which adornments appear gives their level."""
    levels: dict[tuple[str, bool], int] = {}
    for index in range(1, len(lines)):
        title, underline = lines[index - 1], _ADORNMENT.match(lines[index])
        if (
            underline is None
            or not title.strip()
            or _ADORNMENT.match(title)
            or literal[index]
            or len(lines[index].rstrip()) < len(title.strip())
        ):
            continue
        over = index >= 2 and lines[index - 2].rstrip() == lines[index].rstrip()
        if not over and (title[0].isspace() or (index >= 2 and lines[index - 2].strip())):
            continue
        level = levels.setdefault((underline[1], over), len(levels) + 1)
        yield Heading(index - 2 if over else index - 1, index + 1, level, title.strip())


def _marked(pattern: re.Pattern[str]) -> Finder:
    def find(lines: Sequence[str], literal: Sequence[bool]) -> Iterator[Heading]:
        for index, line in enumerate(lines):
            if not literal[index] and (found := pattern.match(line)):
                yield Heading(index, index + 1, len(found[1]), found[2].strip())

    return find


def latex(lines: Sequence[str], literal: Sequence[bool]) -> Iterator[Heading]:
    r"""``\section{…}`` and its relatives."""
    for index, line in enumerate(lines):
        if not literal[index] and (found := _LATEX.match(line)):
            yield Heading(index, index + 1, _LATEX_LEVELS.index(found[1]) + 1, found[2].strip())


def none(lines: Sequence[str], literal: Sequence[bool]) -> Iterator[Heading]:
    """Plain text has paragraphs only."""
    return iter(())


FINDERS: Mapping[str, Finder] = {
    "markdown": markdown,
    "mdx": markdown,
    "rst": restructuredtext,
    "restructuredtext": restructuredtext,
    "asciidoc": _marked(_ASCIIDOC),
    "org": _marked(_ORG),
    "latex": latex,
    "tex": latex,
    "text": none,
}
"""The name of a language -> how its headings are found; add a markup language as a row."""
