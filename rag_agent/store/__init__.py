"""The SQLite file of an index: the only place that knows SQL."""

from __future__ import annotations

from rag_agent.store.aside import set_aside_if_corrupt
from rag_agent.store.filters import Filter
from rag_agent.store.records import Counts, PassageMatch, Pending, StoredChunk
from rag_agent.store.store import Store

__all__ = [
    "Counts",
    "Filter",
    "PassageMatch",
    "Pending",
    "Store",
    "StoredChunk",
    "set_aside_if_corrupt",
]
