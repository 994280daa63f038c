"""Pages of a PDF that are pictures, drawn by pdfium and read by OCR."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.extract.layout.sheet import Sheet
from rag_agent.extract.ocr import DPI, LATER, PAGE_SECONDS, OcrFailed, OcrRules, Picture, Tesseract

if TYPE_CHECKING:
    import pypdfium2

_MOST_PIXELS = 12_000_000  # A4 at 300 dots an inch has 8.7 million; posters are drawn smaller
_FILLS = 0.5  # of the page's area


@dataclass(frozen=True, slots=True)
class Scans:
    """The text that OCR finds, by pages counted from 0, and how many of the others have none why.

    ``failures`` has a cause for each page that may have text all the same: OCR failed, or the time
    for the file was over before. ``beyond`` the limit of pages nothing is looked at.
    """

    found: Mapping[int, Sheet]
    blank: int = 0
    undrawn: int = 0
    failures: Sequence[str] = ()
    beyond: int = 0

    def told(self) -> str:
        """Why pages have no text."""
        failed = len(self.failures)
        parts = (
            (self.blank, f"OCR finds none on {self.blank}"),
            (self.undrawn, f"{self.undrawn} cannot be drawn"),
            (failed, f"OCR failed on {failed}, {LATER}: {next(iter(self.failures), '')}"),
            (self.beyond, f"{self.beyond} beyond the limit; raise ocrPages to read more"),
        )
        return "; ".join(text for count, text in parts if count)


def read_pages(
    pdf: pypdfium2.PdfDocument, numbers: Sequence[int], program: Tesseract, rules: OcrRules
) -> Scans:
    """What OCR finds on the first of these pages, counted from 0."""
    import pypdfium2

    deadline = time.monotonic() + rules.seconds
    found: dict[int, Sheet] = {}
    failures: list[str] = []
    blank = undrawn = 0
    for number in numbers[: rules.pages]:
        left = deadline - time.monotonic()
        if left <= 0:
            failures.append(f"over {rules.seconds:g} s for the file")
            continue
        try:
            read = program.read(_picture(pdf[number]), min(left, PAGE_SECONDS))
        except pypdfium2.PdfiumError:
            undrawn += 1  # which another time does not change
        except OcrFailed as failure:
            failures.append(str(failure))  # others may not
        else:
            if read.runs:
                found[number] = read
            else:
                blank += 1
    return Scans(found, blank, undrawn, failures, len(numbers[rules.pages :]))


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
