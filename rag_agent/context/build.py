"""The engine of injection: a prompt to the text that goes before the agent's turn."""

from __future__ import annotations

from collections.abc import Callable, Collection

from rag_agent.context.follow import joined, leans_on
from rag_agent.context.gate import decide, silence
from rag_agent.context.packing import pack
from rag_agent.context.shown import unseen
from rag_agent.tokens import query_words
from rag_agent.types import Context, SearchResults


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
