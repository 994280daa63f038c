"""Fit the temperature of ``context/focus.py`` to runs of the evaluation.

    python scripts/fit_focus.py TOPICS RUN [TOPICS RUN ...]

TOPICS are questions with what answers them, RUN what ``rag-agent eval run`` found for them. For
each pair the temperature of the highest likelihood is printed, and how well shares of that
temperature agree with the share of what is relevant that such hits hold.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rag_agent.eval.run import read_run
from rag_agent.eval.topics import read_topics

_HITS = 10
_STEPS = [round(0.01 * step, 2) for step in range(4, 101)]
_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)

Row = tuple[list[float], list[float]]
"""Of a question the scores of its hits, and what part of the relevant files each is."""


def rows(topics: Path, run: Path) -> list[Row]:
    """Questions of which something relevant was found; hits count once, by their first place."""
    found = read_run(run)
    read: list[Row] = []
    for topic in read_topics(topics):
        relevant = {target.path for target in topic.relevant}
        scores: dict[str, float] = {}
        for result in found.get(topic.id, ()):
            if len(scores) < _HITS:
                scores.setdefault(result.path, result.score)
        hits = len(relevant & scores.keys())
        if hits:
            parts = [(path in relevant) / hits for path in scores]
            read.append((list(scores.values()), parts))
    return read


def shares(scores: Sequence[float], temperature: float) -> list[float]:
    """As ``context.focus.shares``, at another temperature."""
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def surprise(read: Sequence[Row], temperature: float) -> float:
    """The mean negative log-likelihood of what is relevant, in nats."""
    return fmean(
        -sum(part * math.log(max(share, 1e-12)) for share, part in pairs(row, temperature))
        for row in read
    )


def pairs(row: Row, temperature: float) -> list[tuple[float, float]]:
    """By hit its share and what part of the relevant files it is."""
    return list(zip(shares(row[0], temperature), row[1], strict=True))


def main(arguments: Sequence[str]) -> None:
    """Fit to each pair of files."""
    if not arguments or len(arguments) % 2:
        sys.exit(__doc__)
    for topics, run in zip(arguments[::2], arguments[1::2], strict=True):
        read = rows(Path(topics), Path(run))
        best = min(_STEPS, key=lambda temperature: surprise(read, temperature))
        print(f"{run}: {len(read)} questions, temperature {best}, {surprise(read, best):.3f} nats")
        told = [pair for row in read for pair in pairs(row, best)]
        for low, high in itertools.pairwise(_BINS):
            inside = [pair for pair in told if low <= pair[0] < high]
            if inside:
                share, part = (fmean(pair[side] for pair in inside) for side in (0, 1))
                print(f"  {len(inside):6,} hits with a share of {share:.2f} hold {part:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
