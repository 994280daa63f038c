"""Turns in Claude Code: the tools, the context that comes with a prompt, and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_driver import BLOCKED, CHAT, FENCED, RELEVANT, Claude
from fake_model import ANSWER, FakeModel, said, tool_names

from rag_agent.hosts.claude_code import MARKETPLACE, PLUGIN

_OF_PLUGIN = "mcp__plugin_rag-agent_rag__"
_OF_PROJECT = "mcp__rag__"
_TOOLS = ["rag_index", "rag_query", "rag_status"]


def _ours(names: list[str], prefix: str) -> list[str]:
    return sorted(name.removeprefix(prefix) for name in names if "rag" in name)


def _fences(body: dict[str, object]) -> int:
    """How often the file that answers ``RELEVANT`` was put before the model."""
    return sum(text.count(FENCED) for text in said(body))


@pytest.mark.parametrize("folder", [MARKETPLACE, PLUGIN], ids=["marketplace", "plugin"])
def test_the_plugin_is_as_claude_code_wants_it(bare_claude: Claude, folder: Path) -> None:
    assert (
        "Validation passed" in bare_claude.run("plugin", "validate", "--strict", str(folder)).stdout
    )


def test_the_model_gets_the_three_tools_and_no_others(
    claude: Claude, fake_model: FakeModel
) -> None:
    assert ANSWER in claude.ask(CHAT)

    [body] = fake_model.requests()
    assert _ours(tool_names(body), _OF_PLUGIN) == _TOOLS
    assert "rag_hook" not in json.dumps(body)


def test_the_model_is_told_when_to_search(claude: Claude, fake_model: FakeModel) -> None:
    claude.ask(CHAT)

    everything = "\n".join(said(fake_model.requests()[0]))
    assert "call rag_query first, before grep" in everything
    assert "rag-agent:rag-search" in everything


def test_a_tool_call_makes_the_round_trip(claude: Claude, fake_model: FakeModel) -> None:
    prompt = 'CALL:rag_query {"query": "rolling back a release"}'
    claude.ask(prompt, "--allowedTools", f"{_OF_PLUGIN}rag_query")

    _, second = fake_model.requests()
    assert any("deploy rollback --to VERSION" in text for text in said(second)[-2:])


def test_a_tool_that_is_not_allowed_is_not_called(claude: Claude, fake_model: FakeModel) -> None:
    claude.ask('CALL:rag_query {"query": "rolling back a release"}')

    _, second = fake_model.requests()
    assert "deploy rollback --to VERSION" not in json.dumps(second)


def test_a_relevant_prompt_brings_its_context_once_though_two_hooks_ask(
    claude: Claude, fake_model: FakeModel
) -> None:
    claude.ask(RELEVANT)

    [body] = fake_model.requests()
    assert _fences(body) == 1


def test_a_chat_turn_brings_none(claude: Claude, fake_model: FakeModel) -> None:
    claude.ask(CHAT)

    [body] = fake_model.requests()
    assert "project-search" not in json.dumps(body)


def test_a_session_that_is_taken_up_again_is_not_told_twice(
    claude: Claude, fake_model: FakeModel
) -> None:
    claude.ask(RELEVANT)
    claude.ask(RELEVANT, "--continue")

    first, second = fake_model.requests()
    assert sum(text.count(RELEVANT) for text in said(second)) == 2
    assert [_fences(first), _fences(second)] == [1, 1]


def test_after_compaction_a_prompt_brings_its_context_again(
    claude: Claude, fake_model: FakeModel
) -> None:
    with claude.conversation() as conversation:
        conversation.prompt(RELEVANT)
        conversation.prompt("/compact")
        fake_model.clear()
        conversation.prompt(RELEVANT)

    [body] = fake_model.requests()
    assert _fences(body) == 1


def test_a_project_that_is_turned_off_brings_no_context(
    claude: Claude, fake_model: FakeModel
) -> None:
    claude.ask("/rag-agent:rag off")
    claude.ask(RELEVANT)

    [body] = fake_model.requests()
    assert _fences(body) == 0
    assert _ours(tool_names(body), _OF_PLUGIN) == _TOOLS


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("status", "files      3 (3 chunks)"),
        ("", "files      3 (3 chunks)"),
        ("search rolling back a release", "docs/deploy.md:"),
        ("index .", "Indexed 0 files (0 chunks) · 3 unchanged"),
        ("help", "search QUERY"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_command_is_answered_without_the_model(
    claude: Claude, fake_model: FakeModel, line: str, answer: str
) -> None:
    printed = claude.ask(f"/rag-agent:rag {line}".strip())

    assert printed.startswith(BLOCKED)
    assert answer in printed
    assert fake_model.requests() == []


def test_a_command_is_answered_without_a_server_too(claude: Claude, fake_model: FakeModel) -> None:
    claude.change_server("/no/such/rag-agent")

    assert "docs/deploy.md:" in claude.ask("/rag-agent:rag search rolling back a release")
    assert fake_model.requests() == []


def test_a_project_that_is_set_up_alone_has_tools_context_and_a_command(
    project_claude: Claude, fake_model: FakeModel
) -> None:
    project_claude.ask(RELEVANT)
    [body] = fake_model.requests()
    assert _ours(tool_names(body), _OF_PROJECT) == _TOOLS
    assert _fences(body) == 1

    fake_model.clear()
    assert "files      3 (3 chunks)" in project_claude.ask("/rag status")
    assert "docs/deploy.md:" in project_claude.ask("/rag search rolling back a release")
    # The search has taken in what the installation wrote into the project.
    assert "Indexed 0 files (0 chunks) · 7 unchanged" in project_claude.ask("/rag index .")
    assert fake_model.requests() == []
