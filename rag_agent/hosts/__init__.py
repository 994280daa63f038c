"""The coding agents that rag_agent is set up in: one package a host, rows for plain MCP hosts."""

from __future__ import annotations

import importlib

from rag_agent.errors import HostError

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.hosts.types import Host

# Each in a package of its own. Plain hosts, which take a server and no more, are rows of ``plain``.
_OWN = ("pi", "claude-code", "codex", "gemini", "opencode")


def get(name: str) -> Host:
    """The host of that name.

    Raises:
        HostError: there is none.
    """
    if name in _OWN:
        module = importlib.import_module(f"rag_agent.hosts.{name.replace('-', '_')}")
        found: Host = module.HOST
        return found
    from rag_agent.hosts.plain import HOSTS

    if name not in HOSTS:
        raise HostError(f"no host {name!r}; there are {', '.join(names())}")
    return HOSTS[name]


def names() -> tuple[str, ...]:
    """The names of all hosts, those with more than a server first."""
    from rag_agent.hosts.plain import HOSTS

    return (*_OWN, *HOSTS)
