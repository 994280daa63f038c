"""PDF → Markdown by page, as its layout says: columns, headings, rows of tables, whole words.

``words`` asks pdfium what stands where, and ``layout`` makes text of it. Where pdfium reads nothing
or garbage, pdfminer.six gives a second opinion (``garbage``), and then OCR where it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_agent.errors import ExtractError
from rag_agent.extract.archive import ENCRYPTED, WITHOUT_PASSWORD
from rag_agent.extract.layout.headings import Bookmark
from rag_agent.extract.layout.sheet import Sheet
from rag_agent.extract.layout.writing import write
from rag_agent.extract.ocr import ADVICE, NEEDED, OcrRules, Tesseract, state, tesseract
from rag_agent.extract.pdf.bookmarks import bookmarks
from rag_agent.extract.pdf.garbage import is_readable, second_opinions
from rag_agent.extract.pdf.info import information
from rag_agent.extract.pdf.scans import Scans, is_picture, read_pages
from rag_agent.extract.pdf.words import sheet
from rag_agent.extract.registry import extractor
from rag_agent.types import Coverage, Document

if TYPE_CHECKING:
    import pypdfium2

_NOTHING = Sheet((), (), 0.0, 0.0)
_LITTLE = 150  # characters; a scan may bear a stamp or a number


@dataclass(frozen=True, slots=True)
class _Page:
    """What pdfium reads; ``drawn``: there is something; ``doubtful``: text that is garbage.

    ``scanned``: a picture fills it, and the little text there is (a stamp, a page number) is not
    what it shows.
    """

    sheet: Sheet
    drawn: bool = True
    doubtful: bool = False
    scanned: bool = False

    @property
    def has_text(self) -> bool:
        """Whether pdfium read any."""
        return bool(self.sheet.runs or self.sheet.turned)


def read_by_ocr(data: bytes, path: str, *, rules: Mapping[str, Any]) -> Document:
    """As ``read``, with the text of scanned pages where tesseract is installed."""
    limits = OcrRules(**rules)
    return _read(data, path, tesseract(limits), limits)


@extractor("pdf", isolated=True, by_ocr=read_by_ocr)
def read(data: bytes, path: str) -> Document:
    """The text of each page after the other, in reading order."""
    return _read(data, path, None, OcrRules())


def _read(data: bytes, path: str, program: Tesseract | None, rules: OcrRules) -> Document:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise ExtractError(path, ENCRYPTED, WITHOUT_PASSWORD) from error
        raise ExtractError(path, "cannot be parsed", str(error)) from error
    with pdf:
        pages = [_page(pdf, number) for number in range(len(pdf))]
        marks = _bookmarks(pdf)
        said = information(pdf)
        other = second_opinions(data, [n for n, page in enumerate(pages) if page.doubtful])
        textless = [
            number
            for number, page in enumerate(pages)
            if page.scanned or (page.drawn and not page.has_text and number not in other)
        ]
        scans = read_pages(pdf, textless, program, rules) if program else None
    seen = scans.found if scans else {}
    sheets = [seen.get(number, page.sheet) for number, page in enumerate(pages)]
    written = write(sheets, marks, other)
    without = sum(number not in seen for number in textless)
    texts = sum(page.has_text or n in other for n, page in enumerate(pages) if n not in textless)
    return Document(
        path=path,
        kind="prose",
        text=written.text,
        language="pdf",
        **said.fields(written.title),
        pages=written.pages,
        converted=True,
        warnings=(_warning(without, len(pages), scans),) if without else (),
        unembedded=written.unembedded,
        coverage=Coverage(
            text=texts,
            ocr=len(seen),
            without=without,
            engine=state(rules) if scans else "",
            failed=len(scans.failures) if scans else 0,
        ),
    )


def _warning(without: int, pages: int, scans: Scans | None) -> str:
    why = scans.told() if scans else f"scanned; {NEEDED}: {ADVICE}"
    return f"{without} of {pages} pages have no text ({why})"


def _page(pdf: pypdfium2.PdfDocument, number: int) -> _Page:
    """What pdfium reads on a page, counted from 0."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        page = pdf[number]
        found = sheet(page, page.get_textpage())
        text = " ".join([*(run.text for run in found.runs), *(t.text for t in found.turned)])
        if is_readable(text):
            scanned = len(text) < _LITTLE and is_picture(page)
            page.close()
            return _Page(found, scanned=scanned)
        kinds = {item.type for item in page.get_objects()}
        page.close()
    except pypdfium2.PdfiumError:  # one broken page; pdfminer may mend it
        return _Page(_NOTHING, doubtful=True)
    # Without text objects the page is a picture or blank, and pdfminer (thirty times slower)
    # would find nothing either.
    return _Page(_NOTHING, drawn=bool(kinds), doubtful=raw.FPDF_PAGEOBJ_TEXT in kinds)


def _bookmarks(pdf: pypdfium2.PdfDocument) -> Mapping[int, list[Bookmark]]:
    import pypdfium2

    try:
        return bookmarks(pdf)
    except (pypdfium2.PdfiumError, ValueError):  # an outline is an ornament
        return {}
