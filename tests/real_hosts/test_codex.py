"""Codex: the tools, context that comes with a prompt, and ``$rag`` answered before a model."""

from __future__ import annotations

import json
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

# Nobody is there to review hooks, or to be asked about tools.
FLAGS = (
    "--skip-git-repo-check",
    "--dangerously-bypass-hook-trust",
    "--dangerously-bypass-approvals-and-sandbox",
)
SETTINGS = """\
# my settings
model = "fake-model"
model_provider = "fake"

[model_providers.fake]  # on this machine
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"

[mcp_servers.other]
command = "true"
enabled = false
"""
THEIR_HOOK = {"hooks": [{"type": "command", "command": "cat >> prompts.txt", "timeout": 5}]}


@pytest.fixture
def bare_codex(
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    rag_agent: Path,
    project: Path,
    home: Path,
    fake_model: FakeModel,
    run_host: Callable[..., Any],
) -> Agent:
    """Codex with settings and a hook of its user's, before it is set up."""
    folder = home / ".codex"
    folder.mkdir()
    settings = SETTINGS.format(url=fake_model.url)
    (folder / "config.toml").write_text(settings, encoding="utf-8")
    hooks = json.dumps({"hooks": {"UserPromptSubmit": [THEIR_HOOK]}})
    (folder / "hooks.json").write_text(hooks, encoding="utf-8")
    give_time(project)
    return Agent(
        "codex",
        host_program("codex", "codex"),
        ("exec", *FLAGS),
        ("exec", "resume", "--last", *FLAGS),
        False,
        rag_agent,
        project,
        environment(FAKE_KEY="none"),
        run_host,
    )


@pytest.fixture
def codex(bare_codex: Agent) -> Agent:
    """Codex as ``rag-agent install codex`` leaves it."""
    bare_codex.install()
    return bare_codex


def test_the_model_gets_the_tools_and_is_told_when_to_use_them(
    codex: Agent, fake_model: FakeModel
) -> None:
    assert ANSWER in codex.ask(CHAT).stdout

    [body] = turns(fake_model)
    assert {f"mcp__rag/{tool}" for tool in TOOLS} <= set(tool_names(body))
    [space] = [tool for tool in body["tools"] if tool.get("name") == "mcp__rag"]
    assert TOLD in space["description"]


def test_a_tool_call_makes_the_round_trip(codex: Agent, fake_model: FakeModel) -> None:
    codex.ask('CALL:rag_query {"query": "rolling back a release"}')

    _, second = turns(fake_model)
    assert "deploy rollback --to VERSION" in said(second)[-1]
    assert "docs/deploy.md:" in said(second)[-1]


def test_a_relevant_prompt_brings_its_context_after_it(codex: Agent, fake_model: FakeModel) -> None:
    codex.ask(RELEVANT)

    [body] = turns(fake_model)
    prompt, context = said(body)[-2:]
    assert prompt == RELEVANT
    assert FENCED in context


def test_a_chat_turn_brings_none(codex: Agent, fake_model: FakeModel) -> None:
    codex.ask(CHAT)

    [body] = turns(fake_model)
    assert said(body)[-1] == CHAT
    assert injected(body) == 0


def test_a_resumed_session_is_not_told_twice(codex: Agent, fake_model: FakeModel) -> None:
    codex.ask(RELEVANT)
    codex.ask(RELEVANT, resume=True)

    first, second = turns(fake_model)
    assert injected(first) == injected(second) == 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("status", "tracked"),
        ("search rolling back a release", "docs/deploy.md:"),
        ("index .", "Indexed"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_command_is_answered_without_the_model(
    line: str, shown: str, codex: Agent, fake_model: FakeModel
) -> None:
    """Where people see it is the screen; `codex exec` keeps the reason of a block to itself."""
    done = codex.ask(f"$rag {line}")

    assert "hook: UserPromptSubmit Blocked" in done.stderr
    assert turns(fake_model) == []
    assert shown in _hook(codex, f"$rag {line}")["reason"]


def test_the_users_own_hook_runs_as_before(codex: Agent) -> None:
    codex.ask(CHAT)

    assert json.loads((codex.cwd / "prompts.txt").read_text(encoding="utf-8"))["prompt"] == CHAT


def test_a_trusted_project_is_set_up_by_its_own_files(
    bare_codex: Agent, fake_model: FakeModel, home: Path
) -> None:
    bare_codex.install("--project")
    settings = home / ".codex" / "config.toml"
    trust = f'\n[projects.{json.dumps(str(bare_codex.cwd))}]\ntrust_level = "trusted"\n'
    settings.write_text(settings.read_text(encoding="utf-8") + trust, encoding="utf-8")
    bare_codex.ask(RELEVANT)

    [body] = turns(fake_model)
    assert {f"mcp__rag/{tool}" for tool in TOOLS} <= set(tool_names(body))
    assert injected(body) == 1


def test_without_its_program_the_turn_goes_on_and_one_line_says_so(
    codex: Agent, fake_model: FakeModel, home: Path
) -> None:
    codex.break_everywhere(home / ".codex", str(codex.rag_agent), str(home / "gone" / "rag-agent"))
    done = codex.ask(RELEVANT)

    assert ANSWER in done.stdout
    [body] = turns(fake_model)
    assert injected(body) == 0
    assert done.stderr.count("hook: UserPromptSubmit Failed") == 1


def test_a_server_that_ends_at_once_leaves_the_turn_alone(codex: Agent, home: Path) -> None:
    codex.break_everywhere(home / ".codex", '"serve"', '"no-such-verb"')

    assert ANSWER in codex.ask(RELEVANT).stdout


@pytest.mark.parametrize("options", [(), ("--project",)])
def test_uninstalling_leaves_every_file_as_it_was(
    options: tuple[str, ...], bare_codex: Agent, home: Path
) -> None:
    before = files_below(home / ".codex", bare_codex.cwd)
    bare_codex.install(*options)
    installed = files_below(home / ".codex", bare_codex.cwd)
    bare_codex.uninstall(*options)

    assert installed != before
    assert files_below(home / ".codex", bare_codex.cwd) == before


def _hook(codex: Agent, prompt: str) -> dict[str, Any]:
    """What the hook of hooks.json answers to a prompt, run as Codex does."""
    path = Path(codex.environ["HOME"]) / ".codex" / "hooks.json"
    groups = json.loads(path.read_text(encoding="utf-8"))["hooks"]["UserPromptSubmit"]
    [command] = [
        hook["command"]
        for group in groups
        for hook in group["hooks"]
        if " hook " in hook["command"]
    ]
    event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": str(codex.cwd)}
    done = codex.run_host(["sh", "-c", command], codex.environ, codex.cwd, json.dumps(event))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
