"""How a host stands: whether it is set up, and what about it is not as it is to be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from rag_agent.errors import HostError
from rag_agent.hosts import contents, files
from rag_agent.hosts.ours import command_words
from rag_agent.hosts.program import is_there
from rag_agent.hosts.setup import edits_of
from rag_agent.hosts.types import Edit, Host, OwnFile, Place

State = Literal["set up", "outdated", "no"]


def state(host: Host, place: Place) -> State:
    """Whether a host is set up, as its files tell.

    Raises:
        HostError: one of them cannot be read.
    """
    found = {_has(edit) for edit in edits_of(host, place)}
    if found == {True}:
        return "set up"
    return "no" if found == {False} else "outdated"


def problems(host: Host, place: Place) -> list[str]:
    """What is not as it is to be, one line a file, for a host that is set up in part."""
    found: dict[Path, str] = {}
    for edit in edits_of(host, place):
        has = _has(edit)
        if has is not True and edit.path not in found:
            found[edit.path] = "lacks what is ours" if has is False else _difference(edit, place)
    return [f"{path} {problem}" for path, problem in found.items()]


def left_behind(host: Host, place: Place) -> list[Path]:
    """Files of ours that differ from what we would write: taking a host back leaves them."""
    return [
        edit.path
        for edit in edits_of(host, place)
        if isinstance(edit, OwnFile) and files.read(edit.path) is not None
    ]


def _has(edit: Edit) -> bool | None:
    """Whether an edit is there as it is to be; None where one of ours is that is outdated."""
    content = files.read(edit.path)
    if content is None:
        return False
    if isinstance(edit, OwnFile):
        return True if content == edit.content else None
    return contents.has_edit(content, edit)


def _difference(edit: Edit, place: Place) -> str:
    """What is outdated about an edit: a program that is gone, another one, or the rest."""
    for words in _commands(edit):
        if not is_there(tuple(words), place.environ):
            return f"starts {words[0]}, which is not there"
        if tuple(words[: len(place.program)]) != place.program:
            return f"starts another rag_agent, {words[0]}"
    return "is of another version"


def _commands(edit: Edit) -> Iterator[list[str]]:
    content = files.read(edit.path) or b""
    try:
        if isinstance(edit, OwnFile):
            yield from _all_commands(json.loads(content))
        else:
            value: Any = contents.values(content, edit.path)
            for key in edit.keys:
                value = value.get(key) if isinstance(value, dict) else None
            yield from _all_commands(value)
    except (ValueError, HostError):
        return  # a text, which names its program in a way of its own


def _all_commands(value: Any) -> Iterator[list[str]]:
    """The words of every entry in a value that starts a server."""
    if isinstance(value, dict):
        words = command_words(value)
        if words and "serve" in words:
            yield words
        for each in value.values():
            yield from _all_commands(each)
    elif isinstance(value, list):
        for each in value:
            yield from _all_commands(each)
