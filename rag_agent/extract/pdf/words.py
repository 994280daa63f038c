"""What stands where on a page: pdfium's characters as runs of words with their place and font."""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rag_agent.extract.layout.sheet import Font, Run, Sheet, Turned
from rag_agent.extract.pdf.calls import Calls, load

if TYPE_CHECKING:
    import pypdfium2

# pdfium writes a hyphen at the end of a line as one of these and goes on with the next line.
HYPHENS = "\x02\ufffe"
_WORD = re.compile(rf"[^\s{HYPHENS}\0]+[{HYPHENS}]?|[{HYPHENS}]")
# The weight that pdfium tells is a guess: of Times-Roman it says 695, of CMBX10 570.
_BOLD = re.compile(
    r"bold|black|heavy|demi|medi(?!um)|cmb|ss?bx|sfbx|ecbx|-bd\b|,bd|(?-i:[TO][BZ])$",
    re.IGNORECASE,
)
_MONO = re.compile(r"courier|mono|cmtt|sftt|lmtt|typewriter|consol|cour\b|nimbusmon", re.IGNORECASE)
# Flags of a font, PDF 32000-1, table 123.
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18

_SPACE = 0.9  # sizes; a wider gap parts columns of a text or cells of a table
_BACK = 0.7  # sizes; what begins further back begins anew
_SAME_LINE = 0.55  # sizes; raised and lowered characters stay with their line

_ASKEW = 0.15  # quarters; a watermark across the page is neither upright nor turned
_NAME_BYTES = 128
_BOXES = struct.Struct("8f")
_HALVES = re.compile("[\ud800-\udfff]")


_Ink = tuple[Font, int, float]
"""What a text object says for all its characters: font, turn, base line.

The turn counts quarters, left-about; 4 is any other angle. The base line lies across the writing,
in points of the page.
"""
_Box = tuple[float, float, float, float]
"""Left, bottom, right, top in points of the page."""
_Word = tuple[str, float, float, float, float, _Ink]
"""A word, then left, bottom, right and top of the whole of it."""

# Tuples and one long loop, for there are 500 words on a page and 1.5 ms of pdfium's own time.


def sheet(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage) -> Sheet:
    """The words of a page by their places.

    Costs three calls of pdfium a word and four a text object, about as much as reading the text.
    """
    box = page.get_bbox()
    by_turn = _words(text_page, box)
    letters = [sum(len(word[0]) for word in words) for words in by_turn]
    upright = max(range(4), key=letters.__getitem__)
    turned = [
        found
        for turn, words in enumerate(by_turn)
        if words and turn != upright
        for found in _turned(words, upright, box)
    ]
    width, height = box[2] - box[0], box[3] - box[1]
    if upright % 2:
        width, height = height, width
    return Sheet(tuple(_runs(by_turn[upright], upright, box)), tuple(turned), width, height)


def _turned(words: Sequence[_Word], upright: int, box: _Box) -> Iterator[Turned]:
    """Words with one base line together."""
    parts: list[str] = []
    across, base = 0.0, None
    for word, *edges, ink in words:
        if parts and ink[2] != base:
            yield Turned(" ".join(parts), across)
            parts = []
        if not parts:
            across, base = sum(_along(edges, upright, box)) / 2, ink[2]
        parts.append(word)
    if parts:
        yield Turned(" ".join(parts), across)


def _along(edges: Sequence[float], turn: int, box: _Box) -> tuple[float, float]:
    """Where a word begins and ends in the direction of upright text."""
    left, bottom, right, top = edges
    if turn == 0:
        return left - box[0], right - box[0]
    if turn == 1:
        return bottom - box[1], top - box[1]
    if turn == 2:
        return box[2] - right, box[2] - left
    return box[3] - top, box[3] - bottom


def _runs(words: Sequence[_Word], turn: int, box: _Box) -> Iterator[Run]:
    """Neighbouring words joined. Raised ones stay in the line of those before them."""
    # From the top of the page downwards, as upright text sees it.
    top, sign = ((box[3], -1), (-box[0], 1), (-box[1], 1), (box[2], -1))[turn]
    origin = box[0]
    parts: list[str] = []
    letters: dict[Font, int] = {}  # by fonts, where there are several
    font: Font | None = None
    start = end = base = size = 0.0
    weight = order = 0
    for word, low, bottom, high, upper, ink in words:
        if turn:
            left, right = _along((low, bottom, high, upper), turn, box)
        else:
            left, right = low - origin, high - origin
        own, _, across = ink
        here = top + sign * across
        larger = own.size if own.size > size else size
        if parts and (
            not -_SAME_LINE * larger <= here - base <= _SAME_LINE * larger
            or not -_BACK * larger <= left - end <= _SPACE * larger
            or parts[-1][-1] in HYPHENS
        ):
            assert font is not None
            yield _run(parts, start, end, base, font, letters, order)
            order += 1
            parts, letters, font, weight, size = [], {}, None, 0, 0.0
        if not parts:
            start = end = left
            font = own
        elif own is not font or letters:
            assert font is not None
            if not letters:
                letters[font] = sum(map(len, parts))
            letters[own] = letters.get(own, 0) + len(word)
        parts.append(word)
        if right > end:
            end = right
        if own.size > size * 1.1 or (own.size > size * 0.9 and len(word) > weight):
            base, weight, size = here, len(word), own.size
    if parts:
        assert font is not None
        yield _run(parts, start, end, base, font, letters, order)


