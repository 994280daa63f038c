"""Excel workbooks → a heading a sheet, its rows as tables; read row by row."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

from rag_agent.errors import UnsupportedFormat
from rag_agent.extract.archive import open_archive
from rag_agent.extract.metadata import of_office
from rag_agent.extract.ooxml import drawn, transitional
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.extract.tables import Workbook, one_line
from rag_agent.types import Document

_COMMENTS = re.compile(r"xl/(?:comments/)?comments?\d*\.xml")
_DRAWINGS = re.compile(r"xl/(?:drawings/drawing|diagrams/data)\d*\.xml")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@extractor("xlsx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Values as last calculated, sheet by sheet; comments of cells at the end."""
    import openpyxl

    archive = open_archive(data, path, "xl/workbook")
    if "xl/workbook.bin" in archive.namelist():
        raise UnsupportedFormat(path, "binary Excel format", "save it as .xlsx")
    book = openpyxl.load_workbook(
        transitional(archive, data, "xl/workbook.xml"),
        read_only=True,
        data_only=True,
        keep_links=False,
    )
    result = Workbook()
    for sheet in book.worksheets:
        # What a sheet declares as its size may be a million rows of 16,384 cells, or too little.
        sheet.reset_dimensions()
        result.add(sheet.title, _rows(sheet))
        if result.full:
            break
    result.add("Drawings", [[text] for text in drawn(archive, _DRAWINGS)])
    result.add("Comments", [[text] for text in _comments(archive)])
    return Document(
        path=path,
        kind="prose",
        text=result.text,
        language="xlsx",
        converted=True,
        warnings=result.warnings,
        **of_office(archive).fields(),
    )


def _rows(sheet: Any) -> Iterator[Sequence[str]]:
    for row in sheet.iter_rows(values_only=True):
        yield [_text(value) for value in row]


def _text(value: Any) -> str:
    """As a person would read it: no midnight after a date, no noise after the 15th digit."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"  # what Excel itself keeps and shows
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value).strip()


def _comments(archive: zipfile.ZipFile) -> Iterator[str]:
    """Cell and text of the notes (ECMA-376 part 1, 18.7), in the order of their parts."""
    for name in sorted(archive.namelist()):
        if not _COMMENTS.fullmatch(name):
            continue
        with archive.open(name) as part:
            for comment in parse_xml(part).iter(f"{_MAIN}comment"):
                text = "".join(piece.text or "" for piece in comment.iter(f"{_MAIN}t"))
                yield f"{comment.get('ref', '')}: {one_line(text)}"
