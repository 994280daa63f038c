"""What a text has of a question word for word.

Whoever types ``--no-cache`` or pastes an error message wants the place where just that stands,
whatever kind of file it is in and however well others fit the single words.
"""

from __future__ import annotations

from rag_agent.search.asking import ASKING
from rag_agent.search.literals import literals_of, quotations
from rag_agent.search.rows import IN_A_ROW, Rows, plain
from rag_agent.tokens import STOP_WORDS, runs, stems, words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rag_agent.search.literals import Literal
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
# Passages of its words in a row that are read for how it is written: PATH_INFO is no pathInfo.
_FOLDED = 150
# A question with so few words that are no stop words is looked for by some of its rows: what it is
# compared with otherwise has these words, and that may be half of the index.
_FEW_TELLING, _MOST_ROWS = 3, 4
_VALUE = 3  # words of a quotation that may be a value in a message
_MOST_WORDS = 64  # a longer text says too much in other words for any row of it to be the point
# A word with a hyphen ("case-insensitive") is seldom meant letter by letter, but for a name that is
# most of what is asked for.
_MOSTLY = 0.5
# What is only there to ask, of options and keys too: "where is … set", "the default of …".
_IDLE = ASKING | frozenset("default flag key option set setting value".split())


class Wording:
    """A question word for word; ``literals`` are to be looked for by their phrases."""

    __slots__ = (
        "_idle",
        "_places",
        "_rows",
        "_total",
        "_unknown",
        "_weights",
        "_words",
        "literals",
    )

    def __init__(self, text: str, rarity: Mapping[str, float]) -> None:
        said = plain(text.lower()).split()
        self._words = said if len(said) <= _MOST_WORDS else []
        self._weights = [_weight(word.decode("utf-8"), rarity) for word in self._words]
        self.literals = literals_of(text) if any(self._words) else []
        for literal in self.literals:
            self._let_count(literal)
        self._total = sum(self._weights)
        self._idle = {
            place
            for place, word in enumerate(self._words)
            if word.isdigit() or word.decode("utf-8") in _IDLE
        }
        self._places = [self._where(literal) for literal in self.literals]
        self._unknown = {
            place
            for place, word in enumerate(self._words)
            if not (self._weights[place] or word.isdigit() or word.decode("utf-8") in STOP_WORDS)
        }
        numbers = {place for place, word in enumerate(self._words) if word.isdigit()}
        values = self._unknown | numbers | self._quoted(text)
        self._rows = Rows(self._words, self._weights, values)

    @property
    def says_little(self) -> bool:
        """Whether no text can have anything of it word for word."""
        return not self.literals and len(self._words) < IN_A_ROW

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
        if len(own) < IN_A_ROW or not 0 < telling <= _FEW_TELLING:
            return []
        starts = [*range(0, len(own) - IN_A_ROW, IN_A_ROW), len(own) - IN_A_ROW]
        rows = [" ".join(own[start : start + IN_A_ROW]) for start in starts[:_MOST_ROWS]]
        return [tuple(words(row)) for row in rows]

    def needed(self, stems_of_question: Sequence[str]) -> list[list[int]] | None:
        """Places of stems that a text must have, all of one of the lists, to have any row of words.

        None if it may have something else of the question.
        """
        if self._rows.has_values or any(literal.keys for literal in self.literals):
            return None
        known = {stem: place for place, stem in enumerate(stems_of_question)}
        each = [_telling_stem(word.decode("utf-8"), known) for word in self._words]
        starts = range(len(each) - IN_A_ROW + 1)
        rows = [
            [known[stem] for stem in each[start : start + IN_A_ROW] if stem] for start in starts
        ]
        return [row for row in rows if row]

    def share(self, text: str, path: str, kind: Kind, defined: Collection[str]) -> float:
        """The share of the question that a piece of a file has word for word, in [0, 1].

        By the rarity of words. It has the literals that its ``text`` has or sets, that its ``path``
        is, or whose name it has ``defined`` (names in lower case), and rows of words of the text.
        """
        folded, path = text.lower(), path.lower()
        found = self._rows.places_in(plain(folded), kind)
        for literal, places in zip(self.literals, self._places, strict=True):
            if places and (
                (literal.counts_in_texts and literal.is_in(text, folded))
                or literal.is_path(path)
                or literal.is_defined(defined, folded, path)
                or (kind == "data" and literal.is_set(folded))
            ):
                found |= places
        return self._share(found)

    def lines(self, text: str, kind: Kind) -> list[int]:
        """The lines of a text, from 0, that have a literal or where a row of words begins."""
        folded = text.lower()
        found = self._rows.begins_in(folded, kind)
        for literal in self.literals:
            if literal.counts_in_texts:
                found += literal.places_in(text, folded)
        return sorted({folded.count("\n", 0, place) for place in found})

    def named(self, paths: Sequence[str]) -> list[int]:
        """Places of the paths which one of the literals is, or the end of which it is.

        If it is all that is asked for, texts that name the file are not meant, unless by "where".
        """
        found: set[int] = set()
        folded: list[str] = []
        for literal, places in zip(self.literals, self._places, strict=True):
            folded = folded or [path.lower() for path in paths]
            own = [place for place, path in enumerate(folded) if literal.is_path(path)]
            found.update(own)
            if own and self._share(places) > WHOLE and b"where" not in self._words:
                literal.counts_in_texts = False
        return sorted(found)

    def _quoted(self, text: str) -> set[int]:
        """Where short quotations stand among more words: names and values in a message."""
        found: set[int] = set()
        for piece in quotations(text) if self._total else []:
            own = plain(piece.lower()).split()
            if len(own) <= _VALUE and len(self._words) - len(own) >= IN_A_ROW:
                found |= self._places_of(own)
        return found

    def _let_count(self, literal: Literal) -> None:
        """Let a name of stop words count: they are meant in ``--show-only``."""
        places = self._places_of(plain(literal.written).split())
        if all(self._words[place].decode("utf-8") in STOP_WORDS for place in places):
            for place in places:
                self._weights[place] = 1.0

    def _where(self, literal: Literal) -> set[int]:
        """Where the words of a literal stand; nowhere if it does not count."""
        found = self._places_of(plain(literal.written).split())
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
        pairs = store.match_phrase(literal.phrase, _FOLDED + 1, where)
        if _HOLDERS < len(pairs) <= _FOLDED:
            texts = store.texts([chunk for _, chunk in pairs])
            pairs = [pair for pair in pairs if literal.is_in(texts.get(pair[1], ""))]
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
