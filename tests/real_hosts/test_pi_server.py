"""The server behind Pi, both versions: missing, silent, killed, left over, and set up."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_model import ANSWER, FakeModel, tool_names
from pi_driver import (
    CHAT,
    RELEVANT,
    Pi,
    asked_of_people,
    is_injected,
    warm_up,
)
from pi_fixtures import Watched

from rag_agent.hosts.pi import PACKAGE


def test_a_turn_goes_on_without_a_server(pi: Pi, fake_model: FakeModel, tmp_path: Path) -> None:
    done = pi.with_environ(RAG_AGENT_PROGRAM=str(tmp_path / "gone")).ask(RELEVANT)

    assert ANSWER in done.stdout
    [line] = [line for line in done.stderr.splitlines() if line.startswith("rag: ")]
    assert "does not start" in line
    assert "RAG_AGENT_PROGRAM" in line
    assert not is_injected(fake_model.requests()[0])


def test_a_turn_goes_on_without_a_server_that_answers(
    pi: Pi, fake_model: FakeModel, silent_program: str
) -> None:
    slow = pi.with_environ(RAG_AGENT_PROGRAM=silent_program)
    with slow.conversation() as conversation:
        first = conversation.prompt(RELEVANT)
        second = conversation.prompt(RELEVANT)

    [notice] = asked_of_people(first, "notify")
    assert "no answer within" in notice["message"]
    assert asked_of_people(second, "notify") == []  # once is enough
    assert len(fake_model.requests()) == 2
    assert not is_injected(fake_model.requests()[1])


def test_a_server_that_was_killed_is_mentioned_and_replaced(
    pi: Pi, fake_model: FakeModel, watched: Watched
) -> None:
    with pi.with_environ(**watched.environ).conversation() as conversation:
        warm_up(conversation)
        watched.kill()
        records = conversation.prompt(CHAT)
        warm_up(conversation)
        conversation.prompt(RELEVANT)

    [notice] = asked_of_people(records, "notify")
    assert "SIGKILL" in notice["message"]
    assert len(set(watched.started())) == 2
    assert is_injected(fake_model.requests()[-1])


def test_no_server_is_left_when_pi_has_ended(pi: Pi, watched: Watched) -> None:
    with pi.with_environ(**watched.environ).conversation() as conversation:
        warm_up(conversation)
    pi.with_environ(**watched.environ).ask(RELEVANT)

    assert len(watched.started()) == 2
    assert watched.running() == []


def test_a_program_that_the_installer_found_and_that_is_gone_is_looked_up(
    bare_pi: Pi, tmp_path: Path
) -> None:
    package = shutil.copytree(PACKAGE, tmp_path / "package")
    gone = [str(tmp_path / "gone" / "rag-agent")]
    (package / "program.json").write_text(json.dumps(gone), encoding="utf-8")

    done = bare_pi.with_arguments("-e", str(package)).ask("/rag status")

    assert ".pi/rag" in done.stdout


@pytest.mark.parametrize("scope", ["user", "project"])
def test_one_command_sets_pi_up_and_one_takes_it_back(
    bare_pi: Pi,
    fake_model: FakeModel,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
    rag_agent: Path,
    scope: str,
) -> None:
    options = ["--project"] if scope == "project" else []
    run_host([rag_agent, "install", "pi", *options], bare_pi.environ, bare_pi.cwd)
    pi = bare_pi.with_arguments(*bare_pi.trust) if scope == "project" else bare_pi

    pi.ask(RELEVANT)

    [body] = fake_model.requests()
    assert {"rag_index", "rag_query", "rag_status"} <= set(tool_names(body))
    assert is_injected(body)

    run_host([rag_agent, "uninstall", "pi", *options], bare_pi.environ, bare_pi.cwd)
    fake_model.clear()
    pi.ask(RELEVANT)

    [body] = fake_model.requests()
    assert not {"rag_index", "rag_query", "rag_status"} & set(tool_names(body))
