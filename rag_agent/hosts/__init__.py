"""The coding agents that rag_agent is set up in: one package a host, rows for plain MCP hosts."""

from __future__ import annotations

import importlib

from rag_agent.errors import HostError
from rag_agent.hosts.types import Host

_OWN = ("pi", "claude-code", "codex", "gemini", "opencode")


def get(name: str) -> Host:
    """The host of that name.

    Raises:
        HostError: there is none.
    """
    if name not in _OWN:
        raise HostError(f"no host {name!r}; there are {', '.join(_OWN)}")
    module = importlib.import_module(f"rag_agent.hosts.{name.replace('-', '_')}")
    found: Host = module.HOST
    return found
