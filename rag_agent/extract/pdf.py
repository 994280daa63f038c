"""PDF → text by page: pypdfium2 reads, pdfminer.six gives a second opinion where that fails."""

from __future__ import annotations

import io
import re
import struct
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
# pdfium writes a hyphen at the end of a line as one of these and joins the lines. A word goes on
# in small letters; in "pre-1990" and "Anglo-Saxon" the hyphen was one.
_HYPHEN = re.compile("[\x02\ufffe](?:\r?\n)?(.)")
_SECOND_OPINIONS = 100  # pages; at a tenth of a second each they fit the time limit of a file
# What pdfminer's own code raises on broken files: no reason to lose the pages that pdfium read.
_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
_OFFICE_PREFIX = re.compile(r"^(?:Microsoft \w+|LibreOffice \w+) - ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Page:
    """Text of a page; ``drawn``: there is something on it; ``doubtful``: text that is garbage."""

    text: str
    drawn: bool
    doubtful: bool


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
        pages = [_page(pdf, number) for number in range(len(pdf))]
        title = _OFFICE_PREFIX.sub("", pdf.get_metadata_value("Title").strip())
    doubtful = [number for number, page in enumerate(pages) if page.doubtful]
    second = _second_opinions(data, doubtful[:_SECOND_OPINIONS])
    texts = [
        _readable(min(page.text, second.get(number, ""), key=_garbage))
        if page.doubtful
        else page.text
        for number, page in enumerate(pages)
    ]
    empty = sum(page.drawn and not text for page, text in zip(pages, texts, strict=True))
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


def _page(pdf: pypdfium2.PdfDocument, number: int) -> _Page:
    """What pdfium reads on a page, counted from 0."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        page = pdf[number]
        text = _tidy(page.get_textpage().get_text_bounded())
        kinds = set() if _readable(text) else {item.type for item in page.get_objects()}
        page.close()
    except pypdfium2.PdfiumError:  # one broken page; pdfminer may mend it
        return _Page("", drawn=True, doubtful=True)
    # Without text objects the page is a picture or blank, and pdfminer (thirty times slower)
    # would find nothing either.
    return _Page(text, drawn=bool(kinds), doubtful=raw.FPDF_PAGEOBJ_TEXT in kinds)


def _second_opinions(data: bytes, numbers: Sequence[int]) -> Mapping[int, str]:
    """What pdfminer reads on these pages, counted from 0; nothing where it fails as well."""
    if not numbers:
        return {}
    from pdfminer.high_level import extract_text
    from pdfminer.psexceptions import PSException  # the base of PDFException

    try:
        texts = extract_text(io.BytesIO(data), page_numbers=list(numbers)).split("\f")
    except (PSException, *_BUGS):
        return {}
    return {number: _tidy(text) for number, text in zip(numbers, texts, strict=False)}


def _tidy(text: str) -> str:
    text = text.replace("\u00ad", "").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    text = _HYPHEN.sub(lambda match: match[1] if match[1].islower() else "-" + match[1], text)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _readable(text: str) -> str:
    """The text, or "" if it is garbage."""
    return text if _garbage(text) <= _GARBAGE else ""


def _garbage(text: str) -> float:
    """Share of characters in [0, 1] that are no writing; no text at all is all garbage."""
    unmapped = len(_UNMAPPED.findall(text))
    counts = Counter("".join(_UNMAPPED.sub("", text).split()))
    odd = sum(count for character, count in counts.items() if _is_odd(character))
    total = counts.total() + unmapped
    return (odd + unmapped) / total if total else 1.0


def _is_odd(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cn", "Co")
