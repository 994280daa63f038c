"""Which lines are headings, and of which level: by size, weight and number, and by bookmarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_agent.extract.layout.lines import Line
from rag_agent.extract.layout.prose import joined

_LARGER = 1.12  # of the text's size: a heading by its size alone
_AS_LARGE = 0.88  # a heading by its weight, number or capitals
_LINES = 3  # of one heading
_CHARACTERS = 200
_BEGINNING = 8  # characters of a bookmark that a line must have
_SHORT = 90  # characters of a heading that is no larger than the text
DEEPEST = 6
_ROMAN, _LETTER, _CHAPTER = -1, -2, -3  # depths that depend on how the other headings are numbered
_LEADING = 1.7  # sizes between two lines of one heading
_NUMBER = re.compile(
    r"(?P<decimal>\d{1,2}(?:\.\d{1,3}){0,4}\.?|[A-Z](?:\.\d{1,3}){1,4}\.?)\s+(?=\S)"
    r"|(?P<roman>[IVX]{1,5}\.)\s+(?=\S)|(?P<letter>[A-Z]\.)\s+(?=\S)"
    r"|(?P<chapter>(?:chapter|part|appendix|kapitel|teil|anhang|chapitre)\s+[\dA-ZIVX]+)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:abstract|summary|introduction|conclusions?|references|bibliography|literature(?: cited)?|"
    r"acknowledge?ments?|appendix|contents|index|zusammenfassung|einleitung|fazit|literatur"
    r"(?:verzeichnis)?|résumé|références|resumen|referencias)[.:]?",
    re.IGNORECASE,
)
# It says what is below or above it, and nothing of the text after that.
_CAPTION = re.compile(
    r"(?:table|fig(?:ure|\.)?|listing|algorithm|tab(?:elle|leau|la|\.)|abb(?:ildung|\.)|figura)\s*[\dA-Z]",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\W+")


_Style = tuple[float, bool, bool]
"""Size in points, bold, in capitals."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: its title without case and blanks, and how deep it lies, from 1."""

    title: str
    level: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A heading of the lines from ``start`` to before ``end`` of block ``block`` on a page."""

    page: int
    block: int
    start: int
    end: int
    text: str
    style: _Style
    depth: int
    marked: int


def plain(text: str) -> str:
    """A title without case, blanks and punctuation."""
    return _WORDS.sub("", text).casefold()


def headings(
    pages: Sequence[Sequence[Sequence[Line]]],
    body: float,
    marks: Mapping[int, Sequence[Bookmark]],
) -> dict[tuple[int, int, int], tuple[int, int, str]]:
    """(page, block, line) → (line behind it, level from 1, text) of each heading."""
    found = [
        candidate
        for page, blocks in enumerate(pages)
        for block, lines in enumerate(blocks)
        for candidate in _candidates(page, block, lines, body, marks.get(page, ()))
    ]
    found = _without_authors(found)
    levels = _levels(found)
    return {
        (c.page, c.block, c.start): (c.end, level, c.text)
        for c, level in zip(found, levels, strict=True)
    }


def _candidates(
    page: int, block: int, lines: Sequence[Line], body: float, marks: Sequence[Bookmark]
) -> Iterator[Candidate]:
    start = 0
    none_before = 0  # lines up to here look as those around them, so none of them stands out
    while start < len(lines):
        marked = _bookmark(lines, start, marks) if marks else None
        if marked is not None:
            end, level = marked
        elif start < none_before or not _may_be_one(lines[start], body):
            start += 1
            continue
        else:
            end, level = _same_style(lines, start), 0
        text = joined(line.text for line in lines[start : min(end, start + _LINES + 1)])
        if marked is None and not _looks_like_one(lines, start, end, text, body):
            none_before = end
            continue
        font = lines[start].font
        style = (round(font.size * 2) / 2, font.bold, text.isupper())
        yield Candidate(page, block, start, end, text, style, _depth(text), level)
        start = end


def _may_be_one(line: Line, body: float) -> bool:
    """Whether the line is larger than the text, or stands out from it in another way."""
    font = line.font
    if font.size >= _LARGER * body or font.bold:
        return font.size >= _AS_LARGE * body
    return font.size >= _AS_LARGE * body and line.text.isupper()


def _same_style(lines: Sequence[Line], start: int) -> int:
    """Where the lines end that look as the one at ``start`` and follow it closely."""
    first = lines[start]
    end = start + 1
    while (
        end < len(lines)
        and abs(lines[end].font.size - first.font.size) < 0.3
        and lines[end].font.bold == first.font.bold
        and lines[end].base - lines[end - 1].base <= _LEADING * first.font.size
        # A number begins another heading.
        and not (_NUMBER.match(lines[end].text) and _NUMBER.match(first.text))
    ):
        end += 1
    return end


def _looks_like_one(lines: Sequence[Line], start: int, end: int, text: str, body: float) -> bool:
    line = lines[start]
    size = line.font.size / body if body else 1.0
    if end - start > _LINES or len(text) > _CHARACTERS or size < _AS_LARGE or line.font.mono:
        return False
    if any(_ends_in_number(other) for other in lines[start:end]):
        return False  # a line of a table of contents
    if _CAPTION.match(text):
        return False
    letters = sum(character.isalpha() for character in text)
    if letters < 3 or letters < 0.5 * len(text.replace(" ", "")):
        return False
    numbered = _NUMBER.match(text)
    if len(line.runs) > (2 if numbered else 1):
        return False  # names of authors side by side
    if size >= _LARGER:
        return True
    if len(text) > _SHORT or text[-1] in ",;-" or not (text[0].isupper() or text[0].isdigit()):
        return False
    if _NAMED.fullmatch(text) and (line.font.bold or text.isupper()):
        return True
    if not _stands_alone(lines, start, end):
        return False
    if line.font.bold:
        return text[-1] != "." or bool(numbered)
    return bool(numbered) and text.isupper() and letters >= 4


def _ends_in_number(line: Line) -> bool:
    last = line.runs[-1].text
    return len(line.runs) > 1 and (last.isdigit() or "...." in last or ". . ." in line.text)


def _stands_alone(lines: Sequence[Line], start: int, end: int) -> bool:
    """Whether there is more room above than between lines, or nothing, and text below."""
    if start == 0:
        return end < len(lines)
    size = lines[start].font.size
    above = lines[start].base - lines[start - 1].base
    below = lines[end].base - lines[end - 1].base if end < len(lines) else above
    short = lines[start - 1].right < lines[start - 1].bounds[1] - 3 * size
    return above > 1.35 * size and (above >= below or short)


def _bookmark(
    lines: Sequence[Line], start: int, marks: Sequence[Bookmark]
) -> tuple[int, int] | None:
    """(line behind it, level) of the bookmark whose title stands at ``start``."""
    text = plain(lines[start].text)
    begins = [mark for mark in marks if mark.title[:_BEGINNING] in text]
    if not begins or _ends_in_number(lines[start]):
        return None
    bare = plain(_NUMBER.sub("", lines[start].text, count=1))
    for end in range(start + 1, min(start + _LINES, len(lines)) + 1):
        for mark in begins:
            if mark.title in (text, bare):
                return end, mark.level
        if end < len(lines):
            more = plain(lines[end].text)
            text, bare = text + more, bare + more
    return None


def _depth(text: str) -> int:
    """How deep its number says that a heading lies, from 1; 0 without, or one of those above."""
    match = _NUMBER.match(text)
    if match is None:
        return 0
    if match["decimal"]:
        return match["decimal"].rstrip(".").count(".") + 1
    if match["chapter"]:
        return _CHAPTER
    return _ROMAN if match["roman"] else _LETTER


def _depths(found: Sequence[Candidate]) -> list[int]:
    """The same for all, from 1 or 0: where parts are I., II., those below are A., and then 1."""
    roman = sum(candidate.depth == _ROMAN for candidate in found) > 1
    below = {_ROMAN: 1, _LETTER: 2, 1: 3} if roman else {_ROMAN: 0, _LETTER: 0}
    below[_CHAPTER] = 1
    return [below.get(candidate.depth, candidate.depth) for candidate in found]


def _levels(found: Sequence[Candidate]) -> list[int]:
    """The level of each: as bookmarks say of it or its style, else by the order of sizes."""
    told: dict[_Style, Counter[int]] = {}
    for candidate in found:
        if candidate.marked:
            told.setdefault(candidate.style, Counter())[candidate.marked] += 1
    ranks: dict[_Style, int] = {}
    level = 0
    # Larger first, then bold, then in capitals.
    for style in sorted({c.style for c in found}, reverse=True):
        known = told.get(style)
        level = known.most_common(1)[0][0] if known else min(level + 1, DEEPEST)
        ranks[style] = level
    depths = _depths(found)
    numbered = list(zip(found, depths, strict=True))
    base = min((c.marked or ranks[c.style] for c, depth in numbered if depth == 1), default=0)
    levels = [
        candidate.marked or (base + depth - 1 if base and depth else ranks[candidate.style])
        for candidate, depth in numbered
    ]
    if base:  # an abstract or a list of references stands beside the first chapter
        levels = [
            min(level, base) if _NAMED.fullmatch(candidate.text) else level
            for candidate, level in zip(found, levels, strict=True)
        ]
    title = _title(found)
    if title is not None and levels.count(1) > 1:  # what it stands above lies below it
        levels = [
            1 if candidate is title else level + 1
            for candidate, level in zip(found, levels, strict=True)
        ]
    return [min(level, DEEPEST) for level in levels]


def _without_authors(found: Sequence[Candidate]) -> list[Candidate]:
    """Without the names and dates that stand in large letters below the title."""
    title = _title(found)
    kept = []
    below = False
    for candidate in found:
        plain_style = not (
            candidate.style[1] or candidate.depth or candidate.marked
        ) and not _NAMED.fullmatch(candidate.text)
        below = candidate is title or (
            below
            and plain_style
            and title is not None
            and (candidate.page, candidate.block) == (title.page, title.block)
        )
        if not below or candidate is title:
            kept.append(candidate)
    return kept


def _title(found: Sequence[Candidate]) -> Candidate | None:
    """The title of the document: larger than every other heading, on its first page."""
    if not found or found[0].marked:
        return None
    top = max(found, key=lambda candidate: candidate.style[0])
    others = [candidate.style[0] for candidate in found if candidate is not top]
    alone = all(size < top.style[0] for size in others)
    return top if alone and top.page == found[0].page and top.depth == 0 else None
