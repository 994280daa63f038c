"""The coding agents that rag_agent is set up in: one package a host, rows for plain MCP hosts."""

from __future__ import annotations

import importlib
import os

from rag_agent.errors import HostError

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.hosts.types import Host


def get(name: str) -> Host:
    """The host of that name.

    Raises:
        HostError: there is none.
    """
    if name in _packages():
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

    return (*_packages(), *HOSTS)


def _packages() -> list[str]:
    """The hosts with a package of their own beside this file; others are rows of ``plain``."""
    with os.scandir(os.path.dirname(__file__)) as entries:  # noqa: PTH120
        return sorted(
            entry.name.replace("_", "-")
            for entry in entries
            if os.path.isfile(os.path.join(entry.path, "__init__.py"))  # noqa: PTH113, PTH118
        )
