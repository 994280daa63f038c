"""Rows of cells → Markdown tables that can be cut anywhere and still say what their columns are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rag_agent.extract.plain import literal, one_line

MOST_TEXT = 2_000_000
"""Characters of all sheets of a workbook; a text file may have as many (``maxFileBytes``)."""
MOST_CELLS = 20_000_000
"""Cells of a workbook that are looked at, empty ones too: half a minute of parsing."""
# A piece of a table with its header is about one chunk, so every chunk has the header.
_PIECE = 1_000
# With a wider header, a row is told as pairs of column and value: no line of it could be read.
_WIDEST_HEADER = 400
_NUMBER = re.compile(r"[-+(]?[\d.,:/ ]*\d[\d.,:/ %)]*$")

Rows = Iterable[tuple[int, Sequence[str]]]
"""Number (from 1, rising) and cells of rows, from the first column on; what is empty is ""."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header; columns without anything are dropped."""
    columns = [
        column
        for column in range(max(map(len, rows), default=0))
        if any(column < len(row) and row[column] for row in rows)
    ]
    if not columns:
        return ""
    lines = [_line(row, columns) for row in rows]
    return "\n".join((lines[0], "|" + " --- |" * len(columns), *lines[1:]))


def _line(row: Sequence[str], columns: Sequence[int]) -> str:
    cells = (row[column] if column < len(row) else "" for column in columns)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in map(one_line, cells)) + " |"


class Workbook:
    """Sheets as they are read, row by row, into Markdown of bounded length."""

    def __init__(self, most_text: int = MOST_TEXT, most_cells: int = MOST_CELLS) -> None:
        self._blocks: list[str] = []
        self._text = most_text
        self._cells = most_cells
        self.warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Markdown of all sheets so far: a heading each, then its tables."""
        return "\n\n".join(self._blocks) + "\n" if self._blocks else ""

    @property
    def full(self) -> bool:
        """Whether a limit is reached; nothing more is read then, and a warning says so."""
        return self._text <= 0 or self._cells <= 0

    def add(self, name: str, rows: Rows) -> None:
        """One more sheet, as far as the limits allow; nothing of it once they are reached."""
        if self.full:
            return
        heading = len(self._blocks)
        for row, block in _blocks(self._counted(rows)):
            self._blocks.append(block)
            self._text -= len(block)
            if self.full:
                limit = "text" if self._text <= 0 else "cells"
                self.warnings = (
                    f"cut after row {row:,} of sheet {name!r}: more {limit} than is read",
                )
                break
        if len(self._blocks) > heading:
            self._blocks.insert(heading, f"# {one_line(name)}")

    def _counted(self, rows: Rows) -> Rows:
        for number, row in rows:
            self._cells -= len(row) + 1
            yield number, row
            if self._cells <= 0:
                return


def _blocks(rows: Rows) -> Iterator[tuple[int, str]]:
    """(number of the last row, Markdown) of each piece."""
    header: Sequence[str] | None = None
    piece: list[Sequence[str]] = []
    size = number = last = 0
    for number, row in rows:
        filled = [cell for cell in row if cell]
        if not filled:
            continue
        blank, last = number > last + 1, number
        if len(filled) == 1 and (blank or header is None):  # a title above a table, or a remark
            yield from _piece(number, header, piece)
            yield number, literal(one_line(filled[0]))
            header, piece, size = None, [], 0
        elif header is None:
            is_header = not any(map(_NUMBER.match, filled))
            header, piece = (row, []) if is_header else ((), [row])
            size = sum(map(len, row))
        else:
            piece.append(row)
            size += sum(len(cell) + 3 for cell in filled)
            if size > _PIECE:
                yield from _piece(number, header, piece)
                piece, size = [], sum(map(len, header))
    yield from _piece(number, header, piece)


def _piece(
    number: int, header: Sequence[str] | None, rows: Sequence[Sequence[str]]
) -> Iterator[tuple[int, str]]:
    if header is None or not (rows or any(header)):
        return
    if sum(map(len, header)) > _WIDEST_HEADER:
        for row in rows:
            yield number, literal(_record(header, row))
    elif text := table([header, *rows]):
        yield number, text


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    names = (*header, *[""] * (len(row) - len(header)))
    pairs = ((one_line(name), one_line(cell)) for name, cell in zip(names, row, strict=False))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
