"""What a question asks for: its words and how rare they are, and the names in it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Set

from rag_agent.errors import QueryError
from rag_agent.tokens import STOP_WORDS, query_words, runs

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.heads import HeadFacts
    from rag_agent.search.verbatim import Wording
    from rag_agent.store import Store
    from rag_agent.store.glance import Glance

_MOST_CHARACTERS = 200_000  # a pasted log; its words are the same further on
_MOST_WORDS = 64  # the rarest; a bug report with its trace has about 200, and 64 find the same
_MOST_NAMES = 64
SATURATION = 1.5  # k1 of BM25: how soon a further occurrence of a word stops counting
ALIKE = 4  # letters that two words must begin with to be alike
_ALIKE_SHARE = 0.7
_SHORT, _LONG = 8, 20  # words, between which a question becomes long
_NAME = re.compile(r"[^\W\d]\w*")
_LONGEST_NAME = 100  # characters


class Question:
    """A query as the index sees it.

    ``words`` are stems with their weights (``tokens.query_words``), ``rarity`` their inverse
    document frequency over passages (more than 0), ``names`` whatever may be the name of a
    definition, as written. ``absent`` are the words that no passage holds; they too count in
    ``coverage``, with the rarity ``rarest``, and so does the weight ``unsearched`` of more such
    words, in a text that has too many to search for. ``gains`` are rarities times weights,
    ``weight`` is the sum of all; ``highest`` is the rarity of the rarest word. ``lower`` is the
    text and ``folded_names`` are the names, in lower case. ``likeness`` is what ``definitions``
    found out of defined names, ``path_rows`` what ``of_paths`` found out of paths, ``strangeness``
    what ``pointing`` found out of the question's own, ``wording`` what ``verbatim`` made of the
    text, once they did.
    """

    __slots__ = (
        "_beginnings",
        "_mean_rarity",
        "_shares",
        "absent",
        "folded_names",
        "gains",
        "highest",
        "likeness",
        "lower",
        "names",
        "path_rows",
        "rarest",
        "rarity",
        "strangeness",
        "text",
        "weight",
        "wording",
        "words",
    )

    def __init__(
        self,
        text: str,
        words: Mapping[str, float],
        rarity: Mapping[str, float],
        names: tuple[str, ...] = (),
        absent: frozenset[str] = frozenset(),
        rarest: float = 1.0,
        unsearched: float = 0.0,
    ) -> None:
        self.text = text
        self.words = words
        self.rarity = rarity
        self.names = names
        self.absent = absent
        self.rarest = rarest
        self.gains = {word: rarity[word] * weight for word, weight in words.items()}
        nowhere = unsearched * rarest
        self.weight = math.fsum(self.gains.values()) + nowhere
        known = len(rarity) + unsearched
        self._mean_rarity = (math.fsum(rarity.values()) + nowhere) / known if known else 1.0
        self.highest = max(rarity.values(), default=1.0) or 1.0
        self.lower = text.lower()
        self.folded_names = frozenset(name.lower() for name in names)
        self._shares: dict[tuple[str, ...] | frozenset[str], float] = {}
        self.likeness: dict[str, tuple[float, float, Set[str]] | None] = {}
        self.strangeness: float | None = None
        self.wording: Wording | None = None
        self.path_rows: dict[HeadFacts, tuple[float, ...]] = {}
        self._beginnings: dict[str, list[str]] = {}
        for word in words:
            if len(word) >= ALIKE:
                self._beginnings.setdefault(word[:ALIKE], []).append(word)

    @property
    def most(self) -> float:
        """A bound of the BM25 of a passage: that of one full of the question's words."""
        return (SATURATION + 1) * self.weight or 1.0

    @property
    def length(self) -> float:
        """How long it is, in [0, 1]: 0 up to seven words, 1 from twenty on, by their logarithm.

        Whoever writes much names many things in passing.
        """
        words = math.log((len(self.words) + 1) / _SHORT) / math.log(_LONG / _SHORT)
        return min(1.0, max(0.0, words))

    def rarity_of(self, word: str) -> float:
        """The word's rarity; for a word that the question lacks that of its average word."""
        known = self.rarity.get(word)
        if known is not None:
            return known
        # A question without any word ("???") is answered by meaning alone.
        return self._mean_rarity

    @property
    def familiar(self) -> float:
        """How common its words are in the project: 0 when none occurs, below 1."""
        return max(0.0, 1 - self._mean_rarity / self.rarest) if self.weight else 0.0

    def coverage(self, found: Collection[str]) -> float:
        """Share of the question's words that were found, by their gains, in [0, 1]."""
        if not self.weight or not found:
            return 0.0
        gains = self.gains
        return sum([gains[word] for word in gains.keys() & found]) / self.weight

    def share_of(self, words: tuple[str, ...] | frozenset[str]) -> float:
        """Share of some words that the question has, weighted by rarity, in [0, 1].

        A word of the question that begins alike (four letters and more) counts 0.7.
        """
        known = self._shares.get(words)
        if known is not None:  # files of one folder, or the same name once more
            return known
        total = covered = 0.0
        for word in words:
            rarity = self.rarity.get(word)
            if rarity is not None:
                total += rarity
                covered += rarity
                continue
            total += self._mean_rarity
            if self._has_alike(word):
                covered += _ALIKE_SHARE * self._mean_rarity
        share = self._shares[words] = covered / total if total else 0.0
        return share

    def shares(self, words: Set[str], beginnings: Set[str]) -> bool:
        """Whether any of some words can be a word of the question or begin like one.

        ``beginnings`` are the first ``ALIKE`` letters of those that have as many.
        """
        return not (
            self.words.keys().isdisjoint(words) and self._beginnings.keys().isdisjoint(beginnings)
        )

    def _has_alike(self, word: str) -> bool:
        asked = self._beginnings.get(word[:ALIKE])  # which shorter words are not among
        if asked is None:
            return False
        return any(one.startswith(word) or word.startswith(one) for one in asked)


