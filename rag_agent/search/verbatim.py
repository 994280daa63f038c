"""What a text has of a question word for word.

Whoever types ``--no-cache`` or pastes an error message wants the place where just that stands,
whatever kind of file it is in and however well others fit the single words.
"""

from __future__ import annotations

import re

from rag_agent.search.asking import ASKING
from rag_agent.tokens import (
    STOP_WORDS,
    is_unspaced,
    runs,
    split_identifier,
    stems,
    without_accents,
    words,
)

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rag_agent.search.question import Question
    from rag_agent.store import Filter, Store
    from rag_agent.store.glance import Glance
    from rag_agent.types import Kind

COVERED = 0.5
"""The share of the question's words that a chunk must have to be compared: with less of it word for
word it would gain next to nothing."""

# Passages that may have a literal; what more have tells too little. To count it for some of them
# only, those that are read, would put these above others with as much of it.
_HOLDERS = 30
_IN_A_ROW = 4  # words, stop words among them; three stand together by chance
# In documents, which name in few words what the code does that is sought.
_IN_A_ROW_OF_PROSE = 6
_TELLING = 2  # of them, so many that are no stop words
_UNSPACED_WORD = 2  # characters, about a word of Chinese or Japanese
_MOST_WORDS = 64  # a longer text says too much in other words for any row of it to be the point
_MOST_LITERALS = 8
_MOST_CHARACTERS = 120  # of a literal
# A word with a hyphen ("case-insensitive") is seldom meant letter by letter, but for a name that is
# most of what is asked for.
_MOSTLY = 0.5
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)|“([^“”\n]+)”|「([^「」\n]+)」"
)
_PIECE = re.compile(r"\S+")
_WIDE = "「」『』\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # such marks of East Asia
_BEFORE = f"()[]{{}}<>\"'`“”,;:!?*|{_WIDE}"  # names of files may begin with a dot
_BEHIND = f"{_BEFORE}."
_LINE = re.compile(r"(?::\d+){1,2}$|#l\d+$")  # behind a path
_QUALIFIED = re.compile(r"(\S*\w)(?:\.|::|#|->|\\)(\w+)(?:\(\S*)?")
_NAME = re.compile(r"\w+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-'\u2019/][^\W\d_]+)+")
# Quotation marks, dashes and points beyond ASCII, the wide ones of East Asia included.
_MARKS = re.compile("[\u00a0-\u00bf\u2000-\u206f\u3000-\u303f]+")
_LETTERS = bytes(one if one >= 128 or chr(one).isalnum() else 32 for one in range(256))


class Literal:
    """A piece of the question that means itself: a name of several parts, or what is quoted.

    ``written`` is in lower case, ``phrase`` its words as the word index has them in a row,
    ``name`` is what ``module::name`` is called where it is defined, "" if it is nothing like that,
    and ``qualifiers`` are the names before it. ``path`` begins with a slash, "" if it can be none.
    One ``is_common`` if so many texts have it that this tells nothing.
    """

    __slots__ = ("is_common", "is_compound", "name", "path", "phrase", "qualifiers", "written")

    def __init__(self, written: str, own: Sequence[str], *, is_compound: bool) -> None:
        self.written = written.lower()
        plain = self.written.replace("\\", "/").removeprefix("./").lstrip("/")
        self.path = f"/{plain}" if "." in plain or "/" in plain else ""
        # Of a single name the whole of it is enough.
        is_name = len(own) == 1 and not is_unspaced(own[0])
        self.phrase = stems(own[0])[:1] if is_name else tuple(words(written))
        qualified = _QUALIFIED.fullmatch(self.written)
        self.name = qualified[2] if qualified else ""
        self.qualifiers = _NAME.findall(qualified[1]) if qualified else []
        self.is_compound = is_compound
        self.is_common = False

    def is_in(self, folded: str) -> bool:
        """Whether a text in lower case has it, and not as a part of longer words."""
        if self.is_common:
            return False
        goes_on = _goes_on_with_hyphen if "-" in self.written else _goes_on
        start = folded.find(self.written)
        while start >= 0:
            end = start + len(self.written)
            if not (goes_on(folded, start) or goes_on(folded, end)):
                return True
            start = folded.find(self.written, start + 1)
        return False

    def is_defined(self, defined: Collection[str], folded: str, path: str) -> bool:
        """Whether its name is among those defined by a text that belongs to what is before it."""
        return self.name in defined and all(one in folded or one in path for one in self.qualifiers)

    def is_path(self, path: str) -> bool:
        """Whether it is a path in lower case, or the end of it, or ends with it."""
        return self.path != "" and (
            f"/{path}".endswith(self.path) or ("/" in path and self.path.endswith(f"/{path}"))
        )


