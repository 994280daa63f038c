"""opencode: the tools, context that comes with a prompt, and ``/rag``."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

MODEL = ("--model", "fake/fake-model")
SETTINGS = """\
{
  // my settings
  "model": "fake/fake-model",
  "small_model": "fake/fake-model",
  "autoupdate": false,
  "share": "disabled",
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "%s/v1", "apiKey": "none" },
      "models": { "fake-model": { "limit": { "context": 100000, "output": 4096 } } },
    },
  },
}
"""
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}


@pytest.fixture
def bare_opencode(
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    rag_agent: Path,
    project: Path,
    home: Path,
    fake_model: FakeModel,
    run_host: Callable[..., Any],
) -> Agent:
    """Opencode with settings of its user's, before it is set up."""
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text(SETTINGS % fake_model.url, encoding="utf-8")
    give_time(project)
    return Agent(
        "opencode",
        host_program("opencode", "opencode"),
        ("run", *MODEL),
        ("run", *MODEL, "--continue"),
        True,
        rag_agent,
        project,
        environment(**QUIET),
        run_host,
    )


@pytest.fixture
def opencode(bare_opencode: Agent) -> Agent:
    """Opencode as ``rag-agent install opencode`` leaves it."""
    bare_opencode.install()
    return bare_opencode


def test_the_model_gets_the_tools_and_is_told_when_to_use_them(
    opencode: Agent, fake_model: FakeModel
) -> None:
    assert ANSWER in opencode.ask(CHAT).stdout

    [body] = turns(fake_model)
    assert {f"rag_{tool}" for tool in TOOLS} <= set(tool_names(body))
    assert TOLD in said(body)[0]


def test_a_tool_call_makes_the_round_trip(opencode: Agent, fake_model: FakeModel) -> None:
    opencode.ask('CALL:rag_query {"query": "rolling back a release"}')

    _, second = turns(fake_model)
    assert "deploy rollback --to VERSION" in said(second)[-1]
    assert "docs/deploy.md:" in said(second)[-1]


def test_a_relevant_prompt_brings_its_context_after_it(
    opencode: Agent, fake_model: FakeModel
) -> None:
    opencode.ask(RELEVANT)

    [body] = turns(fake_model)
    prompt, fence, context = said(body)[-1].partition("<project-search")
    assert prompt.strip() == RELEVANT
    assert fence
    assert FENCED in context


def test_a_chat_turn_brings_none(opencode: Agent, fake_model: FakeModel) -> None:
    opencode.ask(CHAT)

    [body] = turns(fake_model)
    assert said(body)[-1].strip() == CHAT
    assert injected(body) == 0


def test_a_session_that_goes_on_is_not_told_twice(opencode: Agent, fake_model: FakeModel) -> None:
    opencode.ask(RELEVANT)
    opencode.ask(RELEVANT, resume=True)

    first, second = turns(fake_model)
    assert injected(first) == injected(second) == 1


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "tracked"),
        (("status",), "tracked"),
        (("search", "rolling", "back", "a", "release"), "docs/deploy.md:"),
        (("index", "."), "Indexed"),
        (("nonsense",), "nonsense"),
    ],
)
def test_a_command_in_a_run_is_answered_through_the_model(
    words: tuple[str, ...], shown: str, opencode: Agent, fake_model: FakeModel
) -> None:
    """`opencode run` shows what the model says and nothing else; its screen, see the driver."""
    opencode.run_host(
        [opencode.program, "run", *MODEL, "--command", "rag", *words],
        opencode.environ,
        opencode.cwd,
    )

    [body] = turns(fake_model)
    assert said(body)[-1].startswith("Show this output of rag-agent")
    assert shown in said(body)[-1]
    assert "<project-search" not in said(body)[-1]


def test_a_command_on_the_screen_is_answered_without_the_model(
    opencode: Agent, fake_model: FakeModel
) -> None:
    """The screen is a client of the same server as here."""
    with _server(opencode) as call:
        session = f"/session/{call('/session', {})['id']}"
        call(f"{session}/command", {"command": "rag", "arguments": "search rolling back"})
        [message] = call(f"{session}/message")
        [part] = message["parts"]
        assert "docs/deploy.md:" in part["text"]
        assert part["ignored"]  # people see it
        assert fake_model.requests() == []
        call(f"{session}/message", {"parts": [{"type": "text", "text": CHAT}]})

    [body] = turns(fake_model)
    assert [text.strip() for text in said(body)[1:]] == [CHAT]


def test_a_compacted_session_is_told_again(opencode: Agent, fake_model: FakeModel) -> None:
    prompt = {"parts": [{"type": "text", "text": RELEVANT}]}
    with _server(opencode) as call:
        session = f"/session/{call('/session', {})['id']}"
        call(f"{session}/command", {"command": "rag", "arguments": "status"})
        call(f"{session}/message", prompt)
        call(f"{session}/message", prompt)
        call(f"{session}/summarize", {"providerID": "fake", "modelID": "fake-model"})
        call(f"{session}/message", prompt)

    # Only what was not compacted away is in the last one.
    assert [injected(body) for body in turns(fake_model)] == [1, 1, 1]


def test_a_project_is_set_up_by_its_own_files(bare_opencode: Agent, fake_model: FakeModel) -> None:
    bare_opencode.install("--project")
    bare_opencode.ask(RELEVANT)

    [body] = turns(fake_model)
    assert {f"rag_{tool}" for tool in TOOLS} <= set(tool_names(body))
    assert injected(body) == 1


def test_without_its_program_the_turn_goes_on_and_one_line_says_so(
    opencode: Agent, fake_model: FakeModel, home: Path
) -> None:
    opencode.break_everywhere(
        home / ".config", str(opencode.rag_agent), str(home / "gone" / "rag-agent")
    )
    done = opencode.ask(RELEVANT)

    assert ANSWER in done.stdout
    [body] = turns(fake_model)
    assert injected(body) == 0
    assert done.stderr.count("does not start (ENOENT)") == 1


def test_a_server_that_ends_at_once_leaves_the_turn_alone(opencode: Agent, home: Path) -> None:
    opencode.break_everywhere(home / ".config", '"serve"', '"no-such-verb"')

    assert ANSWER in opencode.ask(RELEVANT).stdout


@pytest.mark.parametrize("options", [(), ("--project",)])
def test_uninstalling_leaves_every_file_as_it_was(
    options: tuple[str, ...], bare_opencode: Agent, home: Path
) -> None:
    before = files_below(home / ".config", bare_opencode.cwd)
    bare_opencode.install(*options)
    installed = files_below(home / ".config", bare_opencode.cwd)
    bare_opencode.uninstall(*options)

    assert installed != before
    assert files_below(home / ".config", bare_opencode.cwd) == before


@contextmanager
def _server(opencode: Agent) -> Iterator[Callable[..., Any]]:
    """``opencode serve`` for the block: what a path answers, to GET or to an object by POST."""
    with subprocess.Popen(
        [opencode.program, "serve", "--port", "0"],
        cwd=opencode.cwd,
        env=dict(opencode.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = next(line.split()[-1] for line in process.stdout if "listening on" in line)

        def call(path: str, value: object = None) -> Any:
            data = None if value is None else json.dumps(value).encode()
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(url + path, data, headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:  # how a command ends that is answered here
                with error:
                    return json.load(error)

        try:
            yield call
        finally:
            process.kill()
