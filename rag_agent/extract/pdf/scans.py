"""Pages of a PDF that are pictures, drawn by pdfium and read by OCR."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_agent.extract.layout.sheet import Sheet
from rag_agent.extract.ocr import DPI, PAGE_SECONDS, OcrRules, Picture, Tesseract

if TYPE_CHECKING:
    import pypdfium2

_MOST_PIXELS = 12_000_000  # A4 at 300 dots an inch has 8.7 million; posters are drawn smaller
_FILLS = 0.5  # of the page's area


def read_pages(
    pdf: pypdfium2.PdfDocument, numbers: Sequence[int], program: Tesseract, rules: OcrRules
) -> dict[int, Sheet]:
    """Of the first of these pages, counted from 0, those on which OCR finds text."""
    import pypdfium2

    deadline = time.monotonic() + rules.seconds
    found: dict[int, Sheet] = {}
    for number in numbers[: rules.pages]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            read = program.read(_picture(pdf[number]), min(left, PAGE_SECONDS))
        except (subprocess.SubprocessError, pypdfium2.PdfiumError):
            continue  # this page fails or takes too long; others may not
        if read.runs:
            found[number] = read
    return found


def is_picture(page: pypdfium2.PdfPage) -> bool:
    """Whether one picture fills most of the page."""
    from pypdfium2 import raw

    left, bottom, right, top = page.get_bbox()
    area = max((right - left) * (top - bottom), 1.0)
    edges = [ctypes.c_float() for _ in range(4)]
    for item in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
        if raw.FPDFPageObj_GetBounds(item.raw, *map(ctypes.byref, edges)):
            one, two, three, four = (edge.value for edge in edges)
            if (three - one) * (four - two) >= _FILLS * area:
                return True
    return False


def _picture(page: pypdfium2.PdfPage) -> Picture:
    width, height = page.get_size()
    scale = min(DPI / 72, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    rows = bytes(bitmap.buffer)
    if bitmap.stride != bitmap.width:
        rows = b"".join(
            rows[start : start + bitmap.width]
            for start in range(0, bitmap.stride * bitmap.height, bitmap.stride)
        )
    picture = Picture(bitmap.width, bitmap.height, rows, scale * 72)
    bitmap.close()
    page.close()
    return picture
