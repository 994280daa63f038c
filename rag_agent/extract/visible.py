"""The lines of Markdown that a reader sees as text: no code, no comments.

Written by hand and not left to a CommonMark parser: neither ``[[links]]`` nor ``%%comments%%`` nor
``#tags`` are CommonMark, so that most of this would be needed all the same, and of 6,289 notes
markdown-it-py takes 10.7 s where this takes 1.5 with links and tags. The tests hold it against that
parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
# A fence inside a list item or a quotation.
_NESTED_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+|$)")
_MARK = re.compile(r"\\.|`+|%%|<!--")
_RUN = re.compile("`+")
_ESCAPED = frozenset("[`#%<")
# What CommonMark calls an HTML block of the first kind: nothing in it is Markdown.
_RAW = re.compile(r" {0,3}<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_CODE_INDENT = 4  # columns, as in CommonMark
_TAB = 4


def visible_lines(text: str, skip: int = 0) -> Iterator[tuple[int, str, str]]:
    """(number, line, the same with its code and comments blanked) after ``skip`` lines.

    Lines in fenced and indented code and in comments of several lines are left out. Escaped marks
    are blanked, too; places stay as they are.
    """
    fence, comment, raw = "", "", False
    blocks = _Indentation()
    for number, line in enumerate(text.split("\n"), start=1):
        if number <= skip:
            continue
        if fence:
            closing = _closing(line) if "`" in line or "~" in line else ""
            fence = "" if closing.startswith(fence) else fence
            continue
        if raw or (_RAW.match(line) if "<" in line else None):
            raw = _RAW_END.search(line) is None
            continue
        if comment:
            end = line.find(comment)
            if end < 0:
                continue
            line = " " * (end + len(comment)) + line[end + len(comment) :]
            comment = ""
        opening = _NESTED_FENCE.match(line) if "```" in line or "~~~" in line else None
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence = opening[1]
            blocks.see(line)
            continue
        if blocks.see(line):
            continue
        seen, comment = (
            _blanked(line)
            if "`" in line or "%" in line or "<" in line or ("\\" in line)
            else (line, "")
        )
        yield number, line, seen


def _closing(line: str) -> str:
    """The fence, if the line is nothing else."""
    found = _FENCE.match(line.lstrip(" \t>"))
    return found[1] if found and not found[2].strip() else ""


class _Indentation:
    """Tells lines of indented code from those that only continue a list item."""

    def __init__(self) -> None:
        self._items: list[int] = []  # columns at which the text of the open list items begins
        self._after_blank = True
        self._in_code = False

    def see(self, line: str) -> bool:
        """Whether this line, the next one of the document, is code."""
        if not line.strip():
            self._after_blank = True
            return self._in_code
        column = _width(line[: len(line) - len(line.lstrip(" \t"))])
        if self._after_blank:
            while self._items and column < self._items[-1]:
                self._items.pop()
        base = self._items[-1] if self._items else 0
        is_code = (self._after_blank or self._in_code) and column >= base + _CODE_INDENT
        self._in_code, self._after_blank = is_code, False
        if not is_code:
            item = _ITEM.match(line)
            if item:
                self._open(column, item)
        return is_code

    def _open(self, column: int, item: re.Match[str]) -> None:
        while self._items and column < self._items[-1]:
            self._items.pop()
        space = _width(item[3])
        # Text five or more columns behind the mark is code in the item, which begins at once.
        self._items.append(column + len(item[2]) + (space if 1 <= space <= _CODE_INDENT else 1))


def _width(space: str) -> int:
    return len(space.expandtabs(_TAB))


def _blanked(line: str) -> tuple[str, str]:
    """The line without code spans and comments, and what ends a comment that goes on below."""
    runs: dict[int, list[int]] = {}
    for run in _RUN.finditer(line):
        runs.setdefault(len(run[0]), []).append(run.start())
    parts: list[str] = []
    place = 0
    while found := _MARK.search(line, place):
        mark, begin = found[0], found.start()
        parts.append(line[place:begin])
        place = found.end()
        if mark[0] == "\\":
            parts.append(_escaped(mark))
            continue
        end = _end_of(mark, begin, line, runs)
        if end < 0 and _stays_open(mark, line[:begin]):
            return "".join(parts), "-->" if mark == "<!--" else mark
        parts.append(mark if end < 0 else " " * (end - begin))
        place = max(place, end)
    parts.append(line[place:])
    return "".join(parts), ""


def _escaped(mark: str) -> str:
    if mark[1] == "|":  # in tables, where a bare one ends the cell: [[note\\|shown]]
        return " |"
    return "  " if mark[1] in _ESCAPED else mark


def _end_of(mark: str, begin: int, line: str, runs: dict[int, list[int]]) -> int:
    """Where what the mark begins ends on this line, -1 if it does not."""
    if mark[0] == "`":
        same = runs.get(len(mark), [])
        after = bisect_right(same, begin)
        return same[after] + len(mark) if after < len(same) else -1
    closing = "-->" if mark == "<!--" else mark
    end = line.find(closing, begin + len(mark))
    return -1 if end < 0 else end + len(closing)


def _stays_open(mark: str, before: str) -> bool:
    """A comment may go on below; one of ``%%`` only from the beginning of a line ("100%% sure")."""
    return mark == "<!--" or (mark == "%%" and not before.strip())
