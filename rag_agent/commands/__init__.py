"""The verbs of ``rag-agent`` and ``/rag``: one registry for both, for help and for completion."""

from __future__ import annotations

# The order of these imports is the order in which help lists the verbs.
# isort: off
from rag_agent.commands import indexing
from rag_agent.commands import searching
from rag_agent.commands import relating
from rag_agent.commands import health
from rag_agent.commands import exchange
from rag_agent.commands import settings
from rag_agent.commands import hosts
from rag_agent.commands import evaluation
from rag_agent.commands import help

# isort: on
from rag_agent.commands.registry import VERBS, Argument, Opener, Result, Verb, verb

__all__ = [
    "VERBS",
    "Argument",
    "Opener",
    "Result",
    "Verb",
    "evaluation",
    "exchange",
    "health",
    "help",
    "hosts",
    "indexing",
    "relating",
    "searching",
    "settings",
    "verb",
]
