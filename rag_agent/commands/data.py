"""What was found as plain data, as ``--json`` and every host gets it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_agent.types import Hit, Related, SearchResults, Skipped


def search_data(found: SearchResults) -> dict[str, object]:
    """Search results as every ``--json`` and every host gets them."""
    return {
        "query": found.query,
        "mode": found.mode,
        "took_ms": round(found.took_ms, 1),
        "hits": [hit_data(hit) for hit in found.hits],
        "notes": list(found.notes),
    }


def hit_data(hit: Hit) -> dict[str, object]:
    """One hit as plain data; lines count from 1 and include both ends.

    ``score`` orders the hits of one question; ``certainty``, in [0, 1], compares between questions.
    """
    from rag_agent.context import certainty

    return {
        "path": hit.path,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "score": round(hit.score, 4),
        "certainty": round(certainty(hit.evidence), 4),
        "signals": {name: round(value, 4) for name, value in hit.signals.items()},
        "evidence": {
            "cosine": None if hit.evidence.cosine is None else round(hit.evidence.cosine, 4),
            "coverage": round(hit.evidence.coverage, 4),
            "bm25": round(hit.evidence.bm25, 4),
        },
        "heading": hit.chunk.heading,
        "text": hit.chunk.text,
        "more": [{"start": c.start, "end": c.end, "text": c.text} for c in hit.more],
        "converted": hit.converted,
        "stale": hit.stale,
        "copies": list(hit.copies),
        "address": hit.address,
    }


def related_data(found: Related) -> dict[str, object]:
    """What is near a document as plain data; ``similar`` are hits, whose scores are cosines."""
    return {
        "path": found.path,
        "line": found.line,
        "links": [asdict(one) for one in found.links],
        "linked": found.linked,
        "dead": [{"target": link.target, "line": link.line} for link in found.dead],
        "similar": [hit_data(hit) for hit in found.similar],
        "mode": found.mode,
        "notes": list(found.notes),
    }


def skipped_data(skipped: Iterable[Skipped]) -> list[dict[str, object]]:
    """Files left out as plain data; ``size`` and ``mtime_ns`` where the content was the reason."""
    return [{k: v for k, v in asdict(one).items() if v != -1} for one in skipped]
