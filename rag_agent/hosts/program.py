"""The words by which a host starts rag-agent."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from rag_agent.hosts.types import Scope

NAME = "rag-agent"


def program(environ: Mapping[str, str], scope: Scope = "user") -> tuple[str, ...]:
    """The running program by its whole path, else this interpreter with the module.

    Files of a project are shared with others: there the bare name, where PATH leads to this
    program.
    """
    script = _script()
    if script is None:
        return (sys.executable, "-m", "rag_agent")
    found = shutil.which(NAME, path=environ.get("PATH"))
    if scope == "project" and found and os.path.realpath(found) == os.path.realpath(script):
        return (NAME,)
    return (str(script),)


def is_there(words: tuple[str, ...], environ: Mapping[str, str]) -> bool:
    """Whether the first of these words can be started."""
    return bool(words) and shutil.which(words[0], path=environ.get("PATH")) is not None


def _script() -> Path | None:
    """The console script beside this interpreter, or that this process was started by."""
    suffix = ".exe" if os.name == "nt" else ""
    started = Path(sys.argv[0])
    # Not resolved: tools that install programs keep the link stable and not where it leads.
    beside = Path(sys.executable).parent / f"{NAME}{suffix}"
    for candidate in (started, beside):
        if candidate.name in (NAME, f"{NAME}{suffix}") and candidate.is_file():
            return candidate.absolute()
    return None
