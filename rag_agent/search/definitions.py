"""What the names that a file defines say about a question."""

from __future__ import annotations

import math
from functools import lru_cache

from rag_agent.tokens import split_identifier, words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from rag_agent.search.question import Question
    from rag_agent.store.glance import GlancedDefinition
    from rag_agent.types import Definition

_KIND_WEIGHTS = {
    "type": 1.0,
    "module": 1.0,
    "function": 0.6,
    "constant": 0.35,
    "implementation": 0.25,
}
_LONG_DEFINITION = 200  # lines; longer ones are no weightier


def weight_of(found: Definition, question: Question) -> float:
    """How much it says that the question names this definition, in [0, 1]."""
    length = min(found.end - found.start + 1, _LONG_DEFINITION)
    size = math.log(1 + length) / math.log(1 + _LONG_DEFINITION)
    return _KIND_WEIGHTS[found.kind] * size * _is_meant(found.name, question)


def written_as_code(name: str) -> bool:
    """Whether a word of a question can only be a name: it has an underscore or inner capitals."""
    return "_" in name.strip("_") or len(split_identifier(name)) > 1


class Likeness:
    """How well the best of some defined names fits a question, each in [0, 1].

    ``best`` is the share of both, name and question, that they have in common by rarity;
    ``of_types`` and ``of_functions`` are the same among names of that kind; ``whole`` is the share
    of the question that a name has which stands in it with all its words; ``weight`` the share of
    the question that any of the names has.
    """

    __slots__ = ("best", "of_functions", "of_types", "weight", "whole")

    def __init__(
        self, question: Question, definitions: Iterable[Definition | GlancedDefinition]
    ) -> None:
        self.best: float = 0.0
        self.of_types: float = 0.0
        self.of_functions: float = 0.0
        self.whole: float = 0.0
        known = question.likeness
        found: set[str] = set()
        for definition in definitions:
            name = definition.name
            if name not in known:
                known[name] = _likeness(name, question)
            like = known[name]
            if like is None:  # so it is for most of hundreds
                continue
            alike, whole, common = like
            self.best = max(self.best, alike)
            if definition.kind in ("type", "module"):
                self.of_types = max(self.of_types, alike)
            elif definition.kind == "function":
                self.of_functions = max(self.of_functions, alike)
            self.whole = max(self.whole, whole)
            found |= common
        self.weight: float = question.coverage(found)


def _likeness(name: str, question: Question) -> tuple[float, float, Set[str]] | None:
    """How alike a name is, how much of the question a whole name has, the words of both."""
    gains, asked = question.gains, question.weight
    own = words_of_name(name)
    if own.isdisjoint(gains):
        return None
    common = own & gains.keys()
    shared = sum([gains[word] for word in common])
    unasked = (len(own) - len(common)) * question.rarity_of("")  # as of any word it lacks
    whole = shared / asked if parts_of_name(name) <= common else 0.0
    return 2 * shared / (asked + shared + unasked), whole, common


@lru_cache(maxsize=50_000)
def words_of_name(name: str) -> frozenset[str]:
    """The stems of a name."""
    return frozenset(words(name))


@lru_cache(maxsize=50_000)
def parts_of_name(name: str) -> frozenset[str]:
    """The stems of a name's parts, without that of the name as one word."""
    whole, *parts = words(name) or [""]
    return frozenset(parts or [whole])


def _is_meant(name: str, question: Question) -> float:
    """1 if the question writes the name as a name, less for a word that is also a name."""
    if len(question.names) == 1:
        return 1.0
    written = [given for given in question.names if given.lower() == name.lower()]
    if any(written_as_code(given) for given in written):
        return 1.0
    return 0.7 if any(given == name and not given.islower() for given in written) else 0.3
