"""Excel workbooks → a heading a sheet, its rows as tables; read row by row.

openpyxl finds the sheets and tells which styles are dates. The rows are read here: where a sheet
does not declare its size, openpyxl's read-only mode holds all of it in memory at once, and it fails
on settings of the page that say nothing about the cells.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import IO, Any
from xml.etree.ElementTree import Element

from rag_agent.errors import UnsupportedFormat
from rag_agent.extract.archive import open_archive
from rag_agent.extract.metadata import of_office
from rag_agent.extract.ooxml import drawn, transitional
from rag_agent.extract.plain import one_line
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml, xml_events
from rag_agent.extract.tables import Workbook
from rag_agent.masking import mask
from rag_agent.types import Document

# ECMA-376 part 1: 18.3.1 sheets, rows and cells, 18.4 shared strings, 18.7 comments.
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET_DATA, _ROW, _CELL = f"{_MAIN}sheetData", f"{_MAIN}row", f"{_MAIN}c"
_VALUE, _INLINE, _STRING, _PIECE = f"{_MAIN}v", f"{_MAIN}is", f"{_MAIN}si", f"{_MAIN}t"
_PHONETIC = f"{_MAIN}rPh"  # how to pronounce what stands beside it
_COMMENT = f"{_MAIN}comment"
_COMMENTS = re.compile(r"xl/(?:comments/)?comments?\d*\.xml")
_DRAWINGS = re.compile(r"xl/(?:drawings/drawing|diagrams/data)\d*\.xml")
_LAST_COLUMN = 16_384


@extractor("xlsx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Values as last calculated, sheet by sheet; texts of drawings and comments at the end."""
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.styles.stylesheet import apply_stylesheet

    archive = open_archive(data, path, "xl/workbook")
    if "xl/workbook.bin" in archive.namelist():
        raise UnsupportedFormat(path, "binary Excel format", "save it as .xlsx")
    source = transitional(archive, data, "xl/workbook.xml")
    reader = ExcelReader(source, read_only=True, data_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_workbook()
    warnings: tuple[str, ...] = ()
    try:
        apply_stylesheet(reader.archive, reader.wb)
    except (TypeError, ValueError, KeyError) as error:  # colours and borders that it does not know
        why = mask(one_line(str(error)))[0][:200]
        warnings = (f"dates stay numbers, as the styles cannot be read: {why}",)
    values = _Values(_shared_strings(reader.archive), reader.wb)
    result = Workbook()
    for sheet, relation in reader.parser.find_sheets():
        if "chartsheet" not in relation.Type and relation.target in reader.valid_files:
            with reader.archive.open(relation.target) as part:
                result.add(sheet.name, _rows(part, values))
    result.add(
        "Drawings", enumerate(([text] for text in drawn(reader.archive, _DRAWINGS)), start=1)
    )
    result.add("Comments", enumerate(([text] for text in _comments(reader.archive)), start=1))
    return Document(
        path=path,
        kind="prose",
        text=result.text,
        language="xlsx",
        converted=True,
        warnings=warnings + result.warnings,
        **of_office(archive).fields(),
    )


def _rows(part: IO[bytes], values: _Values) -> Iterator[tuple[int, Sequence[str]]]:
    number = 0
    sheet: Element | None = None
    for event, element in xml_events(part):
        if event == "start":
            sheet = element if element.tag == _SHEET_DATA else sheet
        elif element.tag == _ROW:
            number = int(element.get("r", number + 1))
            yield number, _cells(element, values)
            if sheet is not None:
                sheet.clear()  # or the rows that were read would stay in memory


def _cells(row: Element, values: _Values) -> list[str]:
    cells: list[str] = []
    column = 0
    for cell in row:
        if cell.tag != _CELL:
            continue
        column = _column(cell.get("r", "")) or column + 1
        if text := values.text(cell):
            cells += [""] * (column - len(cells))
            cells[column - 1] = text
    return cells


def _column(place: str) -> int:
    """``AB12`` → 28; 0 for a cell that does not say where it is, which is then the next one."""
    number = 0
    for character in place:
        if not "A" <= character <= "Z":
            break
        number = number * 26 + ord(character) - 64
    return number if number <= _LAST_COLUMN else 0


class _Values:
    """What cells of one workbook say, as a person would read it."""

    def __init__(self, strings: Sequence[str], book: Any) -> None:
        self._strings = strings
        self._dates: Collection[int] = book._date_formats
        self._times: Collection[int] = book._timedelta_formats
        self._epoch: datetime = book.epoch

    def text(self, cell: Element) -> str:
        """Nothing for an empty cell and for one whose reference is broken."""
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            inline = cell.find(_INLINE)
            return "" if inline is None else _string(inline)
        value = cell.findtext(_VALUE) or ""
        if kind == "s":
            number = int(value) if value.isdecimal() else -1
            return self._strings[number] if 0 <= number < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        return self._number(value, int(cell.get("s", 0))) if kind == "n" else value.strip()

    def _number(self, value: str, style: int) -> str:
        try:
            number = float(value)
        except ValueError:  # nothing, or what no program should have written
            return value.strip()
        if style in self._dates:
            return self._date(number, style)
        # An account number stays as long as it is; Excel itself keeps and shows 15 digits.
        return value if value.lstrip("-").isdecimal() else f"{number:.15g}"

    def _date(self, value: float, style: int) -> str:
        from openpyxl.utils.datetime import from_excel

        try:
            found = from_excel(value, self._epoch, timedelta=style in self._times)
        except (OverflowError, ValueError):  # no such day; Excel shows ####
            return f"{value:.15g}"
        if isinstance(found, datetime) and found.time() == time():
            return found.date().isoformat()
        return str(found) if isinstance(found, timedelta) else found.isoformat(*_between(found))


def _between(found: Any) -> tuple[str, ...]:
    return (" ",) if isinstance(found, datetime) else ()


def _shared_strings(archive: zipfile.ZipFile) -> list[str]:
    strings: list[str] = []
    names = [name for name in archive.namelist() if name.lower() == "xl/sharedstrings.xml"]
    for name in names[:1]:
        root: Element | None = None
        with archive.open(name) as part:
            for event, element in xml_events(part):
                root = element if root is None else root
                if event == "end" and element.tag == _STRING:
                    strings.append(_string(element))
                    root.clear()
    return strings


def _string(element: Element) -> str:
    """Of a string, all in one format or in runs, without its pronunciation."""
    pieces: list[str] = []
    for child in element:
        if child.tag == _PIECE:
            pieces.append(child.text or "")
        elif child.tag != _PHONETIC:
            pieces += (piece.text or "" for piece in child.iter(_PIECE))
    return "".join(pieces).strip()


def _comments(archive: zipfile.ZipFile) -> Iterator[str]:
    """Cell and text of the notes, in the order of their parts."""
    for name in sorted(filter(_COMMENTS.fullmatch, archive.namelist())):
        with archive.open(name) as part:
            for comment in parse_xml(part).iter(_COMMENT):
                text = "".join(piece.text or "" for piece in comment.iter(_PIECE))
                yield f"{comment.get('ref', '')}: {one_line(text)}"
