"""PDF → text by page: pypdfium2 reads, pdfminer.six gives a second opinion where that fails."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_agent.errors import ExtractError
from rag_agent.extract.registry import extractor
from rag_agent.types import Document

if TYPE_CHECKING:
    import pypdfium2

# Share of characters that are no writing, above which a page is taken for garbage. Mathematical
# papers with private-use glyphs stay below a tenth; a font without a usable map is all of it.
_GARBAGE = 0.3
_UNMAPPED = re.compile(r"\(cid:\d+\)")  # how pdfminer writes a glyph that it cannot name
# pdfium marks a hyphen at the end of a line with one of these, where the word goes on below.
_SOFT_HYPHEN = re.compile("[\x02\ufffe\u00ad](?:\r?\n)?")
_OFFICE_PREFIX = re.compile(r"^(?:Microsoft \w+|LibreOffice \w+) - ", re.IGNORECASE)


@extractor("pdf", isolated=True)
def read(data: bytes, path: str) -> Document:
    """The text of each page after the other, in reading order as pdfium finds it."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            fix = "it needs a password; save a copy without one"
            raise ExtractError(path, "encrypted", fix) from error
        raise ExtractError(path, "cannot be parsed", str(error)) from error
    with pdf:
        pages = [_page(pdf, number, data) for number in range(len(pdf))]
        title = _OFFICE_PREFIX.sub("", pdf.get_metadata_value("Title").strip())
    texts = [text for text, _ in pages]
    empty = sum(drawn and not text for text, drawn in pages)
    return Document(
        path=path,
        kind="prose",
        text="\n".join(texts) + "\n" if texts else "",
        language="pdf",
        title=title,
        pages=_first_lines(texts),
        converted=True,
        warnings=(
            (f"{empty} of {len(pages)} pages have no text (scanned; needs OCR)",) if empty else ()
        ),
    )


def _first_lines(texts: Sequence[str]) -> tuple[int, ...]:
    """The line at which each page begins, when pages follow each other line after line."""
    lines: list[int] = []
    line = 1
    for text in texts:
        lines.append(line)
        line += text.count("\n") + 1  # an empty page takes one empty line
    return tuple(lines)


def _page(pdf: pypdfium2.PdfDocument, number: int, data: bytes) -> tuple[str, bool]:
    """Text of a page (from 0), and whether anything at all is drawn on it."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        page = pdf[number]
    except pypdfium2.PdfiumError:  # one broken page; pdfminer may mend it
        return _second_opinion(data, number), True
    text_page = page.get_textpage()
    text = _tidy(text_page.get_text_bounded())
    text_page.close()
    if _garbage(text) <= _GARBAGE:
        page.close()
        return text, True
    kinds = {item.type for item in page.get_objects()}
    page.close()
    # Without text objects the page is a picture or blank, and pdfminer (thirty times slower)
    # would find nothing either.
    other = _second_opinion(data, number) if raw.FPDF_PAGEOBJ_TEXT in kinds else ""
    return min(text, other, key=_garbage), bool(kinds)


def _second_opinion(data: bytes, number: int) -> str:
    from pdfminer.high_level import extract_text
    from pdfminer.pdfexceptions import PDFException

    try:
        return _tidy(extract_text(io.BytesIO(data), page_numbers=[number]))
    except PDFException:
        return ""


def _tidy(text: str) -> str:
    text = _SOFT_HYPHEN.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _garbage(text: str) -> float:
    """Share of characters in [0, 1] that are no writing; no text at all is all garbage."""
    unmapped = len(_UNMAPPED.findall(text))
    characters = [c for c in _UNMAPPED.sub("", text) if not c.isspace()]
    odd = sum(c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cn", "Co") for c in characters)
    total = len(characters) + unmapped
    return (odd + unmapped) / total if total else 1.0
