"""Turns in Pi, both versions: the tools, and the context that comes with a prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fake_model import ANSWER, FakeModel, said
from pi_driver import (
    CHAT,
    FENCED,
    MANY,
    RELEVANT,
    Pi,
    add_files,
    asked_of_people,
    is_injected,
    text_of,
    warm_up,
)

from rag_agent.server.tools import tools


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


def test_an_abort_stops_indexing(pi: Pi) -> None:
    add_files(pi.cwd, MANY)
    with pi.conversation() as conversation:
        conversation.send("prompt", message='CALL:rag_index {"path": "."}')
        conversation.until(lambda record: record["type"] == "tool_execution_update")
        conversation.send("abort")
        [*_, end] = conversation.until(lambda record: record["type"] == "tool_execution_end")
        conversation.until(lambda record: record["type"] == pi.last_event)
        [status] = asked_of_people(conversation.command("/rag status"), "notify")

    assert end["isError"]
    assert "aborted" in text_of(end["result"])
    files = re.search(r"^files +([\d,]+)", status["message"], re.MULTILINE)
    assert files is not None
    assert int(files[1].replace(",", "")) < MANY
    assert not re.search(r"^running ", status["message"], re.MULTILINE)


def test_a_relevant_prompt_brings_its_context_after_it(pi: Pi, fake_model: FakeModel) -> None:
    pi.ask(RELEVANT)

    [body] = fake_model.requests()
    texts = said(body)
    assert FENCED not in texts[0]
    assert texts[1] == RELEVANT
    assert FENCED in texts[2]


def test_a_prompt_brings_nothing_that_the_context_window_has_no_room_for(
    pi: Pi, fake_model: FakeModel
) -> None:
    settings = Path(pi.environ["HOME"]) / ".pi" / "agent"
    models = (settings / "models.json").read_text(encoding="utf-8")
    small = models.replace('"contextWindow": 100000', '"contextWindow": 1500')
    assert small != models
    (settings / "models.json").write_text(small, encoding="utf-8")
    # Else Pi summarises such a conversation without end.
    without = {"compaction": {"enabled": False}}
    (settings / "settings.json").write_text(json.dumps(without), encoding="utf-8")
    pi.ask(RELEVANT)

    assert not is_injected(fake_model.requests()[0])


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


def test_after_compaction_a_prompt_brings_its_context_again(pi: Pi, fake_model: FakeModel) -> None:
    with pi.conversation() as conversation:
        warm_up(conversation)
        conversation.prompt(RELEVANT)
        conversation.prompt(f"{CHAT} {'on and on ' * 20_000}")
        identity = conversation.send("compact")
        [*_, compacted] = conversation.until(lambda record: record.get("id") == identity)
        fake_model.clear()
        conversation.prompt(RELEVANT)

    assert compacted["success"], compacted
    [body] = fake_model.requests()
    assert FENCED in said(body)[-1]
