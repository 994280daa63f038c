"""Hits into a budget: whole ones, best first, gathered by file, fenced."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.context.fence import fenced, harmless, one_line
from rag_agent.context.lines import Piece, merged
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Context, Hit

# What hosts accept from a hook without cutting it.
MOST_CHARACTERS = 10_000


def pack(hits: Sequence[Hit], budget: int) -> Context:
    """The hits as text of at most ``budget`` tokens and ``MOST_CHARACTERS``, or as many as fit.

    A hit is shown with all its chunks, else with its best chunk, else left out: half a function is
    worse than the place where it stands, which ``reasons`` name.
    """
    shown: list[Hit] = []
    blocks: list[str] = []
    left_out: list[Hit] = []
    for hit in hits:
        for block in (_block(hit, whole=True), _block(hit, whole=False)):
            if _fits([*blocks, block], budget):
                blocks.append(block)
                shown.append(hit)
                break
        else:
            left_out.append(hit)
    reasons = [f"no room for {hit.chunk.location} in {budget} tokens" for hit in left_out]
    if not shown:
        return Context("", 0, (), tuple(reasons))
    text = _text(blocks)
    return Context(text, estimate_tokens(text), tuple(shown), tuple(reasons))


def _block(hit: Hit, *, whole: bool) -> str:
    chunks = (hit.chunk, *hit.more) if whole else (hit.chunk,)
    return "\n\n".join(shown(piece) for piece in merged(chunks))


def shown(piece: Piece) -> str:
    """A piece under its place and heading."""
    heading = f"  {one_line(piece.heading)}" if piece.heading else ""
    return f"{one_line(piece.location)}{heading}\n{harmless(piece.text)}"


def _text(blocks: Sequence[str]) -> str:
    return fenced("\n\n".join(blocks))


def _fits(blocks: Sequence[str], budget: int) -> bool:
    text = _text(blocks)
    return len(text) <= MOST_CHARACTERS and estimate_tokens(text) <= budget
