"""Gemini CLI: an extension of its own, or for a project settings and a command beside its own.

Seen with 0.61.0: it loads any folder below ``extensions`` at its next start, also one that
``gemini extensions install`` did not copy, and passes the server's instructions to the model. Its
commands are texts for the model; that of ``/rag`` is a line which the hook answers in its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_agent.hosts import shell
from rag_agent.hosts.types import Edit, Entry, Host, Item, OwnFile, Place
from rag_agent.paths import expanded
from rag_agent.version import __version__

_COMMAND = Path(__file__).parent / "rag.toml"
_NAME = "rag-agent"
_MARK = " hook gemini"
_MARK_OF_POWERSHELL = "'hook' 'gemini'"
# Milliseconds: a /rag command waits 20 s for long work, then leaves it to the background.
_HOOK_TIMEOUT = 30_000
_TOOL_TIMEOUT = 600_000
# A hook that fails blocks the prompt, whatever its status; so does
# the shell's 127 for a program that is gone.
_GONE = json.dumps(
    {
        "systemMessage": "rag_agent: no context for this prompt, for its program does not run; "
        "install it again, or remove the extension or hook rag-agent"
    }
)


def _settings_folder(place: Place) -> Path:
    if place.scope == "project":
        return place.project / ".gemini"
    named = place.environ.get("GEMINI_CLI_HOME")
    return (expanded(named) if named else place.home) / ".gemini"


def _edits(place: Place) -> Sequence[Edit]:
    return _project(place) if place.scope == "project" else _user(place)


def _user(place: Place) -> list[Edit]:
    folder = _settings_folder(place) / "extensions" / _NAME
    manifest = {
        "name": _NAME,
        "version": __version__,
        "description": "Search over this project, on this machine",
        "mcpServers": {"rag": _server(place)},
    }
    hooks = {event: [group] for event, group in _hooks(place).items()}
    return [
        OwnFile(folder / "gemini-extension.json", _json(manifest)),
        OwnFile(folder / "hooks" / "hooks.json", _json({"hooks": hooks})),
        OwnFile(folder / "commands" / "rag.toml", _COMMAND.read_bytes()),
    ]


def _project(place: Place) -> list[Edit]:
    folder = _settings_folder(place)
    settings = folder / "settings.json"
    hooks = _hooks(place)
    mark = _MARK if _MARK in json.dumps(hooks) else _MARK_OF_POWERSHELL
    return [
        Entry(settings, ("mcpServers", "rag"), _server(place)),
        *(Item(settings, ("hooks", event), group, mark) for event, group in hooks.items()),
        OwnFile(folder / "commands" / "rag.toml", _COMMAND.read_bytes()),
    ]


def _server(place: Place) -> dict[str, Any]:
    first, *rest = place.program
    return {
        "command": first,
        "args": [*rest, "serve", "--for", "gemini"],
        "timeout": _TOOL_TIMEOUT,
    }


def _hooks(place: Place) -> dict[str, dict[str, Any]]:
    """A group of hooks for each event: the prompt, and what empties the conversation."""
    hook = {
        "type": "command",
        "name": _NAME,
        "command": shell.line_or([*place.program, "hook", "gemini"], _GONE),
        "timeout": _HOOK_TIMEOUT,
    }
    return {
        "BeforeAgent": {"hooks": [hook]},
        "SessionStart": {"matcher": "clear", "hooks": [hook]},
        # "auto" comes after every turn, long before anything is compressed.
        "PreCompress": {"matcher": "manual", "hooks": [hook]},
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


HOST = Host(
    name="gemini",
    title="Gemini CLI",
    edits=_edits,
    programs=("gemini",),
    hint="Start `gemini` anew and type `/rag index .`: the model has rag_query, and what the "
    "project knows comes with each prompt. It asks before it uses a tool; allow the server once. "
    "(Answers of /rag come as `Agent execution blocked:`, for the hook gives them in place of "
    "the model. A project's settings count only in a folder that you trust.)",
)
