"""What Word, Excel and PowerPoint files have in common: drawings, and the strict dialect."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import IO
from xml.etree.ElementTree import Element

from rag_agent.extract.archive import repacked
from rag_agent.extract.plain import one_line
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.extract.tables import table

_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
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


def chart(part: IO[bytes]) -> Iterator[str]:
    """Title and figures of a chart, as it was last drawn (ECMA-376 part 1, 21.2)."""
    root = parse_xml(part)
    for title in root.iterfind(f"{_CHART}chart/{_CHART}title"):
        yield one_line("".join(text.text or "" for text in title.iter(f"{_DRAWING}t")))
    series = list(root.iter(f"{_CHART}ser"))
    if series:
        names = ["", *(" ".join(_points(one, "tx").values()) for one in series)]
        categories = _points(series[0], "cat", "xVal")
        values = [_points(one, "val", "yVal") for one in series]
        numbers = sorted({number for points in values for number in points})
        rows = [[categories.get(n, ""), *(points.get(n, "") for points in values)] for n in numbers]
        yield table([names, *rows])


def _points(series: Element, *names: str) -> dict[int, str]:
    """Number → value of the points that one part of a series has kept."""
    parts = (series.find(f"{_CHART}{name}") for name in names)
    part = next((part for part in parts if part is not None), None)
    found: dict[int, str] = {}
    for number, point in enumerate(part.iter(f"{_CHART}pt") if part is not None else ()):
        index = point.get("idx", "")
        value = point.findtext(f"{_CHART}v") or ""
        found.setdefault(int(index) if index.isdecimal() else number, _rounded(value))
    return found


def _rounded(value: str) -> str:
    try:
        return f"{float(value):.15g}"
    except ValueError:
        return one_line(value)


def transitional(archive: zipfile.ZipFile, data: bytes, main: str) -> io.BytesIO:
    """The file itself, or its transitional twin when the part ``main`` is strict."""
    if main not in archive.namelist():
        return io.BytesIO(data)
    with archive.open(main) as part:
        if _STRICT_MARK not in part.read(4096):
            return io.BytesIO(data)
    return io.BytesIO(repacked(archive, lambda part: _STRICT.sub(_renamed, part)))


def _renamed(match: re.Match[bytes]) -> bytes:
    return b"http://schemas.openxmlformats.org/%s/2006/%s" % (match[1], match[2])
