"""Codex: a server in config.toml, hooks in hooks.json, and a skill that ``$rag`` names.

Seen with 0.171.0. Of a project it reads ``.codex`` only once the user trusts the folder, and it
runs a hook only once the user has reviewed it; it keeps that in config.toml, by the hook's hash.
It has no commands of one's own: custom prompts are gone, ``/rag`` is refused. ``$rag status`` is a
prompt, which the hook answers in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_agent.hosts import shell
from rag_agent.hosts.types import Edit, Entry, Host, Item, OwnFile, Place
from rag_agent.paths import expanded

_SKILL = Path(__file__).parent / "SKILL.md"
_MARK = " hook codex"
# Seconds: a /rag command waits 20 for long work, then leaves it to the background.
_HOOK_TIMEOUT = 30
# Tokens. Codex cuts longer context in the middle, with its fences; the most that
# ``ragTokenBudget`` allows.
_CONTEXT_LIMIT = 100_000
_START_TIMEOUT = 30  # seconds; Python's first start after an installation compiles its files
_TOOL_TIMEOUT = 600


def _folder(place: Place) -> Path:
    if place.scope == "project":
        return place.project / ".codex"
    named = place.environ.get("CODEX_HOME")
    return expanded(named) if named else place.home / ".codex"


def _edits(place: Place) -> Sequence[Edit]:
    folder = _folder(place)
    first, *rest = place.program
    server = {
        "command": first,
        "args": [*rest, "serve", "--for", "codex"],
        "startup_timeout_sec": _START_TIMEOUT,
        "tool_timeout_sec": _TOOL_TIMEOUT,
    }
    hook: dict[str, Any] = {
        "type": "command",
        "command": shell.line([*place.program, "hook", "codex"]),
        "timeout": _HOOK_TIMEOUT,
    }
    turn = {"hooks": [hook | {"additionalContextLimit": _CONTEXT_LIMIT}]}
    start = {"matcher": "clear|compact", "hooks": [hook]}
    hooks = folder / "hooks.json"
    return [
        Entry(folder / "config.toml", ("mcp_servers", "rag"), server),
        Item(hooks, ("hooks", "UserPromptSubmit"), turn, _MARK),
        Item(hooks, ("hooks", "SessionStart"), start, _MARK),
        OwnFile(folder / "skills" / "rag" / "SKILL.md", _skill(place)),
    ]


def _skill(place: Place) -> bytes:
    text = _SKILL.read_text(encoding="utf-8")
    return text.replace("{program}", shell.line(place.program)).encode()


HOST = Host(
    name="codex",
    title="Codex",
    edits=_edits,
    programs=("codex",),
    hint="Start `codex` anew. It says once that hooks need review: look at them and trust them (a "
    "project's settings count only in a folder that you trust). Until then `codex exec` leaves "
    "hooks out without a word. Then type `$rag index .`: the model has rag_query, and what the "
    "project knows comes with each prompt.",
)
