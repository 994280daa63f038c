"""Local retrieval for coding agents: index code and documents, answer with the right lines."""

from __future__ import annotations

from rag_agent.version import __version__

TYPE_CHECKING = False  # typing's costs more to import than a hook may take
if TYPE_CHECKING:
    from typing import Any

    from rag_agent.index import Index, open

__all__ = ["Index", "__version__", "open"]


def __getattr__(name: str) -> Any:
    # The front door pulls in SQLite and the walk: a program that only asks for the version, and
    # a server that must answer at once, should not pay for it.
    if name in ("Index", "open"):
        from rag_agent import index

        return getattr(index, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
