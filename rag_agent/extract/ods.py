"""OpenDocument spreadsheets → a heading a sheet, its rows as tables; read element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from rag_agent.extract.odf import open_content
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import xml_events
from rag_agent.extract.tables import Workbook
from rag_agent.types import Document

# OpenDocument 1.3 part 3, 9.1. Compared as ElementTree writes them: there are millions of cells.
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_SHEET, _ROW, _NAME = f"{_TABLE}table", f"{_TABLE}table-row", f"{_TABLE}name"
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_ROWS_REPEATED = f"{_TABLE}number-rows-repeated"
_COLUMNS_REPEATED = f"{_TABLE}number-columns-repeated"
_PARAGRAPH = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p"
_COMMENT = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}annotation"
# A row or a cell may say that it comes a million times over: to the end of the sheet, mostly.
_MOST_REPEATED = 1_000


@extractor("ods", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Cells as they are shown, sheet by sheet; a comment follows the text of its cell."""
    stream, _, found = open_content(data, path)
    result = Workbook()
    events = xml_events(stream)
    for event, element in events:
        if event == "start" and element.tag == _SHEET:
            result.add(element.get(_NAME, ""), _rows(events, element))
        if result.full:
            break
    return Document(
        path=path,
        kind="prose",
        text=result.text,
        language="ods",
        converted=True,
        warnings=result.warnings,
        **found.fields(),
    )


def _rows(
    events: Iterator[tuple[str, Element]], sheet: Element
) -> Iterator[tuple[int, Sequence[str]]]:
    """Rows of the sheet that has just begun, up to its end; each is forgotten once read."""
    number = 0
    depth = 1  # a cell may hold a table of its own
    for event, element in events:
        if element.tag == _SHEET:
            depth += 1 if event == "start" else -1
            if not depth:
                return
        elif event == "end" and element.tag == _ROW and depth == 1:
            cells = _cells(element)
            count = _count(element, _ROWS_REPEATED)
            for repeated in range(min(count, _MOST_REPEATED) if cells else 0):
                yield number + repeated + 1, cells
            number += count
            sheet.clear()


def _cells(row: Element) -> list[str]:
    cells: list[str] = []
    empty = 0  # those before the next cell with something in it; the last ones never count
    for cell in row:
        if cell.tag not in _CELLS:
            continue
        # The comment on a cell stands before its text.
        parts = sorted(cell, key=_is_comment) if len(cell) > 1 else cell
        text = "\n".join(filter(None, map(_text, parts)))
        count = min(_count(cell, _COLUMNS_REPEATED), _MOST_REPEATED)
        if text:
            cells += [""] * empty + [text] * count
            empty = 0
        else:
            empty += count
    return cells


def _is_comment(part: Element) -> bool:
    return part.tag == _COMMENT


def _text(part: Element) -> str:
    """Of a paragraph its text; of a comment its text without who wrote it when."""
    if _is_comment(part):
        words = " ".join(filter(None, map(_text, part)))
        return f"({words})" if words else ""
    return "".join(part.itertext()).strip() if part.tag == _PARAGRAPH else ""


def _count(element: Element, attribute: str) -> int:
    count = element.get(attribute, "1")
    return int(count) if count.isdecimal() else 1
