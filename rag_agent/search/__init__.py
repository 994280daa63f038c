"""From a question to hits; modules in the order they run.

``question`` reads it, ``lexical`` and ``dense`` score passages and chunks, ``candidates`` gathers
them by file in the columns of ``columns``, ``measuring`` has the ``signals`` of all of them and
``ranking`` the scores (a hook has both in loops: ``facts`` and ``fusion``), ``passages`` chooses
the lines to show.
"""

from __future__ import annotations

from rag_agent.late import late_names

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.explain import explain
    from rag_agent.search.hybrid import SearchOptions, search

__all__ = ["SearchOptions", "explain", "search"]

__getattr__ = late_names(__name__, {"explain": ("explain",), "hybrid": ("SearchOptions", "search")})