def _run(
    parts: list[str],
    start: float,
    end: float,
    base: float,
    font: Font,
    letters: Mapping[Font, int],
    order: int,
) -> Run:
    text = " ".join(parts)
    if not text.isascii() and _HALVES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    broken = text[-1] in HYPHENS
    most = max(letters, key=letters.__getitem__) if letters else font
    if most.bold and not all(other.bold for other in letters):
        most = Font(most.size, False, most.mono)  # a word at the beginning of a line of text
    return Run(text[:-1] + "-" if broken else text, start, end, base, most, order, broken)


def _words(text_page: pypdfium2.PdfTextPage, limits: _Box) -> list[list[_Word]]:
    """The words within the page by their turns, in the order of pdfium."""
    calls = load()
    page = ctypes.cast(text_page.raw, ctypes.c_void_p).value or 0
    text = _characters(text_page, page, calls)
    found: list[list[_Word]] = [[], [], [], [], []]
    buffer = (ctypes.c_float * 8)()
    first = ctypes.addressof(buffer)
    last = first + 16
    known: dict[int | None, _Ink] = {}
    styles = _Styles(calls, page)
    box, text_object, unpack = calls.box, calls.text_object, _BOXES.unpack
    most_left, lowest, most_right, highest = limits
    for match in _WORD.finditer(text):
        start, end = match.span()
        pointer = text_object(page, start)
        ink = known.get(pointer)
        if ink is None:
            ink = known[pointer] = styles.ink(start, pointer)
        if not box(page, start, first):
            continue
        # Of each box left, top, right, bottom (struct FS_RECTF_ of fpdfview.h).
        if end - start > 1 and box(page, end - 1, last):
            left, top, right, bottom, left_2, top_2, right_2, bottom_2 = unpack(buffer)
            # Of a hyphen that pdfium made up there is no box.
            if right_2 or left_2:
                left = left_2 if left_2 < left else left
                bottom = bottom_2 if bottom_2 < bottom else bottom
                right = right_2 if right_2 > right else right
                top = top_2 if top_2 > top else top
        else:
            left, top, right, bottom = unpack(buffer)[:4]
        if (
            most_left <= (left + right) / 2 <= most_right
            and lowest <= (bottom + top) / 2 <= highest
        ):
            found[ink[1]].append((match[0], left, bottom, right, top, ink))
    return found


# TeX's T1 fonts have these at places that are control characters elsewhere, and older files do not
# say what they are. One for one, as each character keeps its place on the page.
_LIGATURES = dict(zip(range(0x1B, 0x20), "\ufb00\ufb01\ufb02\ufb03\ufb04", strict=True))


def _characters(text_page: pypdfium2.PdfTextPage, page: int, calls: Calls) -> str:
    """The text in which each character has the place that pdfium counts it at."""
    count = text_page.count_chars()
    text: str = text_page.get_text_range() if count else ""
    if len(text) == count:
        return text.translate(_LIGATURES)
    # Characters beyond the basic plane, which are two, or some that the text leaves out.
    codes = (calls.unicode(page, index) for index in range(count))
    told = "".join(chr(code) if code < 0x110000 else "\ufffd" for code in codes)
    return told.translate(_LIGATURES)


class _Styles:
    """How the characters of a page look; each font and size is one value."""

    def __init__(self, calls: Calls, page: int) -> None:
        self._calls = calls
        self._page = page
        self._looks: dict[int | None, tuple[bool, bool]] = {}
        self._fonts: dict[tuple[float, tuple[bool, bool]], Font] = {}
        self._matrix = (ctypes.c_float * 6)()
        self._address = ctypes.addressof(self._matrix)

    def ink(self, index: int, pointer: int | None) -> _Ink:
        """Of the text object at ``pointer``, which the character at ``index`` is part of."""
        calls, page = self._calls, self._page
        if not calls.matrix(page, index, self._address):
            return Font(0.0, False, False), 0, 0.0
        a, b, c, d, e, f = self._matrix
        turn = 0
        if b != 0.0 or a < 0.0:
            quarters = math.atan2(b, a) / (math.pi / 2)
            turn = round(quarters) % 4 if abs(quarters - round(quarters)) < _ASKEW else 4
        size = round(calls.size(page, index) * (abs(d) if c == 0.0 else math.hypot(c, d)), 1)
        key = calls.font(pointer) if pointer else None
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = _look(calls, page, index)
        font = self._fonts.get((size, look))
        if font is None:
            font = self._fonts[size, look] = Font(size, *look)
        return font, turn, e if turn % 2 else f


def _look(calls: Calls, page: int, index: int) -> tuple[bool, bool]:
    """Whether the font of a character is bold, and whether all its characters are as wide."""
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    flags = ctypes.c_int()
    length = calls.font_info(
        page, index, ctypes.addressof(buffer), _NAME_BYTES, ctypes.addressof(flags)
    )
    name = buffer.value.decode("utf-8", "replace") if length <= _NAME_BYTES else ""
    name = name.rpartition("+")[2]  # without the tag of a subset
    bold = bool(flags.value & _FORCE_BOLD) or bool(_BOLD.search(name))
    return bold, bool(flags.value & _FIXED_PITCH) or bool(_MONO.search(name))
