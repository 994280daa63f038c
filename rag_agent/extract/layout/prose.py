"""Lines as they are drawn → text as it is meant: whole words, letters for glyphs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence, Set

_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
        "\u00ad": "-",
        "\u00a0": " ",
        "\u2002": " ",
        "\u2003": " ",
        "\u2009": " ",
        "\u200b": "",
        "\ufeff": "",
        "\x02": "-",
        "\ufffe": "-",
    }
)
# TeX's older fonts have no letters with accents: the accent is drawn before its letter.
_ACCENTS = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02da": "\u030a",
    "\u02dd": "\u030b",
    "\u00b8": "\u0327",
}
_ACCENTED = re.compile(
    "([\u00a8\u00b4\u02c6\u02dc\u02c7\u02d8\u02da\u02dd\u00b8]) ?([A-Za-z\u0131])"
)
# Letters of formulas: an italic x is asked for as x.
_ALPHABETS = re.compile("[\U0001d400-\U0001d7ff]+")
HYPHENS = ("-", "\u2010")
_BREAK = re.compile("([^\\W\\d_]{2,}|\\w)[-\u2010]$")
_REST = re.compile(r"(\w[\w\u2019']*)([^\w\s]*)[ ]?")
WORD = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]{2,})*")
# Chinese and Japanese are written without spaces, and broken anywhere but before a full stop.
_UNSPACED = "\u3001\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\uff08\uff09\uff0c\uff1b"
_GOES_ON = re.compile(f"[{_UNSPACED}]$")
_GOING_ON = re.compile(f"[{_UNSPACED}]")
_FULL_LINE = 15  # characters; a shorter line is a title or the end of a paragraph
_MARKUP = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|(?:=+|-+)\s*$)")
_FENCE = re.compile(r"([ >]*)(`{3,}|~{3,})")


def tidy(text: str) -> str:
    """Ligatures as letters, accents on their letters, no characters that are only for layout."""
    if text.isascii():
        return text
    text = _ALPHABETS.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return _ACCENTED.sub(_compose, text.translate(_LIGATURES))


def _compose(match: re.Match[str]) -> str:
    letter = "i" if match[2] == "\u0131" else match[2]
    composed = unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])
    return composed if len(composed) == 1 else match[0]


def joined(lines: Iterable[str]) -> str:
    """Lines as one, words that are broken between them as whole."""
    whole = ""
    for line in lines:
        broken = _BREAK.search(whole) and line[:1].islower()
        whole = whole[:-1] + line if broken else f"{whole} {line}".strip()
    return whole


def no_markup(text: str) -> str:
    """A line that Markdown would take for a heading, a rule or a fence, indented or escaped."""
    if _MARKUP.match(text):
        return "    " + text.lstrip()
    return _FENCE.sub(r"\1\\\2", text, count=1) if _FENCE.match(text) else text


def rejoin(
    lines: list[str],
    joins: Sequence[bool],
    words: Callable[[], Set[str]],
    pages: Container[int] = (),
) -> list[int]:
    """Put the rest of a word that is broken at the end of a line there, in place.

    Returns the lines of which nothing is left: all the rest of a line where words have no spaces
    between them. ``joins`` says of each line whether it is running text, ``words`` are those of the
    document, ``pages`` the lines at which one begins, which stay on it.
    """
    known: Set[str] | None = None
    gone: list[int] = []
    previous = -1
    full = False  # whether the line before was long enough to be broken
    for index, line in enumerate(lines):
        if not line:
            continue
        broken = None
        if joins[index] and previous >= 0:
            above = lines[previous]
            follows = previous == index - 1 - _count_last(gone, index) and index not in pages
            if follows and full and _GOES_ON.search(above) and _GOING_ON.match(line):
                lines[previous], lines[index] = above + line, ""
                gone.append(index)
                full = len(line) >= _FULL_LINE
                continue
            broken = _BREAK.search(above) if above.endswith(HYPHENS) else None
        rest = _REST.match(line) if broken else None
        if broken and rest and (rest[1][0].islower() or _stays(broken[1], rest[1])):
            known = words() if known is None else known
            hyphen = "-" if _is_compound(broken[1], rest[1], known) else ""
            lines[previous] = lines[previous][: broken.end(1)] + hyphen + rest[1] + rest[2]
            lines[index] = line[rest.end() :]
            if not lines[index]:
                gone.append(index)
                continue
        previous = index if joins[index] else -1
        full = len(line) >= _FULL_LINE
    return gone


def _count_last(gone: Sequence[int], index: int) -> int:
    """How many lines right before this one are gone."""
    count = 0
    while count < len(gone) and gone[-1 - count] == index - 1 - count:
        count += 1
    return count


def _is_compound(start: str, rest: str, known: Set[str]) -> bool:
    """Whether the hyphen belongs to the word, as the rest of the document tells."""
    if not rest[0].islower():
        return True
    start, rest = start.lower(), rest.lower()
    if start + rest in known:
        return False
    return f"{start}-{rest}" in known or (start in known and rest in known and len(rest) > 2)


def _stays(start: str, rest: str) -> bool:
    """A hyphen before a capital or a number was one: Anglo-Saxon, pre-1990."""
    return len(start) > 1 and (rest[0].isupper() or rest[0].isdigit())