class Wording:
    """A question word for word; ``literals`` are to be looked for by their phrases."""

    __slots__ = ("_asking", "_places", "_rows", "_total", "_weights", "_words", "literals")

    def __init__(self, text: str, rarity: Mapping[str, float]) -> None:
        said = _plain(text.lower()).split()
        self._words = said if len(said) <= _MOST_WORDS else []
        self._weights = [_weight(word.decode("utf-8"), rarity) for word in self._words]
        self._total = sum(self._weights)
        self._asking = [n for n, word in enumerate(self._words) if word.decode("utf-8") in ASKING]
        self.literals = _literals(text) if self._total else []
        self._places = [self._where(literal) for literal in self.literals]
        self._rows: dict[int, list[bytes]] = {}

    @property
    def says_little(self) -> bool:
        """Whether no text can have anything of it word for word."""
        return not self.literals and len(self._words) < _IN_A_ROW

    def share(self, text: str, path: str, kind: Kind, defined: Collection[str]) -> float:
        """The share of the question that a piece of a file has word for word, in [0, 1].

        By the rarity of words. It has the literals that its ``text`` has, that its ``path`` is, or
        whose name it has ``defined`` (names in lower case), and rows of words of the text.
        """
        folded, path = text.lower(), path.lower()
        found = self._in_rows(_plain(folded), _IN_A_ROW if kind == "code" else _IN_A_ROW_OF_PROSE)
        for literal, places in zip(self.literals, self._places, strict=True):
            if places and (
                literal.is_in(folded)
                or literal.is_path(path)
                or literal.is_defined(defined, folded, path)
            ):
                found |= places
        return self._share(found)

    def named(self, paths: Sequence[str]) -> list[int]:
        """Places of the paths which one of the literals is, or the end of which it is."""
        literals = [literal for literal in self.literals if literal.path]
        if not literals:
            return []
        folded = [path.lower() for path in paths]
        return [n for n, path in enumerate(folded) if any(one.is_path(path) for one in literals)]

    def _in_rows(self, text: bytes, least: int) -> set[int]:
        """Where the words stand that are part of a row of words which the text has too."""
        found: set[int] = set()
        own, start, count = self._words, 0, len(self._words)
        if least not in self._rows:
            rows = [_row(own[place : place + least]) for place in range(count - least + 1)]
            self._rows[least] = rows
        if not any(row in text for row in self._rows[least]):  # as mostly
            return found
        while start + least <= count:
            end = start + least
            if _row(own[start:end]) not in text:
                start += 1
                continue
            while end < count and _row(own[start : end + 1]) in text:
                end += 1
            if sum(weight > 0 for weight in self._weights[start:end]) >= _TELLING:
                found.update(range(start, end))
            start = end
        return found

    def _where(self, literal: Literal) -> set[int]:
        """Where the words of a literal stand; nowhere if it does not count."""
        own = _plain(literal.written).split()
        found: set[int] = set()
        for start in range(len(self._words) - len(own) + 1):
            if self._words[start : start + len(own)] == own:
                found.update(range(start, start + len(own)))
        counts = not literal.is_compound or self._share(found) >= _MOSTLY
        return found if counts else set()

    def _share(self, places: set[int]) -> float:
        """Of all that is not only there to ask, as "where is … defined"."""
        asked = sum(self._weights[place] for place in self._asking if place not in places)
        if not places or asked >= self._total:
            return 0.0
        return sum(self._weights[place] for place in sorted(places)) / (self._total - asked)


def wording_of(question: Question) -> Wording:
    """The question's wording, which is remembered with it."""
    if question.wording is None:
        nothing = dict.fromkeys(question.absent, 0.0)
        question.wording = Wording(question.text, {**question.rarity, **nothing})
    return question.wording


def holders(
    question: Question, store: Store | Glance, where: Filter | None = None
) -> dict[int, int]:
    """The chunks of passages that have a literal of the question, by the ids of the passages."""
    found: dict[int, int] = {}
    for literal in wording_of(question).literals:
        pairs = store.match_phrase(literal.phrase, _HOLDERS + 1, where)
        literal.is_common = len(pairs) > _HOLDERS
        if not literal.is_common:
            found.update(pairs)
    return dict(sorted(found.items()))


def _literals(text: str) -> list[Literal]:
    found: dict[str, Literal] = {}
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    single = [one.lstrip(_BEFORE).rstrip(_BEHIND) for one in _PIECE.findall(text)]
    for piece in (*quoted, *(_LINE.sub("", one) for one in single)):
        written = piece.strip()
        own = runs(written) if len(written) <= _MOST_CHARACTERS else []
        if not _is_telling(own):
            continue
        literal = Literal(written, own, is_compound=_COMPOUND.fullmatch(written) is not None)
        if literal.phrase:
            found.setdefault(literal.written, literal)
    return list(found.values())[:_MOST_LITERALS]


def _is_telling(own: Sequence[str]) -> bool:
    """Whether a piece with these runs has words enough that it is not there by chance."""
    unspaced = sum(len(run) for run in own if is_unspaced(run))
    rest = sum(len(split_identifier(run)) for run in own if not is_unspaced(run))
    return rest + unspaced // _UNSPACED_WORD >= (_IN_A_ROW if unspaced else _TELLING)


def _weight(word: str, rarity: Mapping[str, float]) -> float:
    """What a word counts: what stands nowhere in the index, nothing."""
    if word in STOP_WORDS:
        return 0.0
    known = [rarity[stem] for run in runs(word) for stem in stems(run) if stem in rarity]
    return max(known, default=0.0)


def _plain(folded: str) -> bytes:
    """The words of a text in lower case with a space around each."""
    if not folded.isascii():
        folded = _MARKS.sub(" ", without_accents(folded))
    return _row(folded.encode("utf-8", "replace").translate(_LETTERS).split())


def _row(some: Sequence[bytes]) -> bytes:
    return b" " + b" ".join(some) + b" "


def _goes_on(text: str, place: int, skipped: int = 0) -> bool:
    """Whether a word goes on across a place in a text, behind some skipped characters."""
    return (
        0 < place < len(text) - skipped
        and _is_letter(text[place - 1])
        and _is_letter(text[place + skipped])
    )


def _goes_on_with_hyphen(text: str, place: int) -> bool:
    """The same of a word with hyphens: ``--no-cache`` is not meant by ``--no-cache-dir``."""
    if text[place : place + 1] == "-":
        return _goes_on(text, place, 1)
    return _goes_on(text, place - 1, 1) if text[place - 1] == "-" else _goes_on(text, place)


def _is_letter(one: str) -> bool:
    return (one.isalnum() or one == "_") and not is_unspaced(one)
