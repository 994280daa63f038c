"""Verbs that set rag_agent up in coding agents, and take that back."""

from __future__ import annotations

import difflib
import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent import hosts
from rag_agent.commands.layout import counted, printable, styled, table
from rag_agent.commands.registry import Argument, Opener, Result, verb
from rag_agent.errors import HostError, WalkError
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.hosts.setup import Change
    from rag_agent.hosts.types import Host, Place, Scope
    from rag_agent.types import Check

_HOST = Argument("host", "the coding agent", values="host")
_PROJECT = Argument("--project", "for this project only, in files beside its own")
_DRY_RUN = Argument("--dry-run", "show the changes and make none")


@verb(
    "install",
    "set rag_agent up in a coding agent",
    _HOST,
    _PROJECT,
    _DRY_RUN,
    detail="Without --project for all projects of this user. Everything else in the files that it\n"
    "changes stays to the byte. `rag-agent hosts` lists the agents.",
)
def install(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Write a host's configuration."""
    from rag_agent.hosts.setup import install as set_up

    host, place = _place(arguments)
    return _changed(host, place, arguments, set_up, "is set up", f"{host.hint}")


@verb("uninstall", "take rag_agent out of a coding agent", _HOST, _PROJECT, _DRY_RUN)
def uninstall(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Remove what install wrote."""
    from rag_agent.hosts.setup import uninstall as take_back

    host, place = _place(arguments)
    return _changed(
        host, place, arguments, take_back, "is not set up", "What was not ours is as it was."
    )


@verb("hosts", "coding agents: which are found, where rag_agent is set up")
def list_hosts(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """All hosts and how they stand."""
    rows = [_row(hosts.get(name)) for name in hosts.names()]
    lines = [(str(row["host"]), _row_text(row)) for row in rows]
    return Result(
        {"hosts": rows},
        f"{table(lines)}\n`rag-agent install HOST` sets one up, --project for this project alone.",
    )


def host_checks() -> list[Check]:
    """For ``doctor``: each host that is set up, and whether what it starts is there."""
    from rag_agent.types import Check

    found = []
    for name in hosts.names():
        host = hosts.get(name)
        for scope in host.scopes:
            state = _state(host, scope)
            option = " --project" if scope == "project" else ""
            if state == "outdated":
                found.append(
                    Check(
                        host.title,
                        False,
                        f"set up for another rag_agent, or only in part ({scope})",
                        f"`rag-agent install {name}{option}` brings it up to date",
                    )
                )
            elif state == "set up":
                found.append(Check(host.title, True, f"set up ({scope})"))
    return found


def _place(arguments: Namespace) -> tuple[Host, Place]:
    host = hosts.get(arguments.host)
    return host, _place_of("project" if arguments.project else "user")


def _place_of(scope: Scope) -> Place:
    from rag_agent.hosts.program import program
    from rag_agent.hosts.types import Place
    from rag_agent.paths import home_folder

    try:
        project = Path.cwd()
    except OSError as error:
        raise WalkError("the current folder is gone; change to one that exists") from error
    return Place(scope, home_folder(), project, os.environ, program(os.environ, scope))


def _changed(
    host: Host,
    place: Place,
    arguments: Namespace,
    work: Callable[..., list[Change]],
    unchanged: str,
    afterwards: str,
) -> Result:
    from rag_agent.hosts.setup import state_folder

    changes = work(host, place, state_folder(), dry_run=arguments.dry_run)
    data = {
        "host": host.name,
        "scope": place.scope,
        "dry_run": arguments.dry_run,
        "files": [
            {"path": str(change.path), "change": _kind(change), "diff": _diff(change)}
            for change in changes
        ],
    }
    if not changes:
        already = "already " if unchanged == "is set up" else ""
        return Result(data, f"{host.title} {unchanged.replace('is ', f'is {already}', 1)}.")
    if arguments.dry_run:
        text = "\n".join(_diff(change) for change in changes)
        return Result(data, f"{text}\n{counted(len(changes), 'file')} would be changed.")
    lines = [f"{styled(_kind(change), 'green')} {change.path}" for change in changes]
    return Result(data, "\n".join([*lines, afterwards]))


def _kind(change: Change) -> str:
    if change.before is None:
        return "made"
    return "removed" if change.after is None else "changed"


def _diff(change: Change) -> str:
    """The change as a unified diff."""
    before, after = (_lines(content) for content in (change.before, change.after))
    if before is None or after is None:
        return f"{change.path}: {_kind(change)}, not a text"
    lines = difflib.unified_diff(
        before, after, f"{change.path}", f"{change.path} (new)", lineterm=""
    )
    return printable("\n".join(lines))


def _lines(content: bytes | None) -> Sequence[str] | None:
    try:
        return [] if content is None else content.decode().splitlines()
    except UnicodeDecodeError:
        return None


def _row(host: Host) -> dict[str, object]:
    """A host as ``hosts`` tells of it; ``found`` is the program on PATH, if it has one."""
    found = next((path for name in host.programs if (path := shutil.which(name))), "")
    return {
        "host": host.name,
        "title": host.title,
        "found": found,
        **{scope: _state(host, scope) for scope in host.scopes},
        "files": {
            scope: sorted({str(edit.path) for edit in host.edits(_place_of(scope))})
            for scope in host.scopes
        },
    }


def _state(host: Host, scope: Scope) -> str:
    from rag_agent.hosts.standing import state

    try:
        return state(host, _place_of(scope))
    except HostError as error:
        return f"cannot be read: {error}"


def _row_text(row: dict[str, object]) -> str:
    states = [
        f"{row[scope]} ({scope})"
        for scope in ("user", "project")
        if row.get(scope) not in (None, "no")
    ]
    found = f"found: {row['found']}" if row["found"] else ""
    return " · ".join(part for part in (str(row["title"]), found, ", ".join(states)) if part)
