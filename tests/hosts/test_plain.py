"""Hosts that take a server and no more: where their configuration lies, and what goes into it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from rag_agent import hosts
from rag_agent.hosts.plain import HOSTS
from rag_agent.hosts.types import Entry, OwnFile, Place, Scope

HOME, PROJECT = Path("/somebody"), Path("/somewhere/project")
PROGRAM = ("/opt/py thon", "-m", "rag_agent")
COMMAND = {"command": "/opt/py thon", "args": ["-m", "rag_agent", "serve", "--for"]}


def place_of(scope: Scope, **environ: str) -> Place:
    return Place(scope, HOME, PROJECT, environ, PROGRAM)


def only_entry(name: str, place: Place) -> Entry:
    (edit,) = HOSTS[name].edits(place)
    assert isinstance(edit, Entry)
    return edit


@pytest.mark.parametrize(
    ("name", "user", "project", "keys"),
    [
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "", "mcpServers"),
        ("zed", ".config/zed/settings.json", ".zed/settings.json", "context_servers"),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", "", "mcpServers"),
        (
            "roo-code",
            ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ".roo/mcp.json",
            "mcpServers",
        ),
        ("kilo", ".config/kilo/kilo.json", ".kilo/kilo.json", "mcp"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "", "mcpServers"),
        ("lm-studio", ".lmstudio/mcp.json", "", "mcpServers"),
        ("kiro", ".kiro/settings/mcp.json", ".kiro/settings/mcp.json", "mcpServers"),
        ("junie", ".junie/mcp/mcp.json", ".junie/mcp/mcp.json", "mcpServers"),
        ("copilot-cli", ".copilot/mcp-config.json", ".github/mcp.json", "mcpServers"),
        ("qwen", ".qwen/settings.json", ".qwen/settings.json", "mcpServers"),
        ("droid", ".factory/mcp.json", ".factory/mcp.json", "mcpServers"),
        ("goose", ".config/goose/config.yaml", "", "extensions"),
    ],
)
def test_a_host_has_its_entry_where_it_looks_for_it(
    name: str, user: str, project: str, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    found = {scope: only_entry(name, place_of(scope)) for scope in HOSTS[name].scopes}
    wanted = {"user": HOME / user} | ({"project": PROJECT / project} if project else {})
    assert {scope: entry.path for scope, entry in found.items()} == wanted
    assert {entry.keys for entry in found.values()} == {(keys, "rag")}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("vscode", {"type": "stdio"}),
        ("droid", {"type": "stdio"}),
        ("copilot-cli", {"type": "local", "tools": ["*"]}),
        *(
            (n, {})
            for n in HOSTS
            if n not in ("vscode", "droid", "copilot-cli", "kilo", "goose", "continue")
        ),
    ],
)
def test_an_entry_says_how_to_start_the_server(name: str, more: dict[str, object]) -> None:
    entry = only_entry(name, place_of("user"))
    assert entry.value == {**more, **COMMAND, "args": [*COMMAND["args"], name]}


def test_kilo_takes_the_command_as_one_list() -> None:
    entry = only_entry("kilo", place_of("user"))
    assert json.loads(json.dumps(entry.value))["command"] == [*PROGRAM, "serve", "--for", "kilo"]


def test_goose_has_names_of_its_own_for_the_command() -> None:
    entry = only_entry("goose", place_of("user"))
    assert isinstance(entry.value, dict)
    assert (entry.value["cmd"], entry.value["args"]) == (
        COMMAND["command"],
        [*COMMAND["args"], "goose"],
    )


@pytest.mark.parametrize(
    ("platform", "name", "where"),
    [
        ("darwin", "vscode", HOME / "Library/Application Support/Code/User/mcp.json"),
        ("darwin", "zed", HOME / ".config/zed/settings.json"),
        (
            "darwin",
            "claude-desktop",
            HOME / "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", "vscode", Path("/roaming/Code/User/mcp.json")),
        ("win32", "zed", Path("/roaming/Zed/settings.json")),
        ("win32", "claude-desktop", Path("/roaming/Claude/claude_desktop_config.json")),
        ("win32", "cursor", HOME / ".cursor/mcp.json"),
        ("darwin", "goose", HOME / ".config/goose/config.yaml"),
        ("win32", "goose", Path("/roaming/Block/goose/config/config.yaml")),
    ],
)
def test_other_systems_have_other_folders(
    platform: str, name: str, where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert only_entry(name, place_of("user", APPDATA="/roaming")).path == where


@pytest.mark.parametrize(
    ("name", "variable", "where"),
    [
        ("copilot-cli", "COPILOT_HOME", "mcp-config.json"),
        ("cline", "CLINE_DIR", "data/settings/cline_mcp_settings.json"),
        ("kilo", "XDG_CONFIG_HOME", "kilo/kilo.json"),
        ("goose", "XDG_CONFIG_HOME", "goose/config.yaml"),
    ],
)
def test_a_variable_of_the_host_moves_its_configuration(
    name: str, variable: str, where: str
) -> None:
    assert only_entry(name, place_of("user", **{variable: "/else"})).path == Path("/else") / where


def test_a_cline_that_has_settings_of_its_own_keeps_them(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    place = Place("user", home, project, {}, PROGRAM)
    extension = home / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev"
    own = extension / "settings" / "cline_mcp_settings.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    assert only_entry("cline", place).path == own
    shared = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    shared.parent.mkdir(parents=True)
    shared.write_text("{}")
    assert only_entry("cline", place).path == shared


@pytest.mark.parametrize("there", [".kilo/kilo.jsonc", "kilo.json", "kilo.jsonc"])
def test_the_configuration_that_a_kilo_project_has_is_used(there: str, project: Path) -> None:
    (project / ".kilo").mkdir()
    (project / there).write_text("{}")
    place = Place("project", project, project, {}, PROGRAM)
    assert only_entry("kilo", place).path == project / there


def test_continue_has_a_file_of_ours_that_is_yaml() -> None:
    place = Place("project", HOME, PROJECT, {}, ("C:\\it's here\\rag-agent.exe",))
    (edit,) = HOSTS["continue"].edits(place)
    assert isinstance(edit, OwnFile)
    assert edit.path == PROJECT / ".continue" / "mcpServers" / "rag-agent.yaml"
    # In single quotes YAML has one escape alone, the doubled quote.
    assert edit.content.decode() == (
        "name: rag_agent\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: rag\n"
        "    command: 'C:\\it''s here\\rag-agent.exe'\n"
        "    args:\n      - 'serve'\n      - '--for'\n      - 'continue'\n"
    )


def test_no_file_belongs_to_two_hosts() -> None:
    # Taking one back would give the file back as it was before either.
    owners: dict[Path, set[str]] = defaultdict(set)
    for name in hosts.names():
        for scope in hosts.get(name).scopes:
            for edit in hosts.get(name).edits(place_of(scope)):
                owners[edit.path].add(name)
    assert {path: names for path, names in owners.items() if len(names) > 1} == {}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
