"""Measures of one ranking: plain functions, each in [0, 1], higher is better.

Rankings of files hold each path once, best first. Rankings of places (``Lines``) may hold several
places of one file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol


class Lines(Protocol):
    """A place in a file. Without ``start`` it is the whole file."""

    @property
    def path(self) -> str:
        """Which file."""
        ...

    @property
    def start(self) -> int | None:
        """First line, from 1."""
        ...

    @property
    def end(self) -> int | None:
        """Last line, included."""
        ...


def ndcg(ranking: Sequence[str], relevance: Mapping[str, int], k: int) -> float:
    """Normalised discounted cumulative gain at k; gain 2^rel - 1, log2 discount.

    Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002; the
    exponential gain is Burges et al., Learning to rank using gradient descent, ICML 2005.
    """
    gains = [2.0 ** relevance.get(path, 0) - 1 for path in ranking[:k]]
    ideal = sorted((2.0**grade - 1 for grade in relevance.values()), reverse=True)[:k]
    return _discounted(gains) / _discounted(ideal) if relevance else 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of the relevant files among the first k.

    Kent et al., Machine literature searching VIII, American Documentation 6(2), 1955.
    """
    found = sum(1 for path in ranking[:k] if path in relevant)
    return found / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """One over the rank of the first relevant file among the first k, else 0.

    Voorhees, The TREC-8 question answering track report, 1999.
    """
    ranks = (rank for rank, path in enumerate(ranking[:k], start=1) if path in relevant)
    return 1 / next(ranks, math.inf)


def success(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 if any of the first k files is relevant, else 0.

    Craswell & Hawking, Overview of the TREC-2004 web track (success at k).
    """
    return float(any(path in relevant for path in ranking[:k]))


def line_hit(results: Sequence[Lines], targets: Sequence[Lines], k: int) -> float:
    """1 if any of the first k places overlaps a target's lines, else 0."""
    return float(any(overlaps(found, target) for found in results[:k] for target in targets))


def line_recall(results: Sequence[Lines], targets: Sequence[Lines], k: int) -> float:
    """Share of the targets whose lines any of the first k places overlaps."""
    found = sum(1 for target in targets if any(overlaps(r, target) for r in results[:k]))
    return found / len(targets) if targets else 0.0


def chunk_ndcg(results: Sequence[Lines], targets: Sequence[Lines], k: int) -> float:
    """Normalised DCG over places that are not gathered by file, as the benchmark of semble counts.

    Each target gains at the first place that covers it, a rank gains once, and the ideal has one
    rank a target: so further places of a file that was already found take up ranks.
    """
    ranks: set[int] = set()
    for target in targets:
        covering = (rank for rank, found in enumerate(results[:k]) if overlaps(found, target))
        ranks.update([first] if (first := next(covering, None)) is not None else [])
    gains = [float(rank in ranks) for rank in range(k)]
    return _discounted(gains) / _discounted([1.0] * min(k, len(targets))) if targets else 0.0


def overlaps(found: Lines, target: Lines) -> bool:
    """Whether a place shares a line with a target; a target without lines is the whole file."""
    if found.path != target.path:
        return False
    if target.start is None or target.end is None:
        return True
    if found.start is None or found.end is None:
        return False
    return found.start <= target.end and target.start <= found.end


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
