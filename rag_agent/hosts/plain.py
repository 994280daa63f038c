"""Hosts that take an MCP server and no more: a row each says where their configuration lies.

The places and formats are those of the hosts' own documentation, as named beside each row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_agent.hosts.types import Edit, Entry, Host, OwnFile, Place

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


def _host(
    name: str,
    title: str,
    keys: tuple[str, ...],
    user: Callable[[Place], Path] | None,
    project: str | None = None,
    programs: tuple[str, ...] = (),
    more: Mapping[str, Any] | None = None,
    hint: str = _HINT,
) -> Host:
    def edits(place: Place) -> Sequence[Edit]:
        if place.scope == "user":
            assert user is not None
            path = user(place)
        else:
            assert project is not None
            path = place.project / project
        return [Entry(path, (*keys, "rag"), _server(place, name, **(more or {})))]

    return Host(
        name=name,
        title=title,
        edits=edits,
        programs=programs,
        scopes=(*(("user",) if user else ()), *(("project",) if project else ())),
        hint=hint.format(title=title),
    )


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
    # docs.cursor.com, Model Context Protocol: ~/.cursor/mcp.json and .cursor/mcp.json
    _host("cursor", "Cursor", ("mcpServers",), lambda p: p.home / ".cursor" / "mcp.json",
          ".cursor/mcp.json", ("cursor",)),
    # code.visualstudio.com, MCP configuration reference: "servers" in mcp.json of the profile, and
    # .vscode/mcp.json
    _host("vscode", "VS Code", ("servers",),
          lambda p: _settings_folder(p) / "Code" / "User" / "mcp.json", ".vscode/mcp.json",
          ("code",), {"type": "stdio"}),
    # docs.windsurf.com, Cascade MCP: ~/.codeium/windsurf/mcp_config.json
    _host("windsurf", "Windsurf", ("mcpServers",),
          lambda p: p.home / ".codeium" / "windsurf" / "mcp_config.json", None, ("windsurf",)),
    # zed.dev/docs/ai/mcp: "context_servers" in settings.json, of the user or of .zed
    _host("zed", "Zed", ("context_servers",),
          lambda p: (p.home / ".config" if sys.platform == "darwin" else _settings_folder(p))
          / ("Zed" if sys.platform == "win32" else "zed") / "settings.json",
          ".zed/settings.json", ("zed",)),
    # docs.cline.bot: cline_mcp_settings.json in the extension's storage of VS Code
    _host("cline", "Cline", ("mcpServers",),
          lambda p: _settings_folder(p) / "Code" / "User" / "globalStorage"
          / "saoudrizwan.claude-dev" / "settings" / "cline_mcp_settings.json"),
    # docs.roocode.com: .roo/mcp.json of the project, mcp_settings.json of the extension
    _host("roo-code", "Roo Code", ("mcpServers",),
          lambda p: _settings_folder(p) / "Code" / "User" / "globalStorage"
          / "rooveterinaryinc.roo-cline" / "settings" / "mcp_settings.json", ".roo/mcp.json"),
    # modelcontextprotocol.io, connect to local servers: claude_desktop_config.json
    _host("claude-desktop", "Claude Desktop", ("mcpServers",),
          lambda p: _settings_folder(p) / "Claude" / "claude_desktop_config.json",
          hint="Start {title} anew. It has no project: name the folder in each question, or set "
          "PI_RAG_DIR in the entry's `env` to the index that it is to search."),
    # lmstudio.ai/docs, Use MCP servers: ~/.lmstudio/mcp.json, the notation of Cursor
    _host("lm-studio", "LM Studio", ("mcpServers",), lambda p: p.home / ".lmstudio" / "mcp.json"),
    # kiro.dev/docs/mcp: ~/.kiro/settings/mcp.json and .kiro/settings/mcp.json
    _host("kiro", "Kiro", ("mcpServers",), lambda p: p.home / ".kiro" / "settings" / "mcp.json",
          ".kiro/settings/mcp.json", ("kiro",)),
    # jetbrains.com/help/junie: ~/.junie/mcp/mcp.json and .junie/mcp/mcp.json
    _host("junie", "JetBrains Junie", ("mcpServers",),
          lambda p: p.home / ".junie" / "mcp" / "mcp.json", ".junie/mcp/mcp.json"),
    # docs.github.com, Copilot CLI: ~/.copilot/mcp-config.json, type "local", "tools"
    _host("copilot-cli", "GitHub Copilot CLI", ("mcpServers",),
          lambda p: p.home / ".copilot" / "mcp-config.json", None, ("copilot",),
          {"type": "local", "tools": ["*"]}),
    # docs.continue.dev, MCP: .continue/mcpServers/*.yaml of the user or the workspace
    Host("continue", "Continue", _continue, hint=_HINT.format(title="Continue")),
)  # fmt: skip

HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}
