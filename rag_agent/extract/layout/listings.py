"""Lines that are found by words only: references, contents, and tables of nothing but numbers.

A vector of them is near to every question about the subject and answers none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HEADING = re.compile(r"(#{1,6}) (?:(?:\d+|[IVX]+|[A-Z])\.? )?(.*?)[.:]?$")
_REFERENCES = re.compile(
    r"(?:references|bibliography|literature(?: cited)?|works cited|literatur(?:verzeichnis)?|"
    r"quellen(?:verzeichnis)?|références|bibliographie|referencias|bibliografía|参考文献|参考资料)",
    re.IGNORECASE,
)
_CONTENTS = re.compile(
    r"(?:(?:table of )?contents|list of (?:figures|tables)|inhalt(?:sverzeichnis)?|index|"
    r"table des matières|índice(?: general)?|目录|目次)",
    re.IGNORECASE,
)
# How an entry begins, or a year in it.
_ENTRY = re.compile(r"\[[^\]]{1,12}\]|\d{1,3}\.\s|.*\b(?:19|20)\d\d[a-z]?\b|.*\b(?:doi|https?)[:/]")
_TO_PAGE = re.compile(r".*(?:…|\s\.|\|)?\s*(?:\d{1,4}|[ivxlc]{1,6})(?:\s\|)?$")
_LEADERS = re.compile(r".*\s…\s(?:\d{1,4}|[ivxlc]{1,6})$")
_SHARE = 0.2  # of the lines below a heading that must look like entries: most entries take four
_FEW = 3


def listings(lines: Sequence[str], tables: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of lines, counted from 1 with both ends, sorted and apart from each other.

    ``tables`` are the ranges of tables of numbers, half open and counted from 0.
    """
    ranges = sorted([*tables, *_sections(lines), *_dotted(lines)])
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        while start < end and not lines[start].strip():
            start += 1
        while start < end and not lines[end - 1].strip():
            end -= 1
        if start >= end:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return [(start + 1, end) for start, end in merged]


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """What stands below a heading that says so; the heading goes along."""
    found = [
        (index, len(match[1]), match[2])
        for index, line in enumerate(lines)
        if line.startswith("#") and (match := _HEADING.match(line))
    ]
    for place, (start, level, title) in enumerate(found):
        references = _REFERENCES.fullmatch(title)
        if not references and not _CONTENTS.fullmatch(title):
            continue
        pattern = _ENTRY if references else _TO_PAGE
        end = next((index for index, other, _ in found[place + 1 :] if other <= level), len(lines))
        body = [line for line in lines[start + 1 : end] if line.strip()]
        entries = sum(bool(pattern.match(line)) for line in body)
        if len(body) >= _FEW and entries >= _SHARE * len(body):
            yield start, end


def _dotted(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines with dots before a page number, wherever they stand."""
    start, count = 0, 0
    for index, line in enumerate([*lines, "-"]):
        if _LEADERS.match(line):
            start, count = (index, 1) if not count else (start, count + 1)
        elif count and line.strip():
            if count >= _FEW:
                yield start, index
            count = 0
