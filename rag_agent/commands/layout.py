"""How results look to people: colours that can be taken off again, counts, sizes, previews."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_agent.types import Definition

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_STYLED = re.compile(r"\x1b\[[0-9;]*m")
# What a terminal would obey: the control characters but tab and newline, and the one-character
# forms of ESC-sequences (C1).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLED_OR_CONTROL = re.compile(f"{_STYLED.pattern}|{_CONTROL.pattern}")
_LINE_WIDTH = 200  # characters of one line of a preview, as pi-local-rag's


def styled(text: str, *styles: str) -> str:
    """The text in ``bold``, ``dim`` or a colour, as a terminal shows it."""
    codes = ";".join(_STYLES[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m" if text else ""


def plain(text: str) -> str:
    """The text without its styles."""
    return _STYLED.sub("", text)


def printable(text: str) -> str:
    """Text of a file without what would steer the terminal that shows it."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.expandtabs(4))


def steady(text: str) -> str:
    """A whole output, where nothing but our own styles may steer the terminal.

    The last of two guards: what comes from files is to be ``printable`` where it is put in.
    """
    return _STYLED_OR_CONTROL.sub(
        lambda match: match[0] if match[0][1:] else "\N{REPLACEMENT CHARACTER}", text
    )


def one_line(text: str) -> str:
    """A path or a heading, which a file may have given a line break or worse."""
    return printable(text.replace("\n", "\N{REPLACEMENT CHARACTER}"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``1,847 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """``0.4s``, ``38.4s``, ``12m 05s``, ``3h 07m``."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m"


def size(count: int) -> str:
    """Bytes as people read them: ``512 B``, ``3.1 MB`` (of 1,000,000)."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the loop returns")


def by_reason(reasons: Mapping[str, int]) -> str:
    """``8 binary, 3 too large``: most frequent first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {one_line(reason)}" for reason, number in ordered)


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns, the first as wide as its longest cell; rows without a second are left out."""
    shown = [(name, value) for name, value in rows if value]
    width = max((len(name) for name, _ in shown), default=0)
    lines = []
    for name, value in shown:
        first, *more = value.split("\n")
        lines.append(f"{styled(name.ljust(width), 'dim')}  {first}")
        lines.extend(" " * (width + 2) + line for line in more)
    return "\n".join(lines)


def columns(words: Sequence[str]) -> str:
    """Words in as many columns as the terminal has room for, read downwards as by ``ls``."""
    width = max(map(len, words), default=0) + 2
    across = max(1, (shutil.get_terminal_size().columns + 2) // width)
    down = -(-len(words) // across)
    rows = ("".join(word.ljust(width) for word in words[row::down]) for row in range(down))
    return "\n".join(row.rstrip() for row in rows)


def preview(
    text: str,
    words: Mapping[str, float],
    lines: int = 3,
    definitions: Sequence[Definition] = (),
    start: int = 1,
    given: Sequence[int] = (),
) -> dict[int, str]:
    """The ``lines`` lines that tell most about the question (stems) by number, without blank ones.

    ``start`` is the number of the first line of the text, from which ``definitions`` and the lines
    that the question gives (``given``) count.
    """
    from rag_agent.context.excerpts import read
    from rag_agent.context.lines import Piece

    rows = enumerate(printable(text).split("\n"), start)
    present = {number: row for number, row in rows if row.strip()}
    place = {number: index for index, number in enumerate(present, start=1)}
    known = [
        replace(found, start=place[found.start], end=place.get(found.end, len(place)))
        for found in definitions
        if found.start in place
    ]
    piece = Piece("", 1, len(present), "\n".join(present.values()))
    asked = [place[line] for line in given if line in place]
    shown = read(piece, words, known, asked).cut(lines)
    numbers = list(present)[shown.start - 1 : shown.end]
    cut = (row[:_LINE_WIDTH].rstrip() for row in shown.text.split("\n"))
    return dict(zip(numbers, cut, strict=False))  # a blank text has one row, and no number
