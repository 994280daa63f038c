"""Names of old Office files: what is something else under such a name is read, the rest refused."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace

from rag_agent.extract import docx, html, pptx, rtf, text, xlsx
from rag_agent.extract.archive import is_compound, refuse_compound, refuse_old
from rag_agent.extract.registry import Extractor, extractor
from rag_agent.types import Document

_BEGINNING = 1024
_RTF = re.compile(rb"\s*\{\\rtf")
_HTML = re.compile(rb"<(?:!doctype html|html|head|body|table)\b", re.IGNORECASE)
# What many programs still write when they are asked for a file for Excel or Word.
_PARTS: Mapping[str, Extractor] = {
    "word/document": docx.read,
    "ppt/presentation": pptx.read,
    "xl/workbook": xlsx.read,
}


@extractor("office97", isolated=True)
def read(data: bytes, path: str) -> Document:
    """What RTF, HTML, a new Office file or text under an old name says.

    Raises:
        UnsupportedFormat: a file of Word, Excel or PowerPoint from before 2007.
    """
    if is_compound(data):
        refuse_compound(data, path)
    beginning = data[:_BEGINNING]
    if _RTF.match(beginning):
        return rtf.read(data, path)
    if _HTML.search(beginning):
        return replace(html.read(data, path), language="html")
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
        for part, read_part in _PARTS.items():
            if any(name.startswith(part) for name in names):
                return read_part(data, path)
    if b"\0" in data or beginning.lstrip().startswith(b"<?xml"):
        refuse_old(path)
    return text.read(data, path)
