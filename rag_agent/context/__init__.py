"""From hits to text for a model: whether to say anything, how much, and safely fenced.

``gate`` decides, ``pack`` fills the budget, ``fence`` marks what is data, ``render`` writes the
answer to a tool call, ``lines`` merges and cuts pieces of files.
"""

from __future__ import annotations

from collections.abc import Callable

from rag_agent.context.gate import Decision, certainty, decide, silence
from rag_agent.context.pack import pack
from rag_agent.context.render import render_results
from rag_agent.types import Context, SearchResults

__all__ = [
    "Decision",
    "build_context",
    "certainty",
    "decide",
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
    packed = pack(kept, budget)
    reasons = [decision.reason for decision in decisions] or ["nothing was found"]
    return Context(packed.text, packed.tokens, packed.hits, (*reasons, *packed.reasons))


def _nothing(reason: str) -> Context:
    return Context("", 0, (), (reason,))
