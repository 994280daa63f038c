"""Hits that say the same are one: vendored copies, generated variants, ``v1/…`` beside ``v2/…``."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from rag_agent.types import Hit

T = TypeVar("T")

# Of the three-word sequences of two passages (whitespace does not count), the share that both have
# (Jaccard): from there on they are copies. Broder, On the resemblance and containment of documents
# (1997); his signatures pay for many long documents, not for ten passages of fifty lines.
_ALIKE = 0.8
_SEQUENCE = 3  # words
_FEWEST = 12  # words; shorter passages are alike by chance, and copies only if they are equal
# Of two files' chunks, the fewer by the more: a copy is no part of something larger, such as the
# single file into which all headers of a library are put.
_AS_LONG = 0.7


class _Passage:
    """The best chunk of a hit as words and, once somebody asks, as sets of them."""

    def __init__(self, hit: Hit) -> None:
        self.words = hit.chunk.text.split()
        self.chunks = hit.document.chunks if hit.document else 1

    def is_like(self, other: _Passage) -> bool:
        """Whether both say the same, in files that are about as long."""
        if not _near(self.chunks, other.chunks, _AS_LONG):
            return False
        if self.words == other.words:
            return True
        few = min(len(self.words), len(other.words))
        # Neither measure can be high where the first ones are low, and they cost less.
        return (
            few >= _FEWEST
            and _near(len(self.words), len(other.words), _ALIKE**2)
            and _jaccard(self.vocabulary, other.vocabulary) >= _ALIKE**2
            and _jaccard(self.sequences, other.sequences) >= _ALIKE
        )

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def sequences(self) -> frozenset[tuple[str, ...]]:
        shifted = [self.words[start:] for start in range(_SEQUENCE)]
        return frozenset(zip(*shifted, strict=False))


def collapse(ranked: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """The first ``limit`` hits of which none is a copy of a better one.

    A kept hit has as ``doubles`` those that were met. Takes no more of ``ranked``,
    best first, than it needs.
    """
    kept: list[tuple[Hit, _Passage, list[Hit]]] = []
    for hit in ranked:
        passage = _Passage(hit)
        original = next((row for row in kept if row[1].is_like(passage)), None)
        if original is not None:
            original[2].append(hit)
            continue
        kept.append((hit, passage, []))
        if len(kept) == limit:
            break
    return tuple(
        replace(hit, doubles=tuple(doubles)) if doubles else hit for hit, _, doubles in kept
    )


def _near(one: int, other: int, share: float) -> bool:
    return min(one, other) >= share * max(one, other)


def _jaccard(one: Set[T], other: Set[T]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if one or other else 1.0
