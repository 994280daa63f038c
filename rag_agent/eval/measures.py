"""Measures of one ranking: plain functions, each in [0, 1], higher is better.

Rankings of files hold each path once, best first. Rankings of places (``Lines``) may hold several
places of one file.

**Recall within a budget.** A reader takes the places in their order, whole ones, and stops before
the first that would cost more than what is left of the budget; a later, cheaper place is not taken
in its stead. What counts is the share of the relevant files (or line ranges) among the places that
were read. A place costs the tokens of its text and of the line that names it.

The benchmark of semble (github.com/MinishLab/semble, benchmarks/token_efficiency.py, 2026) counts
by this rule, but its tokens are those of cl100k_base while ``tokens.estimate_tokens`` errs on the
high side; it does not count the line that names a place; it reads on through the best 50 chunks
where a run ends with its last file; it averages over questions; and of a target with lines it wants
the lines, which here ``line_recall_within`` counts for itself.
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


class Shown(Lines, Protocol):
    """A place with what it costs to read it."""

    @property
    def tokens(self) -> int | None:
        """Of the text and the line that names it; None where that is not known."""
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


def read_within(results: Sequence[Shown], budget: int) -> Sequence[Shown]:
    """The places that are read before ``budget`` tokens are spent; none without a known cost."""
    spent = 0
    for number, result in enumerate(results):
        if result.tokens is None or spent + result.tokens > budget:
            return results[:number]
        spent += result.tokens
    return results


def recall_within(results: Sequence[Shown], relevant: Collection[str], budget: int) -> float:
    """Share of the relevant files that have a place among those read within the budget."""
    read = {result.path for result in read_within(results, budget)}
    return len(read.intersection(relevant)) / len(set(relevant)) if relevant else 0.0


def line_recall_within(results: Sequence[Shown], targets: Sequence[Lines], budget: int) -> float:
    """Share of the targets whose lines a place overlaps that is read within the budget."""
    read = read_within(results, budget)
    return line_recall(read, targets, len(read))


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