def read_question(store: Store | Glance, text: str) -> tuple[Question, list[str]]:
    """The question and sentences on what was left out of it.

    Raises:
        QueryError: there is no text.
    """
    if not text.strip():
        raise QueryError("the query is empty; ask a question or give a name to look for")
    notes = []
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS]
        notes.append(f"Only the first {_MOST_CHARACTERS:,} characters of the query were read.")
    counts = query_words(text)
    frequencies = store.passage_frequencies(list(counts))
    total = store.passage_count()
    if not counts:
        notes.append("The query has no words to search for.")
    absent = frozenset(word for word in counts if not frequencies.get(word))
    unsearched = 0.0
    if len(counts) > _MOST_WORDS:
        occurring = counts.keys() - absent
        searched = _rarest(counts, frequencies)
        # What is nowhere counts by as much as of the rest is searched.
        share = _weight(searched, counts) / _weight(occurring, counts) if occurring else 1.0
        unsearched = _weight(absent, counts) * share
        which = "rarest that occur here" if len(occurring) > len(searched) else "that occur here"
        notes.append(
            f"Of {len(counts):,} different words the {len(searched)} {which} were searched."
        )
        counts = {word: counts[word] for word in searched}
    question = Question(
        text=text,
        words=counts,
        rarity={word: rarity(frequencies.get(word, 0), total) for word in counts},
        names=_names(text),
        absent=absent,
        rarest=rarity(0, total),
        unsearched=unsearched,
    )
    return question, notes


def rarity(frequency: int, total: int) -> float:
    """Inverse document frequency of a word in ``frequency`` of ``total`` passages; more than 0.

    Robertson & Spärck Jones' weight with one added under the logarithm, as Lucene does, so that a
    word in most passages counts little instead of against a passage.
    """
    return math.log(1 + (max(total, frequency) - frequency + 0.5) / (frequency + 0.5))


def _weight(some: Iterable[str], weights: Mapping[str, float]) -> float:
    return math.fsum(weights[word] for word in some)


def _rarest(counts: Mapping[str, float], frequencies: Mapping[str, int]) -> list[str]:
    # Words that occur nowhere are the rarest of all, and find nothing.
    occurring = [word for word in counts if frequencies.get(word)]
    return sorted(occurring, key=lambda word: frequencies[word])[:_MOST_WORDS]


def _names(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        name = match.group()
        # Chinese, Japanese and Korean are written up to a name without a space.
        parts = () if name.isascii() else (part for part in runs(name) if part.isascii())
        for each in (name, *parts):
            if len(each) <= _LONGEST_NAME and each.lower() not in STOP_WORDS:
                found[each] = None
        if len(found) >= _MOST_NAMES:
            break
    return tuple(found)[:_MOST_NAMES]
