"""What is written for Claude Code; that it works is shown with the real one, in real_hosts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from rag_agent.hosts.claude_code import HOST, MARKETPLACE, PLUGIN
from rag_agent.hosts.types import Entry, Item, OwnFile, Place, Scope
from rag_agent.server.tools import INTERNAL, tools
from rag_agent.version import __version__

_PROGRAM = ("/opt/my tools/python", "-m", "rag_agent")


def _place(scope: Scope, tmp_path: Path, **environ: str) -> Place:
    return Place(scope, tmp_path / "home", tmp_path / "project", environ, _PROGRAM)


def _files(place: Place) -> dict[Path, bytes]:
    return {edit.path: edit.content for edit in HOST.edits(place) if isinstance(edit, OwnFile)}


def _commands(value: Any) -> list[str]:
    """Every command line of a hook in the value."""
    if isinstance(value, list):
        return [command for each in value for command in _commands(each)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "command":
        return [value["command"]]
    return [command for each in value.values() for command in _commands(each)]


@pytest.mark.parametrize(
    ("environ", "folder"), [({}, "home/.claude"), ({"CLAUDE_CONFIG_DIR": "elsewhere"}, "elsewhere")]
)
def test_the_plugin_lies_beside_the_settings_that_name_it(
    tmp_path: Path, environ: dict[str, str], folder: str
) -> None:
    where = tmp_path / folder
    named = {name: str(tmp_path / value) for name, value in environ.items()}
    edits = HOST.edits(_place("user", tmp_path, **named))

    marketplace, enabled = [edit for edit in edits if isinstance(edit, Entry)]
    assert marketplace.path == enabled.path == where / "settings.json"
    copy = where / "rag-agent"
    assert marketplace.value == {"source": {"source": "directory", "path": str(copy)}}
    ours = {path.relative_to(MARKETPLACE) for path in MARKETPLACE.rglob("*") if path.is_file()}
    assert {path.relative_to(copy) for path in _files(_place("user", tmp_path, **named))} == ours


def test_settings_name_the_marketplace_and_the_plugin_by_their_names(tmp_path: Path) -> None:
    marketplace = json.loads((MARKETPLACE / ".claude-plugin" / "marketplace.json").read_bytes())
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_bytes())
    known, enabled = [
        edit for edit in HOST.edits(_place("user", tmp_path)) if isinstance(edit, Entry)
    ]

    assert known.keys == ("extraKnownMarketplaces", marketplace["name"])
    assert enabled.keys == ("enabledPlugins", f"{manifest['name']}@{marketplace['name']}")
    assert manifest["version"] == __version__


def test_the_server_and_every_hook_run_our_program(tmp_path: Path) -> None:
    parsed = {
        path.name: json.loads(content)
        for path, content in _files(_place("user", tmp_path)).items()
        if path.suffix == ".json"
    }

    server = parsed[".mcp.json"]["mcpServers"]["rag"]
    assert (server["command"], *server["args"]) == (*_PROGRAM, "serve", "--for", "claude-code")
    commands = _commands(list(parsed.values()))
    assert len(commands) == 3
    for command in commands:
        assert shlex.split(command) == [*_PROGRAM, "hook", "claude-code"]


def test_each_file_of_hooks_is_one_that_its_versions_can_read() -> None:
    # One unknown hook or event and a version drops the whole file: 2.1.112 knows neither.
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_bytes())
    assert set(hooks["hooks"]) == {"UserPromptSubmit", "SessionStart"}
    assert "mcp_tool" not in json.dumps(hooks)


def test_the_tool_of_the_prompt_hook_exists() -> None:
    [group] = json.loads((PLUGIN / "hooks" / "server.json").read_bytes())["hooks"][
        "UserPromptSubmit"
    ]
    [hook] = group["hooks"]
    assert hook["tool"] in INTERNAL
    assert set(INTERNAL[hook["tool"]].model_fields) >= set(hook["input"])


def test_a_project_s_files_know_nothing_of_the_plugin(tmp_path: Path) -> None:
    place = _place("project", tmp_path)
    values = [edit.value for edit in HOST.edits(place) if isinstance(edit, Entry | Item)]
    texts = [content.decode() for content in _files(place).values()]

    everything = json.dumps(values) + "".join(texts)
    assert "plugin" not in everything
    assert "rag-agent:rag" not in everything
    for tool in tools():
        assert f"mcp__rag__{tool.name}" in everything


def test_a_mark_is_in_its_own_element_alone(tmp_path: Path) -> None:
    items = [edit for edit in HOST.edits(_place("project", tmp_path)) if isinstance(edit, Item)]

    assert len(items) == 4
    for item in items:
        beside = [one for one in items if (one.path, one.keys) == (item.path, item.keys)]
        assert [one for one in beside if item.mark in json.dumps(one.value)] == [item]
