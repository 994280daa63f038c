"""Pi, at the last version under its old name and a recent one, with the extension and the skill."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_model import ANSWER, FakeModel, said
from pi_driver import Conversation, Pi, Record, asked_of_people, prepare

from rag_agent.hosts.pi import PACKAGE
from rag_agent.server.tools import tools

RELEVANT = "Where do we check the signature of an incoming webhook?"
CHAT = "thanks, that works"
FENCED = "verify_signature(body: bytes"  # of the file that answers; no prompt here holds it


@pytest.fixture(
    params=[("pi", "node22", "agent_settled"), ("pi-0.73", "node20", "agent_end")],
    ids=["1.6", "0.73"],
)
def bare_pi(
    request: pytest.FixtureRequest,
    project: Path,
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    fake_model: FakeModel,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
) -> Pi:
    """Pi in the project, knowing nothing of rag_agent."""
    folder, node, last_event = request.param
    program = host_program(folder, "pi")
    return prepare(program, project, environment(node), fake_model.url, run_host, last_event)


@pytest.fixture
def pi(bare_pi: Pi) -> Pi:
    """Pi in the project, with our package."""
    return bare_pi.with_arguments("-e", str(PACKAGE))


def injected(body: dict[str, Any]) -> bool:
    return any(FENCED in text for text in said(body))


def warm_up(conversation: Conversation) -> None:
    """The server has started and loaded its model: turns are answered within their limit."""
    conversation.command("/rag search anything")


def test_the_model_gets_the_three_tools_as_the_server_describes_them(
    pi: Pi, fake_model: FakeModel
) -> None:
    assert ANSWER in pi.ask(CHAT).stdout

    [body] = fake_model.requests()
    declared = {tool["function"]["name"]: tool["function"] for tool in body["tools"]}
    for tool in tools():
        ours = declared[tool.name]
        assert ours["description"] == tool.description
        assert ours["parameters"] == tool.input_schema


def test_the_model_is_told_to_search_before_it_greps(pi: Pi, fake_model: FakeModel) -> None:
    pi.ask(CHAT)

    system = said(fake_model.requests()[0])[0]
    assert "Use rag_query first, before grep" in system
    assert "<name>rag</name>" in system or 'name="rag"' in system


def test_a_tool_call_makes_the_round_trip(pi: Pi, fake_model: FakeModel) -> None:
    pi.ask('CALL:rag_query {"query": "rolling back a release"}')

    _, second = fake_model.requests()
    assert "deploy rollback --to VERSION" in said(second)[-1]
    assert "docs/deploy.md:" in said(second)[-1]


def test_what_a_tool_refuses_is_an_error_that_says_what_to_do(
    pi: Pi, fake_model: FakeModel
) -> None:
    with pi.conversation() as conversation:
        records = conversation.prompt('CALL:rag_index {"path": "@no/such/folder"}')

    [end] = [record for record in records if record["type"] == "tool_execution_end"]
    assert end["isError"]
    assert "no/such/folder" in said(fake_model.requests()[-1])[-1]


def test_indexing_shows_how_far_it_is(pi: Pi) -> None:
    add_files(pi.cwd, 60)
    with pi.conversation() as conversation:
        records = conversation.prompt('CALL:rag_index {"path": "."}')

    updates = [record for record in records if record["type"] == "tool_execution_update"]
    assert any("█" in text_of(record["partialResult"]) for record in updates)
    [end] = [record for record in records if record["type"] == "tool_execution_end"]
    assert not end["isError"]
    assert "60 files" in text_of(end["result"])


def test_a_relevant_prompt_brings_its_context_after_it(pi: Pi, fake_model: FakeModel) -> None:
    pi.ask(RELEVANT)

    [body] = fake_model.requests()
    texts = said(body)
    assert FENCED not in texts[0]
    assert texts[1] == RELEVANT
    assert FENCED in texts[2]


def test_a_chat_turn_brings_none(pi: Pi, fake_model: FakeModel) -> None:
    pi.ask(CHAT)

    [body] = fake_model.requests()
    assert said(body)[1:] == [CHAT]


def test_a_second_prompt_does_not_repeat_what_the_first_one_brought(
    pi: Pi, fake_model: FakeModel
) -> None:
    with pi.conversation() as conversation:
        warm_up(conversation)
        conversation.prompt(RELEVANT)
        conversation.prompt(RELEVANT)

    first, second = fake_model.requests()
    assert sum(text.count(FENCED) for text in said(first)) == 1
    assert sum(text.count(FENCED) for text in said(second)) == 1


def test_a_session_that_is_taken_up_again_is_not_told_twice(
    pi: Pi, fake_model: FakeModel, tmp_path: Path
) -> None:
    sessions = ("--session-dir", str(tmp_path / "sessions"))
    pi.ask(RELEVANT, *sessions)
    pi.ask(RELEVANT, *sessions, "--continue")

    _, second = fake_model.requests()
    assert [text.count(FENCED) for text in said(second) if FENCED in text] == [1]
    assert said(second).count(RELEVANT) == 2


def test_commands_answer_in_print_mode_without_the_model(pi: Pi, fake_model: FakeModel) -> None:
    assert "3 unchanged" in pi.ask("/rag index .").stdout
    assert "src/webhooks.py:" in pi.ask("/rag search who checks webhooks").stdout
    assert "3" in pi.ask("/rag status").stdout
    assert "`/rag help` lists the verbs" in pi.ask("/rag bogus").stderr

    assert fake_model.requests() == []


def test_commands_answer_in_rpc_mode_without_the_model(pi: Pi, fake_model: FakeModel) -> None:
    with pi.conversation() as conversation:
        [status] = asked_of_people(conversation.command("/rag status"), "notify")
        [found] = asked_of_people(conversation.command("/rag search webhooks --limit 1"), "notify")
        [wrong] = asked_of_people(conversation.command("/rag search"), "notify")

    assert ".pi/rag" in status["message"]
    assert "src/webhooks.py:" in found["message"]
    assert (status["notifyType"], wrong["notifyType"]) == ("info", "error")
    assert fake_model.requests() == []


def test_indexing_draws_a_status_and_three_lines_and_clears_them(pi: Pi) -> None:
    add_files(pi.cwd, 60)
    with pi.conversation() as conversation:
        records = conversation.command("/rag index .")

    drawn = [
        one["widgetLines"]
        for one in asked_of_people(records, "setWidget")
        if one.get("widgetLines")
    ]
    assert drawn
    assert all(len(lines) == 3 for lines in drawn)
    assert drawn[-1][1].startswith("file: ")
    statuses = asked_of_people(records, "setStatus")
    assert statuses[0]["statusText"].startswith("■ ")
    assert is_cleared(records)
    assert "60 files" in asked_of_people(records, "notify")[-1]["message"]


def is_cleared(records: list[Record]) -> bool:
    status = asked_of_people(records, "setStatus")[-1]
    widget = asked_of_people(records, "setWidget")[-1]
    return status.get("statusText") is None and widget.get("widgetLines") is None


def add_files(folder: Path, count: int) -> None:
    for number in range(count):
        text = f"# Note {number}\n\nWhat was said on day {number} about subject {number * 7}.\n"
        (folder / f"note{number}.md").write_text(text, encoding="utf-8")


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(part.get("text", "") for part in result["content"])
