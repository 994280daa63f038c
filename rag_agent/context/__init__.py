"""From hits to text for a model: whether to say anything, how much, and safely fenced.

``gate`` decides, ``follow`` knows a prompt that leans on the one before, ``shown`` what a session
has seen, ``pack`` fills the budget, ``fence`` marks what is data, ``render`` writes the answer to a
tool call, ``lines`` merges pieces of files, ``excerpts`` cuts them to the lines that matter and
``headings`` says what these are called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from rag_agent.context.follow import joined, leans_on
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
from rag_agent.context.shown import key_of, keys_of, unseen
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
    "key_of",
    "keys_of",
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
    shown: Collection[bytes] = (),
    before: str = "",
) -> Context:
    """What to put before the agent's turn for this prompt; empty when nothing is relevant.

    ``threshold`` is the least certainty of a hit, in [0, 1]; ``budget`` is in tokens. ``search``
    is not called for a prompt that is no question. ``shown`` has the keys (``key_of``) of chunks
    that are not to be shown again, ``before`` what the session asked last.
    """
    if not enabled:
        return _nothing("automatic injection is off; `rag-agent on` turns it on")
    query, reasons = prompt, []
    if before and leans_on(prompt, before):
        query = joined(prompt, before)
        reasons.append("the prompt leans on the turn before, and is searched together with it")
    reason = silence(query)
    if reason:
        return _nothing(reason)
    results = search(query)
    decisions = [decide(hit, threshold) for hit in results.hits]
    fresh = [unseen(decision.hit, shown) if decision.inject else None for decision in decisions]
    kept = [hit for hit in fresh if hit is not None]
    packed = pack(kept, budget, tuple(query_words(results.query)))
    done = iter(packed.reasons)
    for decision, hit in zip(decisions, fresh, strict=True):
        place = decision.hit.chunk.location
        if not decision.inject:
            reasons.append(f"leaves out {place}: {decision.reason}")
        elif hit is None:
            reasons.append(f"leaves out {place}: this session has been shown it already")
        else:
            reasons.append(f"{next(done)}: {decision.reason}")
    if not decisions:
        reasons.append("nothing was found")
    return Context(packed.text, packed.tokens, packed.hits, tuple(reasons), query)


def _nothing(reason: str) -> Context:
    return Context("", 0, (), (reason,))
