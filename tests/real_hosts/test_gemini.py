"""Gemini CLI: the tools, context that comes with a prompt, and ``/rag`` answered before a model."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import (
    CHAT,
    FENCED,
    RELEVANT,
    TOLD,
    TOOLS,
    Agent,
    files_below,
    give_time,
    injected,
    turns,
)
from fake_model import ANSWER, FakeModel, said, tool_names

# Nobody is there to be asked whether the folder is trusted, or a tool allowed.
FLAGS = ("--skip-trust", "--yolo", "--model", "fake-model")
SETTINGS = """\
{
  // my settings
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "general": { "enableAutoUpdate": false }
}
"""
BLOCKED = "Agent execution blocked: "


@pytest.fixture
def bare_gemini(
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    rag_agent: Path,
    project: Path,
    home: Path,
    fake_model: FakeModel,
    run_host: Callable[..., Any],
) -> Agent:
    """Gemini CLI with settings of its user's, before it is set up."""
    folder = home / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(SETTINGS, encoding="utf-8")
    give_time(project)
    return Agent(
        "gemini",
        host_program("gemini", "gemini"),
        (*FLAGS, "--prompt"),
        (*FLAGS, "--resume", "latest", "--prompt"),
        False,
        rag_agent,
        project,
        environment(GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=fake_model.url),
        run_host,
    )


@pytest.fixture
def gemini(bare_gemini: Agent) -> Agent:
    """Gemini CLI as ``rag-agent install gemini`` leaves it."""
    bare_gemini.install()
    return bare_gemini


def test_the_model_gets_the_tools_and_is_told_when_to_use_them(
    gemini: Agent, fake_model: FakeModel
) -> None:
    assert ANSWER in gemini.ask(CHAT).stdout

    [body] = turns(fake_model)
    assert {f"mcp_rag_{tool}" for tool in TOOLS} <= set(tool_names(body))
    assert any(TOLD in text for text in said(body))


def test_a_tool_call_makes_the_round_trip(gemini: Agent, fake_model: FakeModel) -> None:
    gemini.ask('CALL:rag_query {"query": "rolling back a release"}')

    _, second = turns(fake_model)
    assert "deploy rollback --to VERSION" in said(second)[-1]
    assert "docs/deploy.md:" in said(second)[-1]


def test_a_relevant_prompt_brings_its_context_after_it(
    gemini: Agent, fake_model: FakeModel
) -> None:
    gemini.ask(RELEVANT)

    [body] = turns(fake_model)
    prompt, context = said(body)[-2:]
    assert prompt == RELEVANT
    assert context.startswith("<hook_context>")
    assert FENCED in context
    # The brackets of our fence, as of all that comes from a hook, are escaped on their way.
    assert "<project-search" in html.unescape(context)


def test_a_chat_turn_brings_none(gemini: Agent, fake_model: FakeModel) -> None:
    gemini.ask(CHAT)

    [body] = turns(fake_model)
    assert said(body)[-1] == CHAT
    assert injected(body) == 0


def test_a_resumed_session_is_not_told_twice(gemini: Agent, fake_model: FakeModel) -> None:
    """What a hook says stays in the history, which the second request holds."""
    gemini.ask(RELEVANT)
    gemini.ask(RELEVANT, resume=True)

    first, second = turns(fake_model)
    assert injected(first) == injected(second) == 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("/rag", "tracked"),
        ("/rag status", "tracked"),
        ("/rag search rolling back a release", "docs/deploy.md:"),
        ("/rag index .", "Indexed"),
        ("/rag nonsense", "nonsense"),
    ],
)
def test_a_command_is_answered_without_the_model(
    line: str, shown: str, gemini: Agent, fake_model: FakeModel
) -> None:
    done = gemini.ask(line)

    _, _, answer = done.stderr.partition(BLOCKED)
    assert shown in answer
    assert turns(fake_model) == []


def test_a_project_is_set_up_by_its_own_files(bare_gemini: Agent, fake_model: FakeModel) -> None:
    bare_gemini.install("--project")
    gemini = bare_gemini.with_environ(GEMINI_CLI_TRUST_WORKSPACE="true")
    gemini.ask(RELEVANT)
    [body] = turns(fake_model)
    fake_model.clear()
    command = gemini.ask("/rag status")

    assert {f"mcp_rag_{tool}" for tool in TOOLS} <= set(tool_names(body))
    assert injected(body) == 1
    assert BLOCKED in command.stderr
    assert turns(fake_model) == []


def test_without_its_program_the_turn_goes_on_and_one_line_says_so(
    gemini: Agent, fake_model: FakeModel, home: Path
) -> None:
    gemini.break_everywhere(
        home / ".gemini", str(gemini.rag_agent), str(home / "gone" / "rag-agent")
    )
    done = gemini.ask(RELEVANT)

    assert ANSWER in done.stdout
    [body] = turns(fake_model)
    assert injected(body) == 0
    assert (
        done.stderr.count("rag_agent: no context for this prompt, for its program does not run")
        == 1
    )


def test_a_server_that_ends_at_once_leaves_the_turn_alone(gemini: Agent, home: Path) -> None:
    gemini.break_everywhere(home / ".gemini", '"serve"', '"no-such-verb"')

    assert ANSWER in gemini.ask(RELEVANT).stdout


@pytest.mark.parametrize("options", [(), ("--project",)])
def test_uninstalling_leaves_every_file_as_it_was(
    options: tuple[str, ...], bare_gemini: Agent, home: Path
) -> None:
    before = files_below(home / ".gemini", bare_gemini.cwd)
    bare_gemini.install(*options)
    installed = files_below(home / ".gemini", bare_gemini.cwd)
    bare_gemini.uninstall(*options)

    assert installed != before
    assert files_below(home / ".gemini", bare_gemini.cwd) == before
