"""What path and kind of a file say, worked out once as long as the index does not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from rag_agent.search.facts import title_words
from rag_agent.search.lexical import path_words
from rag_agent.search.path_classes import PathFacts, path_facts
from rag_agent.search.question import ALIKE

if TYPE_CHECKING:
    from rag_agent.store import ShownDocument
    from rag_agent.types import Kind


class HeadFacts:
    """A file before any question.

    ``counts`` says how often its path has each of its words, as ``lexical.path_words`` has them,
    and ``length`` how many they are. ``names`` are all words of the path, ``beginnings`` what those
    begin with that are compared by their beginnings. ``group`` is its kind with the classes of its
    path. ``row`` are numbers for columns: chunks, shortness of the name, whether it is a plain
    name, depth. ``title`` are the words of a document's title.
    """

    __slots__ = ("beginnings", "counts", "group", "kind", "length", "names", "path", "row", "title")

    def __init__(self, path: str, kind: Kind, chunks: int, title: str) -> None:
        self.kind = kind
        self.title = title_words(title) if kind == "prose" else ()
        self.path: PathFacts = path_facts(path)
        self.group = (self.path.classes, kind)
        counted = path_words(path)
        self.counts: Mapping[str, int] = Counter(counted)
        self.length = len(counted)
        facts = self.path
        self.names = facts.words.union(facts.name, facts.folder, facts.folders)
        self.beginnings = frozenset(word[:ALIKE] for word in self.names if len(word) >= ALIKE)
        self.row = (
            float(chunks),
            1 / max(1, len(facts.name)),
            float(facts.is_plain),
            min(facts.depth, 8) / 8,
        )


def facts_of(head: ShownDocument) -> HeadFacts:
    """What is known of a file, worked out by whoever asks first."""
    facts: HeadFacts | None = head.facts
    if facts is None:
        document = head.document
        facts = head.facts = _facts(document.path, document.kind, document.chunks, document.title)
    return facts


# What is remembered of an index goes with its state, and hardly any path with it. Some 5 KB each.
_facts = lru_cache(maxsize=10_000)(HeadFacts)
