"""From hits to text for a model: whether to say anything, how much, and safely fenced.

``build`` goes from a prompt to its context: ``gate`` decides, ``follow`` knows a prompt that leans
on the one before, ``shown`` what a session has seen, ``packing`` fills the budget, ``fence`` marks
what is data. ``render`` writes the answer to a tool call; ``spending`` decides whose lines it has,
by the shares that ``focus`` gives. ``lines`` merges pieces of files, ``excerpts`` cuts them to the
lines that matter, in the order of ``ordering``, and ``headings`` says what these are called.
"""

from __future__ import annotations

from rag_agent.late import late_names

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.context.build import build_context
    from rag_agent.context.gate import (
        NOTHING_SURE,
        Decision,
        certainty,
        decide,
        is_sure,
        silence,
    )
    from rag_agent.context.headings import heading_of
    from rag_agent.context.packing import pack
    from rag_agent.context.render import render_results
    from rag_agent.context.shown import key_of, keys_of

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

__getattr__ = late_names(
    __name__,
    {
        "build": ("build_context",),
        "gate": ("NOTHING_SURE", "Decision", "certainty", "decide", "is_sure", "silence"),
        "headings": ("heading_of",),
        "packing": ("pack",),
        "render": ("render_results",),
        "shown": ("key_of", "keys_of"),
    },
)
