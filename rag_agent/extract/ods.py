"""OpenDocument spreadsheets → a heading a sheet, its rows as tables; read element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import IO
from xml.etree.ElementTree import Element

from rag_agent.extract.odf import name_of, open_content, short_name
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import xml_events
from rag_agent.extract.tables import Workbook
from rag_agent.types import Document

# A row or a cell may say that it comes a million times over: to the end of the sheet, mostly.
_MOST_REPEATED = 1_000
_CELLS = frozenset(("table:table-cell", "table:covered-table-cell"))


@extractor("ods", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Cells as they are shown, sheet by sheet; a comment follows the text of its cell."""
    stream, found = open_content(data, path)
    result = Workbook()
    _Sheets(stream).read_into(result)
    return Document(
        path=path,
        kind="prose",
        text=result.text,
        language="ods",
        converted=True,
        warnings=result.warnings,
        **found.fields(),
    )


class _Sheets:
    """The sheets of a stream of XML, one after the other; each row is forgotten once read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._events = xml_events(stream)

    def read_into(self, result: Workbook) -> None:
        for event, element in self._events:
            if event == "start" and name_of(element) == "table:table":
                result.add(_attribute(element, "table:name"), self._rows(element))
            if result.full:
                break

    def _rows(self, sheet: Element) -> Iterator[Sequence[str]]:
        depth = 1  # a cell may hold a table of its own
        for event, element in self._events:
            name = name_of(element)
            if name == "table:table":
                depth += 1 if event == "start" else -1
                if not depth:
                    return
            elif event == "end" and name == "table:table-row" and depth == 1:
                yield from repeat(_cells(element), _repeated(element, "table:number-rows-repeated"))
                element.clear()
                sheet.clear()


def _cells(row: Element) -> list[str]:
    cells: list[str] = []
    empty = 0  # those before the next cell with something in it; the last ones never count
    for cell in row:
        if name_of(cell) not in _CELLS:
            continue
        # The comment on a cell stands before its text.
        text = "\n".join(filter(None, map(_text, sorted(cell, key=_is_comment))))
        count = _repeated(cell, "table:number-columns-repeated")
        if text:
            cells += [""] * empty + [text] * count
            empty = 0
        else:
            empty += count
    return cells


def _is_comment(part: Element) -> bool:
    return name_of(part) == "office:annotation"


def _text(part: Element) -> str:
    """Of a paragraph its text; of a comment its text without who wrote it when."""
    if _is_comment(part):
        words = " ".join(filter(None, map(_text, part)))
        return f"({words})" if words else ""
    return "".join(part.itertext()).strip() if name_of(part) == "text:p" else ""


def _repeated(element: Element, attribute: str) -> int:
    count = _attribute(element, attribute)
    return min(int(count), _MOST_REPEATED) if count.isdecimal() else 1


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.items() if short_name(key) == name), "")
