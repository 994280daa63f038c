"""Tables of HTML, put so that each becomes rows of Markdown that can be read alone."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_CELLS = ("td", "th")
_PARTS = ("thead", "tbody", "tfoot", "tr", *_CELLS)
# Of cells that span rows, in a page: more are no table that was made for reading.
_MOST_COPIES = 5_000


def tidy_tables(soup: BeautifulSoup) -> None:
    """Change the tables in place.

    A table around tables is a layout, and becomes blocks. Rows without anything go. A cell that
    spans rows stands in each of them.
    """
    tables = soup.find_all("table")
    for table in tables:
        if table.find("table") is not None:
            _unfold(table)
    for row in soup.find_all("tr"):
        if not row.get_text(strip=True):
            row.decompose()
    copies = 0
    for cell in soup.find_all(_CELLS, rowspan=True):
        if copies < _MOST_COPIES:
            copies += _repeat_below(cell)


def _unfold(table: Tag) -> None:
    for part in table.find_all(_PARTS):
        if part.find_parent("table") is table:
            part.name = "div"
    table.name = "div"


def _repeat_below(cell: Tag) -> int:
    """Put a copy of the cell into each row that it spans, in its column; returns their number."""
    written = str(cell["rowspan"])
    del cell["rowspan"]
    row = cell.find_parent("tr")
    count = min(int(written), _MOST_COPIES) - 1 if written.isdecimal() else 0
    if row is None or count < 1:
        return 0
    place = sum(_width(before) for before in cell.find_previous_siblings(_CELLS))
    rows_below = row.find_next_siblings("tr", limit=count)
    for below in rows_below:
        cells = below.find_all(_CELLS, recursive=False)
        column = 0
        for other in cells:
            if column >= place:
                other.insert_before(copy(cell))
                break
            column += _width(other)
        else:
            below.append(copy(cell))
    return len(rows_below)


def _width(cell: Tag) -> int:
    columns = str(cell.get("colspan") or "1")
    return int(columns) if columns.isdecimal() else 1
