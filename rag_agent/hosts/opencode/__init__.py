"""opencode: a server in its configuration, a plugin that forwards, and the command ``/rag``.

Seen with 1.18.33, whose own files are named here: it reads plugins and commands below its
configuration folder and below ``.opencode``, and passes the server's instructions to the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rag_agent.hosts.types import Edit, Entry, Host, OwnFile, Place
from rag_agent.paths import expanded

_PLUGIN = Path(__file__).parent / "rag-agent.js"
_COMMAND = Path(__file__).parent / "rag.md"
_PROGRAM = 'const PROGRAM = ["rag-agent"]'  # the line of the plugin that names our program
_START_TIMEOUT = 30_000  # ms to list the tools; Python's first start compiles its files


def _edits(place: Place) -> Sequence[Edit]:
    settings, folder = _project(place) if place.scope == "project" else _user(place)
    server = {
        "type": "local",
        "command": [*place.program, "serve", "--for", "opencode"],
        "enabled": True,
        "timeout": _START_TIMEOUT,
    }
    return [
        Entry(settings, ("mcp", "rag"), server),
        OwnFile(folder / "plugin" / _PLUGIN.name, _plugin(place)),
        OwnFile(folder / "command" / _COMMAND.name, _COMMAND.read_bytes()),
    ]


def _user(place: Place) -> tuple[Path, Path]:
    """The file of settings that opencode itself would change, and the folder of plugins."""
    named = place.environ.get("XDG_CONFIG_HOME")
    folder = (expanded(named) if named else place.home / ".config") / "opencode"
    return _existing(folder, "opencode.jsonc", "opencode.json", "config.json"), folder


def _project(place: Place) -> tuple[Path, Path]:
    folder = place.project / ".opencode"
    names = ("opencode.json", "opencode.jsonc")
    return _existing(place.project, *names, *(f".opencode/{name}" for name in names)), folder


def _existing(folder: Path, *names: str) -> Path:
    """The first of these files that is there, else the first."""
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[0])


def _plugin(place: Place) -> bytes:
    words = json.dumps(list(place.program), ensure_ascii=False)
    text = _PLUGIN.read_text(encoding="utf-8")
    return text.replace(_PROGRAM, f"const PROGRAM = {words}").encode()


HOST = Host(
    name="opencode",
    title="opencode",
    edits=_edits,
    programs=("opencode",),
    hint="Start `opencode` anew and type `/rag index .`: the answer comes without a request to a "
    "model. The model has rag_query, and what the project knows comes with each prompt.",
)
