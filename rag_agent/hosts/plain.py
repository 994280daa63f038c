"""Hosts that take an MCP server and no more: a row each says where their configuration lies.

The places and formats are those of the hosts' own documentation, as named beside each row; none of
these programs was run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_agent.hosts.types import Edit, Entry, Host, OwnFile, Place
from rag_agent.paths import expanded

_START_TIMEOUT = 30_000  # ms to list the tools; Python's first start compiles its files
_TOOL_TIMEOUT = 600  # s; an index of a large project
_HINT = "Start {title} anew: it offers rag_query, rag_index and rag_status of the server `rag`."


def _server(place: Place, name: str, **more: Any) -> dict[str, Any]:
    first, *rest = place.program
    return {**more, "command": first, "args": [*rest, "serve", "--for", name]}


def _settings_folder(place: Place) -> Path:
    """Where desktop programs of Electron keep settings: Application Support, APPDATA, ~/.config."""
    if sys.platform == "darwin":
        return place.home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(place.environ.get("APPDATA") or place.home / "AppData" / "Roaming")
    return Path(place.environ.get("XDG_CONFIG_HOME") or place.home / ".config")


def _extension(place: Place, name: str, file: str) -> Path:
    """The settings that an extension of VS Code keeps for all projects."""
    storage = _settings_folder(place) / "Code" / "User" / "globalStorage"
    return storage / name / "settings" / file


def _named(place: Place, variable: str, otherwise: str) -> Path:
    """The folder that a variable names, else one in the home folder."""
    named = place.environ.get(variable)
    return expanded(named) if named else place.home / otherwise


def _host(
    name: str,
    title: str,
    key: str,
    user: Callable[[Place], Path],
    project: str | None = None,
    programs: tuple[str, ...] = (),
    more: Mapping[str, Any] | None = None,
    hint: str = _HINT,
) -> Host:
    def edits(place: Place) -> Sequence[Edit]:
        if place.scope == "user":
            path = user(place)
        else:
            assert project is not None
            path = place.project / project
        return [Entry(path, (key, "rag"), _server(place, name, **(more or {})))]

    return Host(
        name=name,
        title=title,
        edits=edits,
        programs=programs,
        scopes=("user", "project") if project else ("user",),
        hint=hint.format(title=title),
    )


def _cline(place: Place) -> Path:
    """Extension, CLI and SDK share one file since 4.0; until then the extension had its own."""
    name = "cline_mcp_settings.json"
    shared = _named(place, "CLINE_DIR", ".cline") / "data" / "settings" / name
    own = _extension(place, "saoudrizwan.claude-dev", name)
    return own if own.is_file() and not shared.is_file() else shared


def _zed(place: Place) -> Path:
    if sys.platform == "win32":
        return _settings_folder(place) / "Zed" / "settings.json"
    if sys.platform == "darwin":
        return place.home / ".config" / "zed" / "settings.json"
    return _settings_folder(place) / "zed" / "settings.json"


def _kilo(place: Place) -> Sequence[Edit]:
    if place.scope == "project":
        folders = [place.project / ".kilo", place.project]
    else:
        folders = [_named(place, "XDG_CONFIG_HOME", ".config") / "kilo"]
    files = [folder / name for folder in folders for name in ("kilo.json", "kilo.jsonc")]
    server = {
        "type": "local",
        "command": [*place.program, "serve", "--for", "kilo"],
        "enabled": True,
        "timeout": _START_TIMEOUT,
    }
    return [Entry(next(filter(Path.is_file, files), files[0]), ("mcp", "rag"), server)]


def _goose(place: Place) -> Sequence[Edit]:
    if sys.platform == "win32":
        folder = _settings_folder(place) / "Block" / "goose" / "config"
    else:  # on macOS, too
        folder = _named(place, "XDG_CONFIG_HOME", ".config") / "goose"
    first, *rest = place.program
    server = {
        "type": "stdio",
        "name": "rag",
        "description": "Search over this project, on this machine",
        "enabled": True,
        "cmd": first,
        "args": [*rest, "serve", "--for", "goose"],
        "envs": {},
        "timeout": _TOOL_TIMEOUT,
    }
    return [Entry(folder / "config.yaml", ("extensions", "rag"), server)]


def _continue(place: Place) -> Sequence[Edit]:
    # One file a server; it also takes JSON files of the form of Claude Desktop and Cursor.
    folder = place.project if place.scope == "project" else place.home
    first, *rest = place.program
    lines = [
        "name: rag_agent",
        "version: 0.0.1",
        "schema: v1",
        "mcpServers:",
        "  - name: rag",
        f"    command: {_quoted(first)}",
        "    args:",
        *(f"      - {_quoted(word)}" for word in (*rest, "serve", "--for", "continue")),
    ]
    path = folder / ".continue" / "mcpServers" / "rag-agent.yaml"
    return [OwnFile(path, ("\n".join(lines) + "\n").encode())]


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


_ROWS = (
    # cursor.com/docs/mcp
    _host("cursor", "Cursor", "mcpServers", lambda p: p.home / ".cursor" / "mcp.json",
          ".cursor/mcp.json", ("cursor",)),
    # code.visualstudio.com/docs/agents/reference/mcp-configuration: the default profile
    _host("vscode", "VS Code", "servers",
          lambda p: _settings_folder(p) / "Code" / "User" / "mcp.json", ".vscode/mcp.json",
          ("code",), {"type": "stdio"}),
    # docs.windsurf.com/windsurf/cascade/mcp
    _host("windsurf", "Windsurf", "mcpServers",
          lambda p: p.home / ".codeium" / "windsurf" / "mcp_config.json", None, ("windsurf",)),
    # zed.dev/docs/ai/mcp
    _host("zed", "Zed", "context_servers", _zed, ".zed/settings.json", ("zed",)),
    # docs.cline.bot/getting-started/config
    _host("cline", "Cline", "mcpServers", _cline, None, ("cline",)),
    # docs.roocode.com/features/mcp/using-mcp-in-roo
    _host("roo-code", "Roo Code", "mcpServers",
          lambda p: _extension(p, "rooveterinaryinc.roo-cline", "mcp_settings.json"),
          ".roo/mcp.json"),
    # github.com/Kilo-Org/kilocode: packages/kilo-docs/pages/automate/mcp/using-in-kilo-code.md
    Host("kilo", "Kilo Code", _kilo, ("kilo",), hint=_HINT.format(title="Kilo Code")),
    # modelcontextprotocol.io/docs/develop/connect-local-servers
    _host("claude-desktop", "Claude Desktop", "mcpServers",
          lambda p: _settings_folder(p) / "Claude" / "claude_desktop_config.json",
          hint="Start {title} anew. It has no project: name the folder in each question, or set "
          "PI_RAG_DIR in the entry's `env` to the index that it is to search."),
    # lmstudio.ai/docs/app/mcp: the notation of Cursor
    _host("lm-studio", "LM Studio", "mcpServers", lambda p: p.home / ".lmstudio" / "mcp.json"),
    # kiro.dev/docs/mcp/configuration; its CLI reads the same files
    _host("kiro", "Kiro", "mcpServers", lambda p: p.home / ".kiro" / "settings" / "mcp.json",
          ".kiro/settings/mcp.json", ("kiro", "kiro-cli")),
    # junie.jetbrains.com/docs/junie-cli-mcp-configuration.html
    _host("junie", "JetBrains Junie", "mcpServers",
          lambda p: p.home / ".junie" / "mcp" / "mcp.json", ".junie/mcp/mcp.json", ("junie",)),
    # docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers. In a project it
    # reads .mcp.json as well, which Claude Code's set-up writes.
    _host("copilot-cli", "GitHub Copilot CLI", "mcpServers",
          lambda p: _named(p, "COPILOT_HOME", ".copilot") / "mcp-config.json",
          ".github/mcp.json", ("copilot",), {"type": "local", "tools": ["*"]}),
    # qwenlm.github.io/qwen-code-docs/en/users/features/mcp
    _host("qwen", "Qwen Code", "mcpServers", lambda p: p.home / ".qwen" / "settings.json",
          ".qwen/settings.json", ("qwen",)),
    # docs.factory.ai/factory-cli/configuration/mcp
    _host("droid", "Factory Droid", "mcpServers", lambda p: p.home / ".factory" / "mcp.json",
          ".factory/mcp.json", ("droid",), {"type": "stdio"}),
    # goose-docs.ai: documentation/docs/guides/config-files.md of github.com/aaif-goose/goose
    Host("goose", "Goose", _goose, ("goose",), ("user",), hint=_HINT.format(title="Goose")),
    # docs.continue.dev/customize/deep-dives/mcp: a file a server
    Host("continue", "Continue", _continue, ("cn",), hint=_HINT.format(title="Continue")),
)  # fmt: skip

HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}
