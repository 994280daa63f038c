from __future__ import annotations

import json
from typing import Any

import pytest

from rag_agent.hosts.events import reply, understand

HOSTS = ["claude-code", "codex", "gemini", "pi", "opencode"]
TURN = {
    "hook_event_name": "UserPromptSubmit",
    "prompt": "where is it?",
    "session_id": "s",
    "prompt_id": "p",
    "cwd": "/project",
    "transcript_path": "/t",
}


def test_a_prompt_is_a_turn() -> None:
    request = understand(TURN)
    assert (request.kind, request.prompt, request.session) == ("turn", "where is it?", "s")
    assert (request.id, request.cwd) == ("p", "/project")


def test_codex_names_the_prompt_by_its_turn() -> None:
    assert understand({"hook_event_name": "UserPromptSubmit", "turn_id": "t"}).id == "t"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (12_000, 12_000),
        (12_000.5, 12_000),
        (-5, 1),
        (1e400, 10**9),
        (None, 0),
        ("12000", 0),
        (True, 0),
        (float("nan"), 0),
    ],
)
def test_a_bridge_may_say_what_the_context_window_has_left(said: object, left: int) -> None:
    assert understand(TURN).left == 0
    assert understand({**TURN, "context_left": said}).left == left


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"hook_event_name": "BeforeAgent"}, "turn"),
        ({"hook_event_name": "UserPromptExpansion", "command_args": "status"}, "command"),
        ({"hook_event_name": "SessionStart", "source": "compact"}, "forget"),
        ({"hook_event_name": "SessionStart", "source": "clear"}, "forget"),
        ({"hook_event_name": "SessionStart", "source": "resume"}, "nothing"),
        ({"hook_event_name": "SessionStart"}, "nothing"),
        ({"hook_event_name": "PreCompress", "trigger": "manual"}, "forget"),
        ({"hook_event_name": "PreCompress", "trigger": "auto"}, "nothing"),
        ({"hook_event_name": "PostToolUse"}, "nothing"),
        ({"hook_event_name": 7, "prompt": None}, "nothing"),
        ({}, "nothing"),
    ],
)
def test_every_event_has_its_kind(event: dict[str, Any], kind: str) -> None:
    assert understand(event).kind == kind


@pytest.mark.parametrize(
    ("host", "prompt", "line"),
    [
        ("codex", "$rag status", "status"),
        ("codex", "  $rag", ""),
        ("codex", "$rag search a b\nand more", "search a b"),
        ("gemini", "/rag index .\n\nThis line is a command of rag_agent.", "index ."),
    ],
)
def test_where_a_host_has_no_commands_a_prompt_is_one(host: str, prompt: str, line: str) -> None:
    request = understand({"hook_event_name": "BeforeAgent", "prompt": prompt}, host)
    assert (request.kind, request.line) == ("command", line)


@pytest.mark.parametrize(
    ("host", "prompt"),
    [
        ("codex", "$ragged"),
        ("codex", "/rag status"),
        ("claude-code", "/rag status"),
        ("gemini", "what does /rag do?"),
        ("pi", "$rag status"),
    ],
)
def test_other_prompts_are_turns(host: str, prompt: str) -> None:
    assert (
        understand({"hook_event_name": "UserPromptSubmit", "prompt": prompt}, host).kind == "turn"
    )


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_to_say_is_said_so(host: str) -> None:
    said = json.loads(reply(host, understand(TURN), ""))
    assert said in ({}, {"context": "", "note": ""})


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_context_and_note_stand_where_hosts_look_for_them(host: str) -> None:
    said = json.loads(reply(host, understand(TURN), "the text", "a note"))
    assert said["hookSpecificOutput"] == {
        "hookEventName": "UserPromptSubmit",
        "additionalContext": "the text",
    }
    assert said["systemMessage"] == "a note"


def test_codex_gets_no_key_that_its_schema_does_not_know() -> None:
    assert set(json.loads(reply("codex", understand(TURN), "x", "y"))) == {
        "hookSpecificOutput",
        "systemMessage",
    }


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_the_answer_of_a_command_stands_in_place_of_the_prompt(host: str) -> None:
    request = understand({"hook_event_name": "UserPromptExpansion", "command_args": "status"})
    said = json.loads(reply(host, request, "all is well"))
    assert (said["decision"], said["reason"]) == ("block", "all is well")


@pytest.mark.parametrize("host", ["pi", "opencode", "a host of tomorrow"])
def test_bridges_get_it_plain(host: str) -> None:
    said = json.loads(reply(host, understand(TURN), "the text", "a note"))
    assert said == {"context": "the text", "note": "a note"}
