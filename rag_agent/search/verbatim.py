"""What a text has of a question word for word.

Whoever types ``--no-cache`` or pastes an error message wants the place where just that stands,
whatever kind of file it is in and however well others fit the single words.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rag_agent.search.question import Question
    from rag_agent.store import Filter, Store
    from rag_agent.store.glance import Glance
    from rag_agent.types import Kind

WHOLE = 0.99
"""The share from which on all of a question stands there."""

_COVERED = 0.4  # of a question; what has less of it word for word would gain next to nothing

# Passages that may have a literal; what more have tells too little. To count it for some of them
# only, those that are read, would put these above others with as much of it.
_HOLDERS = 30
_IN_A_ROW = 4  # words, stop words among them; three stand together by chance
# In documents, which name in few words what the code does that is sought.
_IN_A_ROW_OF_PROSE = 6
_TELLING = 2  # of them, so many that are no stop words; of a longer row one
_LONG_ROW = 6
# A question with so few words that are no stop words is looked for by some of its rows: what it is
# compared with otherwise has these words, and that may be half of the index.
_FEW_TELLING, _MOST_ROWS = 3, 4
# Characters that stand in the code of a message for what is filled in when it is said.
_GAP = 40
_VALUE = 3  # words of a quotation
_STARTS = 20  # places of a text at which such a message is tried to begin
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
_BEFORE = f"()[]{{}}<>\"'`“”,;:!?*|@{_WIDE}"  # names of files may begin with a dot
_BEHIND = f"{_BEFORE}."
_LINE = re.compile(
    r"(?::\d+){1,2}$|#l\d+(?:-l\d+)?$|\(\d+(?:,\d+)?$", re.IGNORECASE
)  # behind a path
_QUALIFIED = re.compile(r"(\S*\w)(?:\.|::|#|->|\\)(\w+)(?:\(\S*)?")
_NAME = re.compile(r"\w+")
_BETWEEN = r"[\W_]+"  # words of a row
_KEYS = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-'\u2019/][^\W\d_]+)+")
# Quotation marks, dashes and points beyond ASCII, the wide ones of East Asia included.
_MARKS = re.compile("[\u00a0-\u00bf\u2000-\u206f\u3000-\u303f]+")
_LETTERS = bytes(one if one >= 128 or chr(one).isalnum() else 32 for one in range(256))


class Literal:
    """A piece of the question that means itself: a name of several parts, or what is quoted.

    ``written`` is in lower case, ``phrase`` its words as the word index has them in a row,
    ``name`` is what ``module::name`` is called where it is defined, "" if it is nothing like that,
    and ``qualifiers`` are the names before it. ``path`` begins with a slash, "" if it can be none.
    ``forms`` are how texts in lower case write it; ``constant`` is how a text that means it must,
    "" if any case will do. ``keys`` are those of ``a.key.of.settings``, outermost first. One does
    not ``count_in_texts`` if so many have it that this tells nothing, or if it is meant as the path
    of a file.
    """

    __slots__ = (
        "constant",
        "counts_in_texts",
        "forms",
        "is_compound",
        "keys",
        "name",
        "path",
        "phrase",
        "qualifiers",
        "written",
    )

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
        self.constant = written if written.isupper() and written.isascii() else ""
        bare = self.written.lstrip("-")
        # Many parsers are told of an option without its dashes.
        quoted = (f'"{bare}"', f"'{bare}'") if bare != self.written else ()
        self.forms = (self.written, *quoted)
        self.keys = self.written.split(".") if _KEYS.fullmatch(self.written) else []
        self.counts_in_texts = True

    def places_in(self, text: str, folded: str) -> Iterator[int]:
        """Where a text has it, which is in lower case too, and not as a part of longer words."""
        goes_on = _goes_on_with_hyphen if "-" in self.written else _goes_on
        for written in self.forms:
            start = folded.find(written)
            while start >= 0:
                end = start + len(written)
                is_meant = not self.constant or self.constant in text[start:end]
                if is_meant and not (goes_on(folded, start) or goes_on(folded, end)):
                    yield start
                start = folded.find(written, start + 1)

    def is_defined(self, defined: Collection[str], folded: str, path: str) -> bool:
        """Whether its name is among those defined by a text that belongs to what is before it."""
        return self.name in defined and all(one in folded or one in path for one in self.qualifiers)

    def is_set(self, folded: str) -> bool:
        """Whether a text of settings in lower case sets its keys, one inside the other."""
        end = 0
        for key in self.keys:
            at = re.compile(rf"(?<![\w-]){re.escape(key)}[\"']?\s*[:=.{{\]]").search(folded, end)
            if at is None:
                return False
            end = at.end()
        return end > 0

    def is_path(self, path: str) -> bool:
        """Whether it is a path in lower case, or the end of it, or ends with it."""
        return self.path != "" and (
            f"/{path}".endswith(self.path) or ("/" in path and self.path.endswith(f"/{path}"))
        )


class Wording:
    """A question word for word; ``literals`` are to be looked for by their phrases."""

    __slots__ = (
        "_idle",
        "_pieces",
        "_places",
        "_rows",
        "_total",
        "_unknown",
        "_values",
        "_weights",
        "_words",
        "literals",
    )

    def __init__(self, text: str, rarity: Mapping[str, float]) -> None:
        said = _plain(text.lower()).split()
        self._words = said if len(said) <= _MOST_WORDS else []
        self._weights = [_weight(word.decode("utf-8"), rarity) for word in self._words]
        self._total = sum(self._weights)
        self._idle = {
            place
            for place, word in enumerate(self._words)
            if word.isdigit() or word.decode("utf-8") in ASKING
        }
        self.literals = _literals(text) if self._total else []
        self._places = [self._where(literal) for literal in self.literals]
        self._rows: dict[int, list[bytes]] = {}
        self._unknown = {
            place
            for place, word in enumerate(self._words)
            if not (self._weights[place] or word.isdigit() or word.decode("utf-8") in STOP_WORDS)
        }
        numbers = {place for place, word in enumerate(self._words) if word.isdigit()}
        # What was filled in where a program says what its code has.
        self._values = self._unknown | numbers | self._quoted(text)
        self._pieces = self._between_values() if self._values else []

    @property
    def says_little(self) -> bool:
        """Whether no text can have anything of it word for word."""
        return not self.literals and len(self._words) < _IN_A_ROW

    @property
    def known(self) -> float:
        """The share that the index has of its words, but for what is only there to ask."""
        telling = {place for place, weight in enumerate(self._weights) if weight}
        said = telling - self._idle or telling
        return len(said) / len(said | self._unknown) if said else 0.0

    @property
    def phrases(self) -> list[tuple[str, ...]]:
        """Rows to look for, as the word index has them; none if its words tell enough."""
        own = [word.decode("utf-8") for word in self._words]
        telling = sum(weight > 0 for weight in self._weights)
        if len(own) < _IN_A_ROW or not 0 < telling <= _FEW_TELLING:
            return []
        starts = [*range(0, len(own) - _IN_A_ROW, _IN_A_ROW), len(own) - _IN_A_ROW]
        rows = [" ".join(own[start : start + _IN_A_ROW]) for start in starts[:_MOST_ROWS]]
        return [tuple(words(row)) for row in rows]

    def needed(self, stems_of_question: Sequence[str]) -> list[list[int]] | None:
        """Places of stems that a text must have, all of one of the lists, to have any row of words.

        None if it may have something else of the question.
        """
        if self._pieces or any(literal.keys for literal in self.literals):
            return None
        known = {stem: place for place, stem in enumerate(stems_of_question)}
        each = [_telling_stem(word.decode("utf-8"), known) for word in self._words]
        starts = range(len(each) - _IN_A_ROW + 1)
        rows = [
            [known[stem] for stem in each[start : start + _IN_A_ROW] if stem] for start in starts
        ]
        return [row for row in rows if row]

    def share(self, text: str, path: str, kind: Kind, defined: Collection[str]) -> float:
        """The share of the question that a piece of a file has word for word, in [0, 1].

        By the rarity of words. It has the literals that its ``text`` has or sets, that its ``path``
        is, or whose name it has ``defined`` (names in lower case), and rows of words of the text.
        """
        folded, path = text.lower(), path.lower()
        plain, least = _plain(folded), _IN_A_ROW if kind == "code" else _IN_A_ROW_OF_PROSE
        found = self._in_rows(plain, least)
        if self._pieces:
            found |= self._in_pieces(plain, least)
        for literal, places in zip(self.literals, self._places, strict=True):
            if places and (
                (literal.counts_in_texts and any(True for _ in literal.places_in(text, folded)))
                or literal.is_path(path)
                or literal.is_defined(defined, folded, path)
                or (kind == "data" and literal.is_set(folded))
            ):
                found |= places
        return self._share(found)

    def lines(self, text: str, kind: Kind) -> list[int]:
        """The lines of a text, from 0, that have a literal or where a row of words begins."""
        folded = text.lower()
        least = _IN_A_ROW if kind == "code" else _IN_A_ROW_OF_PROSE
        rows = sorted(self._in_rows(_plain(folded), least))
        begins = [place for place in rows if place - 1 not in rows]
        found = [
            at for one in self.literals if one.counts_in_texts for at in one.places_in(text, folded)
        ]
        for begin in begins:
            row = [word.decode("utf-8") for word in self._words[begin : begin + _IN_A_ROW]]
            pattern = _BETWEEN.join(map(re.escape, row))
            found += [match.start() for match in re.finditer(pattern, folded)]
        return sorted({folded.count("\n", 0, place) for place in found})

    def named(self, paths: Sequence[str]) -> list[int]:
        """Places of the paths which one of the literals is, or the end of which it is.

        If it is all that is asked for, texts that name the file are not meant, unless by "where".
        """
        found: set[int] = set()
        folded: list[str] = []
        for literal, places in zip(self.literals, self._places, strict=True):
            if literal.path:
                folded = folded or [path.lower() for path in paths]
                own = [place for place, path in enumerate(folded) if literal.is_path(path)]
                found.update(own)
                if own and self._share(places) > WHOLE and b"where" not in self._words:
                    literal.counts_in_texts = False
        return sorted(found)

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
            if self._tells(range(start, end)):
                found.update(range(start, end))
            start = end
        return found

    def _in_pieces(self, text: bytes, least: int) -> set[int]:
        """Where the words stand of a row that has other words where the question has a value."""
        found: set[int] = set()
        for first, (start, stop, row) in enumerate(self._pieces):
            begin = text.find(row)
            for _ in range(_STARTS):
                if begin < 0:
                    break
                end, places = begin + len(row), [*range(start, stop)]
                for begins, ends, following in self._pieces[first + 1 :]:
                    at = text.find(following, end - 1, end + _GAP + len(following))
                    if at >= 0:
                        end = at + len(following)
                        places += range(begins, ends)
                if len(places) > stop - start and len(places) >= least and self._tells(places):
                    found.update(places, self._values & {*range(start, places[-1])})
                begin = text.find(row, begin + 1)
        return found

    def _tells(self, places: Sequence[int]) -> bool:
        """Whether words in a row are more than stop words that are there by chance."""
        telling = sum(self._weights[place] > 0 for place in places)
        return telling >= (1 if len(places) >= _LONG_ROW else _TELLING)

    def _between_values(self) -> list[tuple[int, int, bytes]]:
        """The pieces of the question between values: where each begins and ends, and its words."""
        edges = [-1, *sorted(self._values), len(self._words)]
        spans = [(before + 1, behind) for before, behind in pairwise(edges) if behind > before + 1]
        found = [(start, end, _row(self._words[start:end])) for start, end in spans]
        return found if len(found) > 1 else []

    def _quoted(self, text: str) -> set[int]:
        """Where short quotations stand among more words: names and values in a message."""
        found: set[int] = set()
        for match in _QUOTED.finditer(text if self._total else ""):
            own = _plain(next(filter(None, match.groups())).lower()).split()
            if len(own) <= _VALUE and len(self._words) - len(own) >= _IN_A_ROW:
                found |= self._places_of(own)
        return found

    def _where(self, literal: Literal) -> set[int]:
        """Where the words of a literal stand; nowhere if it does not count."""
        found = self._places_of(_plain(literal.written).split())
        counts = not literal.is_compound or self._share(found) >= _MOSTLY
        return found if counts else set()

    def _places_of(self, some: Sequence[bytes]) -> set[int]:
        starts = range(len(self._words) - len(some) + 1)
        found = [start for start in starts if self._words[start : start + len(some)] == some]
        return {start + place for start in found for place in range(len(some))}

    def _share(self, places: set[int]) -> float:
        """Of all that is not only there to ask ("where is … defined"), nor a number."""
        asked = sum(self._weights[place] for place in self._idle - places)
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
    """The chunks of passages that may have a piece of the question, by the ids of the passages."""
    found: dict[int, int] = {}
    wording = wording_of(question)
    for phrase in wording.phrases:
        pairs = store.match_phrase(phrase, _HOLDERS + 1, where)
        if len(pairs) <= _HOLDERS:
            found.update(pairs)
    for literal in wording.literals:
        pairs = store.match_phrase(literal.phrase, _HOLDERS + 1, where)
        if len(pairs) <= _HOLDERS:
            found.update(pairs)
        else:
            literal.counts_in_texts = False
    return dict(sorted(found.items()))


def least_covered(question: Question) -> float:
    """The share of the question's words that a chunk must have to be compared.

    Of those that the index has: in a message the rarest are those that were filled in.
    """
    return _COVERED * question.coverage(question.words.keys() - question.absent)


def _literals(text: str) -> list[Literal]:
    found: dict[str, Literal] = {}
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    single = [one.lstrip(_BEFORE).rstrip(_BEHIND) for one in _PIECE.findall(text)]
    named = [one.partition("=")[0] for one in single if "=" in one]
    for piece in (*quoted, *(_LINE.sub("", one) for one in single), *named):
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
    stem = _telling_stem(word, rarity)
    return rarity[stem] if stem else 0.0


def _telling_stem(word: str, known: Mapping[str, float]) -> str:
    """Of the known stems of a word the one with the highest value; "" of a stop word."""
    if word in STOP_WORDS:
        return ""
    own = [stem for run in runs(word) for stem in stems(run) if stem in known]
    return max(own, key=lambda stem: known[stem], default="")


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
