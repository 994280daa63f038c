"""Whether text is writing, and what pdfminer.six reads where pdfium finds none."""

from __future__ import annotations

import io
import re
import struct
import unicodedata
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence

# Share of characters that are no writing, above which a page is taken for garbage. Mathematical
# papers with private-use glyphs stay below a tenth; a font without a usable map is all of it.
_GARBAGE = 0.3
_UNMAPPED = re.compile(r"\(cid:\d+\)")  # how pdfminer writes a glyph that it cannot name
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


def second_opinions(data: bytes, numbers: Sequence[int]) -> Mapping[int, str]:
    """What pdfminer reads on the first of these pages, counted from 0, where it is writing."""
    numbers = numbers[:_SECOND_OPINIONS]
    if not numbers:
        return {}
    from pdfminer.high_level import extract_text
    from pdfminer.psexceptions import PSException  # the base of PDFException

    try:
        texts = extract_text(io.BytesIO(data), page_numbers=list(numbers)).split("\f")
    except (PSException, *_BUGS):
        return {}
    return {number: text for number, text in zip(numbers, texts, strict=False) if is_readable(text)}


def is_readable(text: str) -> bool:
    """Whether there is text, and it is no garbage."""
    if text.isascii() and text.isprintable() and "(cid:" not in text:
        return not text.isspace() and bool(text)
    return _garbage(text) <= _GARBAGE


def _garbage(text: str) -> float:
    """Share of characters in [0, 1] that are no writing; no text at all is all garbage."""
    unmapped = len(_UNMAPPED.findall(text))
    counts = Counter("".join(_UNMAPPED.sub("", text).split()))
    odd = sum(count for character, count in counts.items() if _is_odd(character))
    total = counts.total() + unmapped
    return (odd + unmapped) / total if total else 1.0


def _is_odd(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cn", "Co")
