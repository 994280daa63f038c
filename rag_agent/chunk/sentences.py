"""Where sentences begin, in whatever language, and parts of a text that are whole sentences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

# A document does not say in which language it is written, and many mix two. So a sentence ends
# where the rules of all of these agree that one does: each knows its own abbreviations ("Dr.",
# "z. B.", "p. ex.", "EE. UU."), and all know the full stops of Chinese, Japanese and Korean. More
# languages make it no better: Italian takes the word "it" for an abbreviation, Polish knows none.
_LANGUAGES = ("en", "de", "fr", "es")
# Characters that are looked at together. The library takes the square of the time for what lies
# between quotation marks that are never closed: of 2 MB so 6 seconds, and minutes of all at once.
_BLOCK = 5_000
_END = re.compile("[.!?\u2026\u3002\uff01\uff1f\uff61\u0964\u061f]")
# What stands in for the library where it has no wheel: Python 3.10 on a Mac.
_PLAIN_START = re.compile(
    "[.!?\u2026][\"\u00bb\u201c\u201d\u2019')\\]]*\\s+(?=[\"\u00ab\u201c\u201e'(\\[]*[^\\Wa-z_])"
    "|[\u3002\uff01\uff1f][\u300d\u300f\u201d\uff09]*"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Where no sentence ends, the first of these that occurs is where a text is cut. Texts without
# capital letters have the first ones all the same, a row of a table has the next.
_WEAKER = (". ", "! ", "? ", " | ", "; ", "\uff1b", ": ", "\uff1a", ", ", "\uff0c", "\u3001", " ")


def sentence_starts(text: str) -> list[int]:
    """The places at which a sentence begins, in order, without the beginning of the text."""
    if not _END.search(text):
        return []
    # The library is written in Rust, which knows no half characters.
    sound = _SURROGATE.sub("?", text)
    starts: list[int] = []
    begin = 0
    while begin < len(sound):
        found = _agreed(sound[begin : begin + _BLOCK])
        starts += [begin + start for start in found]
        if begin + _BLOCK >= len(sound):
            break
        # The next block begins with the last sentence, or "Dr. Smith" would be torn.
        begin += found[-1] if found and found[-1] > _BLOCK // 2 else _BLOCK
    return sorted(set(starts))


def _agreed(text: str) -> list[int]:
    try:
        import sentencex
    except ImportError:
        return [found.end() for found in _PLAIN_START.finditer(text) if found.end() < len(text)]
    agreed: set[int] = set()
    for number, language in enumerate(_LANGUAGES):
        parts = sentencex.segment(language, text)
        places = set(accumulate(len(part) for part in parts))
        agreed = agreed & places if number else places
        if not agreed:
            break
    return sorted(agreed - {0, len(text)})


def parts_of(text: str, preferred: int, most: int) -> Iterator[tuple[int, int]]:
    """``(begin, end)`` of parts of whole sentences that follow one another, without a gap.

    They have about ``preferred`` characters and never more than ``most``; a sentence that is longer
    is cut at a lesser mark or between words.
    """
    starts = [*sentence_starts(text), len(text)]
    begin = 0
    while len(text) - begin > most:
        end = _best_end(text, starts, begin, preferred, most)
        yield begin, end
        begin = end
    if begin < len(text):
        yield begin, len(text)


def _best_end(text: str, starts: Sequence[int], begin: int, preferred: int, most: int) -> int:
    """The end of a sentence that is nearest to the preferred size, else another place to cut."""
    left = len(text) - begin
    # Nothing small is left behind: of little more than one part two are made that are equally long.
    size = min(preferred, -(-left // 2)) if left <= most + preferred // 2 else preferred
    first = bisect_left(starts, begin + size // 2)
    ends = starts[first : bisect_right(starts, begin + most)]
    if ends:
        return min(ends, key=lambda end: abs(end - begin - size))
    latest = begin + preferred
    for mark in _WEAKER:
        place = text.rfind(mark, begin + preferred // 2, latest)
        if place >= 0:
            return place + len(mark)
    return latest
