"""Rows of a table: lines whose runs stand one below the other in columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_agent.extract.layout.lines import Line
from rag_agent.extract.layout.sheet import Run

_ROWS = 3  # lines with cells, below which two cells a line are chance
_COLUMNS = 50  # more are letters of a drawing
_APART = 2.6  # sizes between two rows of one table
_COLUMN = 0.35  # sizes that are clear between two columns
_SPANS = 0.5  # of the table's width: a cell as wide belongs to several columns
_LABEL = re.compile(r"(?:[•▪◦‣●○■□*·✓\u2013\u2014\u2217-]|\(?[0-9a-zA-Z]{1,3}[.):]|\[\d+\])$")
_LEADERS = re.compile(r"(?:\s*[.·…_]\s?){5,}|(?:\s\.){4,}")
# Signs by their codes: minus (2212), dashes (2013, 2014), times (d7).
_NUMERIC = re.compile(
    r"[-+±~<>≤≥≈\u2212]?[$€£]?\d[\d.,:/%^\s()e±+\u2212\u00d7-]*[%*†‡kKMGBsx]*"
    r"|[-\u2013\u2014]|n/?a",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Table:
    """The lines from ``start`` to before ``end`` are ``rows`` of cells.

    ``numeric``: hardly anything but numbers, which say nothing to a model of meaning.
    """

    start: int
    end: int
    rows: tuple[str, ...]
    numeric: bool


def tables_in(lines: Sequence[Line]) -> list[Table]:
    """The tables among the lines of one block, in order."""
    found = []
    index = 0
    while index < len(lines):
        if not _has_cells(lines[index]):
            index += 1
            continue
        end = _end(lines, index)
        table = _table(lines, index, end)
        if table is not None:
            found.append(table)
        index = end
    return found


def text_of(line: Line) -> str:
    """A line that is no row, with the dots before a page number shortened."""
    text = line.text
    return _LEADERS.sub(" … ", text).strip() if _has_leaders(text) else text


def _has_cells(line: Line) -> bool:
    """Whether a line is in parts that are no label of a list, number of a heading, or code."""
    runs = line.runs
    if len(runs) == 2 and _LABEL.match(runs[0].text):
        return False
    return len(runs) > 1 and not line.font.mono and not _has_leaders(line.text)


def _has_leaders(text: str) -> bool:
    # The pattern tries every place; most lines have none of these.
    likely = "..." in text or " . ." in text or "··" in text or "……" in text or "__" in text
    return likely and _LEADERS.search(text) is not None


def _end(lines: Sequence[Line], start: int) -> int:
    """Where the rows that begin at ``start`` end; a line without cells may lie between two."""
    end = start + 1
    for index in range(start + 1, len(lines)):
        line, above = lines[index], lines[index - 1]
        if line.base - above.base > _APART * max(line.font.size, above.font.size):
            break
        if _has_cells(line):
            end = index + 1
        elif index - end >= 2 or line.right - line.left > _SPANS * (
            line.bounds[1] - line.bounds[0]
        ):
            break
    return end


def _table(lines: Sequence[Line], start: int, end: int) -> Table | None:
    rows = [line for line in lines[start:end] if _has_cells(line)]
    most = max(len(line.runs) for line in rows)
    if len(rows) < (2 if most > 2 else _ROWS):
        return None
    columns = _columns(lines[start:end])
    if not 2 <= len(columns) <= _COLUMNS:
        return None
    filled = [_cells(line, columns) for line in lines[start:end]]
    if sum(sum(bool(cell) for cell in cells) > 1 for cells in filled) < 2:
        return None
    written = tuple("| " + " | ".join(cells) + " |" for cells in filled)
    values = [cell for cells in filled for cell in cells if cell]
    numbers = sum(bool(_NUMERIC.fullmatch(cell)) for cell in values)
    return Table(start, end, written, numbers >= 0.6 * len(values))


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """From where to where each column reaches, left to right."""
    width = max(line.right for line in lines) - min(line.left for line in lines)
    spans = sorted(
        (run.left, run.right) for line in lines for run in line.runs if run.width < _SPANS * width
    )
    clear = _COLUMN * lines[0].font.size
    columns: list[tuple[float, float]] = []
    for left, right in spans:
        if columns and left < columns[-1][1] + clear:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _cells(line: Line, columns: Sequence[tuple[float, float]]) -> list[str]:
    cells = [""] * len(columns)
    for run in line.runs:
        place = max(range(len(columns)), key=lambda index: _shared(run, columns[index]))
        cells[place] = f"{cells[place]} {run.text.replace('|', chr(0x2223))}".strip()
    return cells


def _shared(run: Run, column: tuple[float, float]) -> tuple[float, float]:
    """How much of a run lies in a column; what spans several belongs to the first."""
    return min(run.right, column[1]) - max(run.left, column[0]), -column[0]
