"""Why a hit stands where it stands, in words."""

from __future__ import annotations

from rag_agent.search.rerank import SIGNAL as RERANKER
from rag_agent.search.signals import PARTS
from rag_agent.types import Hit

_PHRASES = {
    **PARTS,
    RERANKER: "the reranker, which read it together with the question, moved it",
}


def explain(hit: Hit) -> list[str]:
    """A sentence for each part of the score, weightiest first, and one on how sure it is."""
    parts = sorted(hit.signals.items(), key=lambda part: -abs(part[1]))
    lines = [f"{value:+.2f}  {_PHRASES.get(name, name)}" for name, value in parts]
    found = f"{hit.evidence.coverage:.0%} of the question's informative words are in it"
    if hit.evidence.cosine is None:
        return [*lines, f"evidence: {found}; no vectors to compare"]
    return [*lines, f"evidence: {found}; cosine {hit.evidence.cosine:.2f}"]
