"""What fits into an injection, and the places of hits that find no room in it."""

from __future__ import annotations

from rag_agent.context.fence import MOST_CHARACTERS, fenced
from rag_agent.tokens import estimate_tokens

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Sequence

NO_ROOM = "Further hits, for which there is no room:"
# Of the budget, what places of such hits may take. A place costs a fiftieth of what its lines do
# and tells where to go on: so a relevant file is in 96 instead of 91 % of the injections that
# questions of the semble set get, and in 85 instead of 79 % of the issue set's, at as many tokens.
_PART_FOR_PLACES = 10


def text_of(blocks: Sequence[str]) -> str:
    """The blocks as they are injected."""
    return fenced("\n\n".join(blocks))


def fits(blocks: Sequence[str], budget: int) -> bool:
    """Whether the blocks are at most ``budget`` tokens, and what a hook may say."""
    text = text_of(blocks)
    return len(text) <= MOST_CHARACTERS and estimate_tokens(text) <= budget


def named(places: Sequence[str], budget: int) -> list[str]:
    """A block with the first of the places, or none where their part of the budget holds none."""
    lines = [NO_ROOM]
    for place in places:
        if estimate_tokens("\n".join([*lines, place])) > budget // _PART_FOR_PLACES:
            break
        lines.append(place)
    return ["\n".join(lines)] if len(lines) > 1 else []


def with_named(blocks: Sequence[str], places: Sequence[str], budget: int) -> list[str]:
    """The blocks, which fit, and behind them as many of the places as do."""
    for count in range(len(places), 0, -1):
        ending = named(places[:count], budget)
        if ending and fits([*blocks, *ending], budget):
            return [*blocks, *ending]
    return [*blocks]
