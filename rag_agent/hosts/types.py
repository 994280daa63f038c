"""What a host is, and the edits that set it up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a host is set up. ``program`` are the command words that run rag-agent."""

    scope: Scope
    home: Path
    project: Path
    environ: Mapping[str, str]
    program: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a JSON, JSONC, TOML or YAML file (by its suffix)."""

    path: Path
    keys: tuple[str, ...]
    value: object


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a list in a JSON or JSONC file; ours is the one whose JSON holds ``mark``."""

    path: Path
    keys: tuple[str, ...]
    value: object
    mark: str


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is wholly ours."""

    path: Path
    content: bytes


Edit = Entry | Item | OwnFile


@dataclass(frozen=True, slots=True)
class Host:
    """A coding agent.

    ``programs`` are executables by which it is found on PATH; a ``bridge`` starts the server with
    the internal tools; ``hint`` says what the user then sees and has to do.
    """

    name: str
    title: str
    edits: Callable[[Place], Sequence[Edit]]
    programs: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ("user", "project")
    bridge: bool = False
    hint: str = ""
