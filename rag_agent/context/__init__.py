"""From hits to text for a model: whether to say anything, how much, and safely fenced.

``gate`` decides, ``pack`` fills the budget, ``fence`` marks what is data, ``render`` writes the
answer to a tool call, ``lines`` merges pieces of files, ``excerpts`` cuts them to the lines that
matter and ``headings`` says what these are called.
"""

from __future__ import annotations

from collections.abc import Callable

from rag_agent.context.gate import (
    NOTHING_SURE,
    Decision,
    certainty,
    decide,
    is_sure,
    silence,
)
from rag_agent.context.headings import heading_of
from rag_agent.context.pack import pack
from rag_agent.context.render import render_results
from rag_agent.tokens import query_words
from rag_agent.types import Context, SearchResults

__all__ = [
    "NOTHING_SURE",
    "Decision",
    "build_context",
    "certainty",
    "decide",
    "heading_of",
    "is_sure",
    "pack",
    "render_results",
    "silence",
]


def build_context(
    prompt: str,
    search: Callable[[str], SearchResults],
    *,
    enabled: bool = True,
    threshold: float = 0.1,
    budget: int = 1500,
) -> Context:
    """What to put before the agent's turn for this prompt; empty when nothing is relevant.

    ``threshold`` is the least certainty of a hit, in [0, 1]; ``budget`` is in tokens. ``search``
    is not called for a prompt that is no question.
    """
    if not enabled:
        return _nothing("automatic injection is off; `rag-agent on` turns it on")
    reason = silence(prompt)
    if reason:
        return _nothing(reason)
    results = search(prompt)
    decisions = [decide(hit, threshold) for hit in results.hits]
    kept = [decision.hit for decision in decisions if decision.inject]
    packed = pack(kept, budget, tuple(query_words(results.query)))
    done = iter(packed.reasons)
    reasons = [
        f"{next(done) if decision.inject else f'leaves out {decision.hit.chunk.location}'}: "
        f"{decision.reason}"
        for decision in decisions
    ]
    return Context(packed.text, packed.tokens, packed.hits, tuple(reasons or ["nothing was found"]))


def _nothing(reason: str) -> Context:
    return Context("", 0, (), (reason,))
