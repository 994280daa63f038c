"""Words of text and code, and how many model tokens a text costs."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

import Stemmer  # PyStemmer: the Snowball project's own C implementation

# Chinese, Japanese, Korean: scripts without spaces between words (Unicode blocks Hiragana to
# Katakana, CJK extension A, unified ideographs, compatibility ideographs, Hangul syllables, the
# rarer ideographs of planes 2 and 3).
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U000323af"
_ASCII_RUN = re.compile(r"[A-Za-z0-9_]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")  # for names with letters beyond A-Z
_ACCENTS = re.compile("[\u0300-\u036f]")
_WIDE = "[\u2e80-\U0010ffff]"
_CONTRACTION = re.compile(r"(?<=[a-z])['\u2019](?:d|ll|m|re|s|t|ve)\b", re.IGNORECASE)
# Characters. A longer run is a word only if its parts look like words: names of tests are
# sentences, but the parts of hashes and base64 are one or two characters long.
_LONGEST = 64
_SHORTEST_MEAN_PART = 3
# Of a question: words after which a word weighs about a third of what is above the least.
_FADING = 10
_LEAST_WEIGHT = 0.25

# Words that carry no meaning in a question. Written for this project: English function words and
# the verbs with which people address a tool.
STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn did didn do does doesn doing don down during
    each else ever every few for from further get gets give given go goes had has hasn have haven
    having he her here hers him his how i if in into is isn it its itself just let like make
    makes may me might more most much must my need needs no nor not now of off on once one only or
    other our ours out over own please same shall she should shouldn show so some such than
    that the their theirs them then there these they this those through to too under until up us use
    used uses using very want was wasn we were weren what when where whether which while who whom
    whose why will with within without won would wouldn you your yours
    """.split()
)


def split_identifier(name: str) -> list[str]:
    """The lower-case parts of an identifier: ``getHTTPResponse`` gives get, http, response."""
    parts = _CAMEL if name.isascii() else _LETTERS_OR_DIGITS
    return [part.lower() for part in parts.findall(name)]


def words(text: str) -> list[str]:
    """Stems in order of appearance, for the word index and for questions alike.

    An identifier of several parts yields itself (lower case, no underscores) and then its parts;
    a run of Chinese, Japanese or Korean characters yields its bigrams.
    """
    found: list[str] = []
    for run in runs(text):
        found.extend(stems(run))
    return found


def runs(text: str) -> list[str]:
    """The unbroken runs of letters, digits and underscores, one script each, folded."""
    # ASCII is by far the common case, and needs neither folding nor the other scripts.
    pattern = _ASCII_RUN if text.isascii() else _compiled(rf"[{_CJK}]+|[^\W{_CJK}]+")
    found: list[str] = pattern.findall(without_accents(text))
    return found


def count_words(text: str) -> Counter[str]:
    """How often a text has each of its words."""
    return Counter(itertools.chain.from_iterable(map(stems, runs(text))))


# Questions of one session meet the same passages again and again, 200 each. A passage takes about
# 3 KB here; those of 20 questions that have none in common fit.
@lru_cache(maxsize=4_000)
def passage_counts(text: str) -> tuple[Mapping[str, int], int]:
    """How often a passage has each of its words, and how many these are; remembered."""
    counts = count_words(text)
    return counts, counts.total()


def query_words(question: str) -> dict[str, float]:
    """Stems that carry meaning, with their weights; stop words only if alone.

    A stem weighs as much as all its occurrences: the first word of the question 1, later ones ever
    less, none below a quarter. Whoever writes much says first what it is about: this gains 0.009
    nDCG@10 on messages of commits and 0.001 on short questions.
    """
    weights: dict[str, float] = {}
    place = 0
    # Without the tails of "isn't" and "they're": as words they would be noise, or Python's re.
    for run in runs(_CONTRACTION.sub("", question)):
        if run.lower() not in STOP_WORDS:
            weight = _LEAST_WEIGHT + (1 - _LEAST_WEIGHT) * math.exp(-place / _FADING)
            place += 1
            for stem in stems(run):
                weights[stem] = weights.get(stem, 0.0) + weight
    if weights:
        return weights
    # A question of nothing but stop words ("how to use it") still deserves a search.
    return dict.fromkeys(words(question), 1.0)


def estimate_tokens(text: str) -> int:
    """Model tokens of a text, an estimate on the high side; never less for a longer text.

    A token holds 3.3 characters of code with the WordPiece vocabulary of MiniLM and more with those
    of language models (three are counted); of other alphabets about two, of CJK and emoji one.
    """
    if text.isascii():
        return -(-len(text) // 3)
    wide = len(_compiled(_WIDE).findall(text))
    ascii_only = len(text.encode("ascii", "ignore"))
    return wide + -(-(len(text) - wide - ascii_only) // 2) + -(-ascii_only // 3)


def without_accents(text: str) -> str:
    """Compatibility forms and accents folded (full-width a, ligatures, e with acute)."""
    if text.isascii():
        return text
    # Composed again at the end, or Hangul syllables would stay apart in their letters.
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


@lru_cache(maxsize=200_000)
def stems(run: str) -> tuple[str, ...]:
    """The words of one of the ``runs``."""
    if is_unspaced(run):
        return tuple(_bigrams(run))
    parts = split_identifier(run)
    if len(run) > _LONGEST:
        if len(run) < _SHORTEST_MEAN_PART * len(parts):
            return ()
        return tuple(_stem(part) for part in parts if len(part) <= _LONGEST)
    if len(parts) == 1:
        return (_stem(parts[0]),)
    joined = run.replace("_", "").lower()
    whole = (_stem(joined),) if joined else ()
    return whole + tuple(_stem(part) for part in parts)


def is_unspaced(run: str) -> bool:
    """Whether a run is Chinese, Japanese or Korean, which need no spaces between words."""
    return run[0] >= "\u3040" and _compiled(f"[{_CJK}]").match(run) is not None


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for first, second in itertools.pairwise(run):
        yield first + second


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of large character classes, which take milliseconds to compile."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("porter")


def _stem(word: str) -> str:
    # Porter leaves nothing of a lone "s"; a word index cannot hold an empty word.
    return str(_stemmer().stemWord(word)) or word
