"""Claude Code with one part of ours out of order, and after we are gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from claude_driver import CHAT, FENCED, RELEVANT, Claude
from fake_model import ANSWER, FakeModel, said, tool_names

_SETTINGS = """\
{
  "model": "fake-model",
  "permissions": {"allow": ["Bash(git status)"]},   "env": {}
}
"""


def _fences(body: dict[str, object]) -> int:
    return sum(text.count(FENCED) for text in said(body))


def test_the_server_alone_answers_where_the_command_hook_fails(
    claude: Claude, fake_model: FakeModel
) -> None:
    claude.break_command_hook()

    assert ANSWER in claude.ask(RELEVANT)
    [body] = fake_model.requests()
    assert _fences(body) == 1


@pytest.mark.parametrize("server", [("/no/such/rag-agent",), ("sleep", "60")], ids=["none", "slow"])
def test_the_command_hook_alone_answers_where_the_server_does_not_start(
    claude: Claude, fake_model: FakeModel, server: tuple[str, ...]
) -> None:
    claude.change_server(*server)

    assert ANSWER in claude.ask(RELEVANT)
    [body] = fake_model.requests()
    assert _fences(body) == 1


def test_a_prompt_goes_on_where_nothing_of_ours_is_left(
    claude: Claude, fake_model: FakeModel
) -> None:
    claude.change_server("/no/such/rag-agent")
    claude.break_command_hook()

    assert ANSWER in claude.ask(RELEVANT)
    [body] = fake_model.requests()
    assert _fences(body) == 0


def test_a_server_that_does_not_start_is_complained_of_in_one_line_by_each(claude: Claude) -> None:
    claude.change_server("/no/such/rag-agent")

    said_by_claude, said_by_us = sorted(claude.hooks_said(RELEVANT))
    assert said_by_claude == "MCP server 'plugin:rag-agent:rag' not connected"
    assert said_by_us.startswith("rag_agent: no server runs for this project")


def test_hooks_say_nothing_to_people_where_all_is_well(claude: Claude) -> None:
    assert not [text for text in claude.hooks_said(CHAT) if text.strip() != "{}"]


def test_a_server_that_is_killed_does_not_stop_the_turns(
    claude: Claude, fake_model: FakeModel
) -> None:
    with claude.conversation() as conversation:
        conversation.prompt(CHAT)
        conversation.kill_server()
        fake_model.clear()
        result = conversation.prompt(RELEVANT)[-1]

    assert result["result"] == ANSWER
    [body] = fake_model.requests()
    assert _fences(body) == 1


def test_uninstalling_leaves_the_settings_as_they_were(
    bare_claude: Claude, fake_model: FakeModel
) -> None:
    settings = bare_claude.folder / "settings.json"
    settings.write_text(_SETTINGS, encoding="utf-8")

    bare_claude.rag("install", "claude-code")
    once = settings.read_bytes()
    bare_claude.rag("install", "claude-code")
    assert settings.read_bytes() == once
    bare_claude.ask(RELEVANT)
    bare_claude.rag("uninstall", "claude-code")
    bare_claude.ask(RELEVANT)

    with_us, without_us = fake_model.requests()
    assert [_fences(with_us), _fences(without_us)] == [1, 0]
    assert not [name for name in tool_names(without_us) if "rag" in name]
    assert settings.read_text(encoding="utf-8") == _SETTINGS
    assert not (bare_claude.folder / "rag-agent").exists()


def test_uninstalling_from_a_project_leaves_its_files_as_they_were(bare_claude: Claude) -> None:
    servers = bare_claude.cwd / ".mcp.json"
    servers.write_text('{"mcpServers": {"other": {"command": "other"}}}', encoding="utf-8")
    before = _files(bare_claude.cwd)

    bare_claude.rag("install", "claude-code", "--project")
    assert _files(bare_claude.cwd) != before
    bare_claude.rag("uninstall", "claude-code", "--project")
    assert _files(bare_claude.cwd) == before


def _files(folder: Path) -> dict[Path, bytes]:
    """Every file of the project outside its store."""
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".pi" not in path.parts
    }
