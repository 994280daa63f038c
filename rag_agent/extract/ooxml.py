"""What Word, Excel and PowerPoint files have in common: drawings, and the strict dialect."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import IO

from rag_agent.extract.archive import repacked
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.extract.tables import one_line

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# ISO/IEC 29500 strict names its namespaces otherwise; python-pptx and openpyxl know only these.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(main|relationships|spreadsheetDrawing)")
_STRICT_MARK = b"http://purl.oclc.org/ooxml/"


def paragraphs(part: IO[bytes]) -> Iterator[str]:
    """Texts of shapes in a part of DrawingML: a drawing, SmartArt or a comment of PowerPoint."""
    for paragraph in parse_xml(part).iter(f"{_DRAWING}p"):
        yield one_line("".join(text.text or "" for text in paragraph.iter(f"{_DRAWING}t")))


def drawn(archive: zipfile.ZipFile, names: re.Pattern[str]) -> list[str]:
    """Texts of shapes in all parts of these names."""
    texts: list[str] = []
    for name in sorted(filter(names.fullmatch, archive.namelist())):
        with archive.open(name) as part:
            texts += filter(None, paragraphs(part))
    return texts


def transitional(archive: zipfile.ZipFile, data: bytes, main: str) -> io.BytesIO:
    """The file itself, or its transitional twin when the part ``main`` is strict."""
    if main not in archive.namelist() or _STRICT_MARK not in archive.read(main)[:4096]:
        return io.BytesIO(data)
    return io.BytesIO(repacked(archive, lambda part: _STRICT.sub(_renamed, part)))


def _renamed(match: re.Match[bytes]) -> bytes:
    return b"http://schemas.openxmlformats.org/%s/2006/%s" % (match[1], match[2])
