"""What the tokens of an answer are spent on: the lines of hits that are likely to say most.

Every chunk of every hit may be shown in ever more lines. Each step has a worth, by what the hit is
likely to be of the answer, and a price; the best steps are taken first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

from rag_agent.tokens import estimate_tokens
from rag_agent.types import Chunk, Hit

STEPS = (6, 14, 28)
"""Lines of a chunk that are shown at first, then, then; at last all of them."""

# What a hit's best chunk, its second and its third are worth beside each other: of the lines that
# 510 bug fixes changed the first file's hold 20, 14 and 6 %.
_CHUNKS = (1.0, 0.7, 0.3)
# The first lines of a hit are worth more: they show whether it is what was asked for. With 0.5 one
# (semble set) to two (issue set) of a hundred relevant files more stay without a line.
_FIRST_LOOK = 1.5
# Worth per token, of the whole answer's 1, below which lines are left out of an answer for which no
# number of tokens was asked: at first, and once it has cost _USUAL. All lines of the best chunk are
# worth more than either where a hit is the whole answer, its third chunk is not.
#
# Chosen on answers to 1,131 questions of 60 checkouts, read as `eval score` does: 2,000 tokens
# name 98 % of what is relevant on the semble set and 95 % on the issue set, and show a line of 97
# and 92 %; a line that the fix changed is in 64 % of the answers. With half of _LEAST_OF_MUCH it is
# in 66 % of answers that are an eighth longer, of which 2,000 tokens name 96 and 91 % only.
_LEAST = 0.0001
_LEAST_OF_MUCH = 0.0006
_USUAL = 1900  # tokens; what is left of 2,000 is for the places of the last hits

Levels = tuple[int, ...]
"""By chunk of a hit (the best one, then ``more``), how many of its lines are shown."""


def least_worth(spent: int) -> float:
    """What a token must be worth, in an answer that has cost so many, to be spent unasked."""
    return _LEAST if spent <= _USUAL else _LEAST_OF_MUCH


def nothing_of(hit: Hit) -> Levels:
    """The place alone."""
    return (0,) * (1 + len(hit.more))


def spend(
    hits: Sequence[Hit],
    shares: Sequence[float],
    most: Sequence[int],
    fits: Callable[[int, Levels], bool],
    least: Callable[[], float],
) -> None:
    """Offer the steps to ``fits``, those first that are worth most for what they cost.

    ``fits(index, levels)`` takes a step for a hit, or says no, whereupon none is offered for that
    chunk again. ``most`` has the most lines a chunk by hit, 0 for as many as it has, ``least`` says
    the worth a token below which nothing more is offered.
    """
    levels = [nothing_of(hit) for hit in hits]
    waiting: list[tuple[float, int, int, int]] = []
    for index, hit in enumerate(hits):
        for place, chunk in enumerate((hit.chunk, *hit.more)):
            _offer(waiting, index, place, chunk, 0, most[index], shares[index])
    while waiting:
        worth, index, place, lines = heapq.heappop(waiting)
        if -worth < least():
            return
        taken = (*levels[index][:place], lines, *levels[index][place + 1 :])
        if fits(index, taken):
            levels[index] = taken
            chunk = (hits[index].chunk, *hits[index].more)[place]
            _offer(waiting, index, place, chunk, lines, most[index], shares[index])


def _offer(
    waiting: list[tuple[float, int, int, int]],
    index: int,
    place: int,
    chunk: Chunk,
    shown: int,
    most: int,
    share: float,
) -> None:
    """Put the next step of a chunk, of which so many lines are ``shown``, into the queue."""
    count = chunk.text.count("\n") + 1
    if shown >= count or (most and (shown >= most or place)):
        return
    lines = next(_longer(shown, count, most))
    gained = _told(lines / count) - _told(shown / count)
    worth = share * _CHUNKS[min(place, len(_CHUNKS) - 1)] * gained
    if not shown and not place:
        worth += share * _FIRST_LOOK
    price = estimate_tokens(chunk.text) * (lines - shown) / count
    heapq.heappush(waiting, (-worth / max(price, 1.0), index, place, lines))


def _longer(shown: int, count: int, most: int) -> Iterator[int]:
    for step in STEPS:
        if shown < step < count - step // 3:  # else the rest is hardly more
            yield min(step, most or step)
    yield min(count, most or count)


def _told(part: float) -> float:
    """What part of a chunk's worth the best lines have which are this part of it.

    The lines that fixes changed: 13 % of a chunk's lines hold 28 % of them, 31 % 52 %, 62 % 79 %.
    """
    return 1 - (1 - part) ** 2
