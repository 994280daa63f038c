"""Claude Code: a plugin in a marketplace of its own folder, or for a project files beside its own.

The user's plugin is set up by files alone: a copy of ``marketplace`` that names our program, and
two entries of settings.json, the same that ``claude plugin marketplace add`` and ``install`` write.
Seen: 2.1.332 loads it at its next start, 2.1.118 and 2.1.197 at the one after. Also:
code.claude.com/docs/en/plugins-reference.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_agent.hosts.types import Edit, Entry, Host, Item, OwnFile, Place
from rag_agent.paths import expanded

MARKETPLACE = Path(__file__).parent / "marketplace"
PLUGIN = MARKETPLACE / "plugins" / "rag-agent"
_NAME = "rag-agent-local"  # as in marketplace.json
_PROGRAM = "rag-agent"  # the word for our program in the files of the plugin
_HOOK = "hook claude-code"
# Tools, servers and commands of a plugin carry its name, those of a project do not.
_OF_PLUGIN = (
    ("mcp__plugin_rag-agent_rag__", "mcp__rag__"),
    ("plugin:rag-agent:rag", "rag"),
    ("rag-agent:rag", "rag"),
)


def _edits(place: Place) -> Sequence[Edit]:
    return _project(place) if place.scope == "project" else _user(place)


def _user(place: Place) -> list[Edit]:
    named = place.environ.get("CLAUDE_CONFIG_DIR")
    folder = expanded(named) if named else place.home / ".claude"
    copy = folder / _PROGRAM
    files = sorted(path for path in MARKETPLACE.rglob("*") if path.is_file())
    source = {"source": {"source": "directory", "path": str(copy)}}
    settings = folder / "settings.json"
    return [
        *(OwnFile(copy / path.relative_to(MARKETPLACE), _content(path, place)) for path in files),
        Entry(settings, ("extraKnownMarketplaces", _NAME), source),
        Entry(settings, ("enabledPlugins", f"{_PROGRAM}@{_NAME}"), True),
    ]


def _project(place: Place) -> list[Edit]:
    folder = place.project / ".claude"
    hooks = [
        Item(
            folder / "settings.json",
            ("hooks", event),
            group,
            mark="rag_hook" if "rag_hook" in json.dumps(group) else _HOOK,
        )
        for name in ("server.json", "hooks.json", "command.json")
        for event, groups in _parsed(PLUGIN / "hooks" / name, place)["hooks"].items()
        for group in groups
    ]
    server = _parsed(PLUGIN / ".mcp.json", place)["mcpServers"]["rag"]
    ours = {
        folder / name: _without_plugin((PLUGIN / name).read_text(encoding="utf-8"))
        for name in ("commands/rag.md", "skills/rag-search/SKILL.md")
    }
    return [
        Entry(place.project / ".mcp.json", ("mcpServers", "rag"), server),
        *hooks,
        *(OwnFile(path, text.encode()) for path, text in ours.items()),
    ]


def _content(path: Path, place: Place) -> bytes:
    """A file of the plugin, with our program where it names one."""
    if path.suffix != ".json":
        return path.read_bytes()
    named = _named(json.loads(path.read_text(encoding="utf-8")), place)
    return (json.dumps(named, ensure_ascii=False, indent=2) + "\n").encode()


def _parsed(path: Path, place: Place) -> Any:
    """A JSON file of the plugin as a project has it."""
    return _named(json.loads(_without_plugin(path.read_text(encoding="utf-8"))), place)


def _without_plugin(text: str) -> str:
    for of_plugin, of_project in _OF_PLUGIN:
        text = text.replace(of_plugin, of_project)
    return text


def _named(value: Any, place: Place) -> Any:
    """The value with the words of ``place.program`` in each server and hook."""
    if isinstance(value, list):
        return [_named(each, place) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("command") == _PROGRAM:
        first, *rest = place.program
        return {**value, "command": first, "args": [*rest, *value["args"]]}
    if value.get("type") == "command":
        _, _, words = value["command"].partition(f"{_PROGRAM} ")
        return {**value, "command": f"{_shell(place.program)} {words}"}
    return {key: _named(each, place) for key, each in value.items()}


def _shell(program: Sequence[str]) -> str:
    """The words for the shell that runs hooks: sh, on Windows Git's Bash.

    Hooks have a form without a shell, too. Versions before it ignore the arguments and would run
    the first word alone, with whatever status that ends: 2 blocks the user's prompt.
    """
    words = [word.replace("\\", "/") for word in program] if os.name == "nt" else program
    return shlex.join(words)


HOST = Host(
    name="claude-code",
    title="Claude Code",
    edits=_edits,
    programs=("claude",),
    bridge=True,
    hint="Start Claude Code anew and type /rag-agent:rag index . (for a project set up with "
    "--project: approve the server `rag` when it asks, and type /rag index .): the model has "
    "rag_query, and what the project knows comes with each prompt. Claude asks before it uses a "
    "tool; the README shows the two rules that allow those that only read.",
)
