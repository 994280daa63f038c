"""The SQLite file of an index: the only place that knows SQL.

What is public here is imported when it is first used: a hook takes a ``glance`` without the rest.
"""

from __future__ import annotations

from rag_agent.late import late_names

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.store.aside import set_aside_if_corrupt
    from rag_agent.store.filters import Filter
    from rag_agent.store.records import (
        CountedPassages,
        Counts,
        Outline,
        Pending,
        PendingCard,
        Place,
        StoredChunk,
    )
    from rag_agent.store.store import Store

__all__ = [
    "CountedPassages",
    "Counts",
    "Filter",
    "Outline",
    "Pending",
    "PendingCard",
    "Place",
    "Store",
    "StoredChunk",
    "set_aside_if_corrupt",
]

__getattr__ = late_names(
    __name__,
    {
        "aside": ("set_aside_if_corrupt",),
        "filters": ("Filter",),
        "records": (
            "CountedPassages",
            "Counts",
            "Outline",
            "Pending",
            "PendingCard",
            "Place",
            "StoredChunk",
        ),
        "store": ("Store",),
    },
)
