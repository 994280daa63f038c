"""Verbs that set rag_agent up in coding agents, and take that back."""

from __future__ import annotations

import difflib
import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent import hosts
from rag_agent.commands.layout import counted, one_line, printable, styled, table
from rag_agent.commands.registry import Argument, Opener, Result, verb
from rag_agent.errors import HostError, WalkError
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.hosts.setup import Change
    from rag_agent.hosts.types import Host, Place, Scope
    from rag_agent.types import Check

_STYLES = {"set up": "green", "outdated": "yellow"}
_HOST = Argument("host", "the coding agent", values="host")
_PROJECT = Argument("--project", "for this project only, in files beside its own")
_SHORT_FILE = 40  # lines of a new file that a dry run shows
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
    data, text = _changed(host, place, arguments, set_up, "is already set up", host.hint)
    return Result(data, "\n".join([text, *_cautions(host, place)]))


@verb("uninstall", "take rag_agent out of a coding agent", _HOST, _PROJECT, _DRY_RUN)
def uninstall(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Remove what install wrote."""
    from rag_agent.hosts.setup import uninstall as take_back
    from rag_agent.hosts.standing import left_behind

    host, place = _place(arguments)
    data, text = _changed(
        host, place, arguments, take_back, "is not set up", "What was not ours is as it was."
    )
    left = [] if arguments.dry_run else left_behind(host, place)
    lines = [f"{path} was changed by somebody else and stays; remove it by hand" for path in left]
    data["left"] = [str(path) for path in left]
    return Result(data, "\n".join([text, *lines]))


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
    from rag_agent.hosts.standing import problems
    from rag_agent.types import Check

    found = []
    for name in hosts.names():
        host = hosts.get(name)
        for scope in host.scopes:
            state = _state(host, scope)
            option = " --project" if scope == "project" else ""
            if state == "outdated":
                detail = "; ".join(problems(host, _place_of(scope)))
                advice = f"`rag-agent install {name}{option}` brings it up to date"
                found.append(Check(host.title, False, f"{detail} ({scope})", advice))
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
) -> tuple[dict[str, object], str]:
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
        scope = "for this project" if place.scope == "project" else "for you"
        return data, f"{host.title} {unchanged} {scope}."
    if arguments.dry_run:
        text = "\n".join(map(_shown_change, changes))
        return data, f"{text}\n{counted(len(changes), 'file')} would be changed."
    lines = [f"{styled(_kind(change), 'green')} {one_line(str(change.path))}" for change in changes]
    return data, "\n".join([*lines, afterwards])


def _shown_change(change: Change) -> str:
    """The diff of a file that is there; of one that is made, that it is, and how long."""
    after = _lines(change.after)
    if change.before is None and after is not None and len(after) > _SHORT_FILE:
        return f"{one_line(str(change.path))}: made, {counted(len(after), 'line')}"
    return _diff(change)


def _cautions(host: Host, place: Place) -> list[str]:
    """What to know of where a host is set up now."""
    from rag_agent.hosts.program import NAME

    found = []
    other: Scope = "user" if place.scope == "project" else "project"
    if other in host.scopes and _state(host, other) != "no":
        option = " --project" if other == "project" else ""
        where = "this project" if other == "project" else "all your projects"
        found.append(
            f"{host.title} is set up for {where} as well; one of both is enough: "
            f"`rag-agent uninstall {host.name}{option}` takes the other out"
        )
    if place.scope == "project" and place.program != (NAME,):
        found.append(
            f"these files name {place.program[0]}, which is yours alone: before you share them, "
            "put rag-agent on your PATH and install again"
        )
    return [styled(f"note: {line}", "yellow") for line in found]


def _kind(change: Change) -> str:
    if change.before is None:
        return "made"
    return "removed" if change.after is None else "changed"


def _diff(change: Change) -> str:
    """The change as a unified diff."""
    before, after = (_lines(content) for content in (change.before, change.after))
    if before is None or after is None:
        return f"{one_line(str(change.path))}: {_kind(change)}, not a text"
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
    """A host as ``hosts`` tells of it; ``found`` is its program, else its folder of settings."""
    files: dict[Scope, list[Path]] = {}
    for scope in host.scopes:
        with suppress(HostError):  # the state of that scope tells
            files[scope] = _files(host, _place_of(scope))
    found = next((path for name in host.programs if (path := shutil.which(name))), "")
    settings = files["user"][0].parent if files.get("user") else None
    if not found and settings is not None and settings.is_dir():
        found = str(settings)
    return {
        "host": host.name,
        "title": host.title,
        "found": found,
        **{scope: _state(host, scope) for scope in host.scopes},
        "files": {scope: [str(path) for path in paths] for scope, paths in files.items()},
    }


def _files(host: Host, place: Place) -> list[Path]:
    """The files of a host, its own configuration before what is wholly ours."""
    from rag_agent.hosts.setup import edits_of
    from rag_agent.hosts.types import OwnFile

    edits = sorted(edits_of(host, place), key=lambda edit: isinstance(edit, OwnFile))
    return list(dict.fromkeys(edit.path for edit in edits))


def _state(host: Host, scope: Scope) -> str:
    from rag_agent.hosts.standing import state

    try:
        return state(host, _place_of(scope))
    except HostError as error:
        return f"cannot be read: {error}"


def _row_text(row: dict[str, Any]) -> str:
    parts = [row["title"], f"found: {row['found']}" if row["found"] else "not found"]
    for scope, paths in row["files"].items():
        if row[scope] != "no":
            parts.append(
                f"{styled(row[scope], _STYLES.get(row[scope], 'red'))} ({scope}): {paths[0]}"
            )
    return " · ".join(parts)
