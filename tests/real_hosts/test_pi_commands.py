"""/rag in Pi, both versions: answers, progress and completion, without the model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_model import FakeModel
from pi_driver import (
    MANY,
    Pi,
    Record,
    add_files,
    asked_of_people,
)
from pi_fixtures import Watched


def test_commands_answer_in_print_mode_without_the_model(pi: Pi, fake_model: FakeModel) -> None:
    assert "3 unchanged" in pi.ask("/rag index .").stdout
    assert "src/webhooks.py:" in pi.ask("/rag search who checks webhooks").stdout
    assert "3" in pi.ask("/rag status").stdout
    assert "`/rag help` lists the verbs" in pi.ask("/rag bogus").stderr

    assert fake_model.requests() == []


def test_json_mode_keeps_its_stdout_to_itself(pi: Pi) -> None:
    done = pi.with_arguments("--mode", "json").ask("/rag status")

    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["session"]
    assert ".pi/rag" in done.stderr


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


def test_a_failure_clears_what_was_drawn(pi: Pi, watched: Watched) -> None:
    add_files(pi.cwd, MANY)
    with pi.with_environ(**watched.environ).conversation() as conversation:
        identity = conversation.send("prompt", message="/rag index .")
        records = conversation.until(lambda record: bool(record.get("widgetLines")))
        watched.kill()
        records += conversation.until(lambda record: record.get("id") == identity)

    assert is_cleared(records)
    [notice] = asked_of_people(records, "notify")
    assert notice["notifyType"] == "error"
    assert "SIGKILL" in notice["message"]


def is_cleared(records: list[Record]) -> bool:
    status = asked_of_people(records, "setStatus")[-1]
    widget = asked_of_people(records, "setWidget")[-1]
    return status.get("statusText") is None and widget.get("widgetLines") is None


COMPLETED = {
    "": "search",
    "in": "index",
    "index sr": "index src/",
    "search --l": "search --limit",
    "find src/w": "find src/webhooks.py",
    "rebuild --": "rebuild --force",
    "exclude -": "exclude -*.log",
    "ext a": "ext add",
    "ext remove .l": "ext remove .log",
    "context --b": "context --budget",
    "of": "off",
    "help st": "help status",
}
"""Lines behind /rag, and one of the things that each may become."""


def test_arguments_are_completed(
    pi: Pi,
    complete: Callable[..., list[Any]],
    rag_agent: Path,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    run_host([rag_agent, "exclude", "*.log"], pi.environ, pi.cwd)
    run_host([rag_agent, "ext", "add", "log"], pi.environ, pi.cwd)

    completed = complete(pi, *COMPLETED)

    given = {
        line: [item["value"] for item in items or ()]
        for line, items in zip(COMPLETED, completed, strict=True)
    }
    missing = {line: given[line] for line, wanted in COMPLETED.items() if wanted not in given[line]}
    assert missing == {}


VERBS = set(
    "index search find status rebuild refresh clear exclude ext on off context doctor help".split()
)


def test_every_verb_is_completed_with_a_description(
    pi: Pi, complete: Callable[..., list[Any]]
) -> None:
    [items] = complete(pi, "")

    assert {one["value"] for one in items} >= VERBS
    assert all(one["label"] and one["description"] for one in items)


def test_without_an_answer_nothing_is_completed(
    pi: Pi, complete: Callable[..., list[Any]], silent_program: str
) -> None:
    assert complete(pi.with_environ(RAG_AGENT_PROGRAM=silent_program), "in") == [None]
