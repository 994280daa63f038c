"""Measures of one ranking: plain functions, each in [0, 1], higher is better.

Rankings of files hold each path once, best first. Rankings of places (``Lines``) may hold several
places of one file.

**Recall within a budget.** A reader has room for so many tokens. He reads the answer that a model
gets to the same question, from its top, until they are spent; one who has more than any default
answer asks for an answer that long (``reading.ASKED_FOR``). There are two rules for what counts as
reached, and both are reported:

- *named* (``recall_within``): the line that names the file with its place has been read;
- *read* (``read_within``): that line and at least one of the file's own lines.

Labelled lines are reached (``line_recall_within``) where one of them has been read. A file or range
counts once.

Runs that know what their places cost and not how an answer is written, those of other tools, are
read place by place: whole ones, in their order, up to the first that costs more than what is left.
Such a place is named and read at its end.

The benchmark of semble (github.com/MinishLab/semble, benchmarks/token_efficiency.py, 2026) reads
whole chunks likewise, and a file counts when a chunk of it was read. Its tokens are those of
cl100k_base while ``tokens.estimate_tokens`` errs on the high side; it does not count the line that
names a place; it reads on through the best 50 chunks where an answer ends with its last file; it
averages over questions; and of a target with lines it wants the lines, which are counted here for
themselves.
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
    """A place with what is known of when it is met."""

    @property
    def tokens(self) -> int | None:
        """Of the whole text and the line that names it; None where that is not known."""
        ...

    @property
    def named(self) -> int | None:
        """After how many tokens of the answer the line that names its file has been read."""
        ...

    @property
    def lines(self) -> Sequence[tuple[int, int]] | None:
        """Lines of its file, and after how many tokens each has been read; None: not known."""
        ...


class Reader:
    """The ranking as it is read: after how many tokens each file is named, each line read."""

    def __init__(self, results: Sequence[Shown], *, whole: bool = False) -> None:
        """``whole``: place by place, although it may be known how the answer is written."""
        self._named: dict[str, int] = {}
        self._lines: dict[str, list[tuple[int, int, int]]] = {}  # first, last line, tokens
        if whole:
            self._read_places(results)
        else:
            self._read_answer(results)

    def names(self, budget: int) -> set[str]:
        """The files that are named within the budget."""
        return {path for path, tokens in self._named.items() if tokens <= budget}

    def reads(self, budget: int) -> set[str]:
        """Those of them with a line that has been read."""
        return {
            path
            for path in self.names(budget)
            if any(tokens <= budget for _, _, tokens in self._lines.get(path, ()))
        }

    def meets(self, target: Lines, budget: int) -> bool:
        """Whether a line of the target has been read; any of the file where it has none."""
        start = 0 if target.start is None else target.start
        end = math.inf if target.end is None else target.end
        return any(
            tokens <= budget and first <= end and start <= last
            for first, last, tokens in self._lines.get(target.path, ())
        )

    def _read_places(self, results: Sequence[Shown]) -> None:
        spent = 0
        for result in results:
            if result.tokens is None:
                return
            spent += result.tokens
            self._named.setdefault(result.path, spent)
            first, last = result.start or 0, result.end or 0
            self._lines.setdefault(result.path, []).append((first, last, spent))

    def _read_answer(self, results: Sequence[Shown]) -> None:
        for result in results:
            if result.named is not None:
                self._named.setdefault(result.path, result.named)
            lines = self._lines.setdefault(result.path, [])
            lines += [(line, line, tokens) for line, tokens in result.lines or ()]


def ndcg(ranking: Sequence[str], relevance: Mapping[str, int], k: int) -> float:
    """Normalised discounted cumulative gain at k; gain 2^rel - 1, log2 discount.

    Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002; the
    exponential gain is Burges et al., Learning to rank using gradient descent, ICML 2005.
    """
    gain = {path: 2.0**grade - 1 for path, grade in relevance.items() if grade > 0}
    ideal = sorted(gain.values(), reverse=True)[:k]
    return (
        _discounted(gain.get(path, 0.0) for path in ranking[:k]) / _discounted(ideal)
        if gain
        else 0.0
    )


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


def recall_within(reader: Reader, relevant: Collection[str], budget: int) -> float:
    """Share of the relevant files that are named within the budget."""
    return len(reader.names(budget).intersection(relevant)) / max(1, len(set(relevant)))


def read_within(reader: Reader, relevant: Collection[str], budget: int) -> float:
    """Share of the relevant files that are named and of which a line is read within the budget."""
    return len(reader.reads(budget).intersection(relevant)) / max(1, len(set(relevant)))


def line_recall_within(reader: Reader, targets: Sequence[Lines], budget: int) -> float:
    """Share of the targets of which a line is read within the budget."""
    found = sum(1 for target in targets if reader.meets(target, budget))
    return found / len(targets) if targets else 0.0


def line_hit_within(reader: Reader, targets: Sequence[Lines], budget: int) -> float:
    """1 if a line of any target is read within the budget, else 0."""
    return float(any(reader.meets(target, budget) for target in targets))


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
