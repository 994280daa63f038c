from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from rag_agent import turns
from rag_agent.config import Config
from rag_agent.index import Index
from rag_agent.index import open as open_index
from rag_agent.store.memory import TurnMemory
from rag_agent.turns import Turn
from rag_agent.types import Context

WEBHOOKS = '''\
"""Stripe webhooks."""


def verify_signature(payload, header, secret):
    """Check the signature of a Stripe webhook against the shared secret."""
    return sign(payload, secret) == header
'''
DEPLOYMENT = """\
# Deployment

The staging cluster is rolled out by the script deploy.sh every night at two.

## Rollback

To roll back a deployment, run deploy.sh with the tag of the release before.
"""
ABOUT_WEBHOOKS = "where is the signature of a Stripe webhook checked?"
ABOUT_DEPLOYMENT = "how do I roll back a deployment to the release before?"
NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "webhooks.py").write_text(WEBHOOKS, encoding="utf-8")
    (project / "deployment.md").write_text(DEPLOYMENT, encoding="utf-8")
    with open_index(project) as opened:
        opened.sync()
        yield opened


def take(
    index: Index, prompt: str, session: str = "", id: str = "", settings: Config | None = None
) -> Context:
    """A turn as a server gives it: taken, and recorded when delivered."""
    used = settings or index.config
    turn = Turn(prompt, session, id)
    context = turns.take_turn(turn, partial(index.search, limit=used.rag_top_k), used, index.memory)
    turns.record(turn, context, used, index.memory)
    return context


def paths(context: Context) -> list[str]:
    return [hit.path for hit in context.hits]


def test_a_question_about_the_project_is_given_what_answers_it(index: Index) -> None:
    context = take(index, ABOUT_WEBHOOKS, "session")
    assert paths(context) == ["webhooks.py"]
    assert "def verify_signature" in context.text


@pytest.mark.parametrize(
    ("left", "most"), [(0, 1500), (1_000_000, 1500), (6_000, 300), (2_000, 100), (1, 0)]
)
def test_a_turn_takes_no_more_than_a_share_of_what_the_window_has_left(
    index: Index, left: int, most: int
) -> None:
    assert turns.share_of_window(1500, left) == most
    turn = Turn(ABOUT_WEBHOOKS, left=left)
    context = turns.take_turn(turn, index.search, index.config, None)
    assert context.tokens <= most
    assert bool(context.text) == (most >= 300)


def test_what_a_session_was_shown_is_not_shown_to_it_again(index: Index) -> None:
    assert take(index, ABOUT_WEBHOOKS, "one").text
    again = take(index, ABOUT_WEBHOOKS, "one")
    assert again.text == ""
    assert any("has been shown it already" in reason for reason in again.reasons)
    assert paths(take(index, ABOUT_DEPLOYMENT, "one")) == ["deployment.md"]
    assert paths(take(index, ABOUT_WEBHOOKS, "two")) == ["webhooks.py"]


def test_without_a_session_nothing_is_remembered(index: Index) -> None:
    assert take(index, ABOUT_WEBHOOKS).text
    assert take(index, ABOUT_WEBHOOKS).text


def test_what_changed_since_it_was_shown_is_shown_again(index: Index) -> None:
    take(index, ABOUT_WEBHOOKS, "session")
    (index.base / "webhooks.py").write_text(
        WEBHOOKS.replace("sign(payload, secret)", "hmac_sha256(payload, secret)"), encoding="utf-8"
    )
    assert "hmac_sha256" in take(index, ABOUT_WEBHOOKS, "session").text


def test_after_compaction_it_is_shown_again(index: Index) -> None:
    take(index, ABOUT_WEBHOOKS, "session")
    turns.forget("session", index.memory)
    assert take(index, ABOUT_WEBHOOKS, "session").text


def test_a_prompt_that_hooks_ask_for_twice_is_answered_once(index: Index) -> None:
    assert take(index, ABOUT_WEBHOOKS, "session", id="prompt 1").text
    twice = take(index, ABOUT_DEPLOYMENT, "session", id="prompt 1")
    assert (twice.text, twice.reasons) == ("", ("this prompt has been answered already",))
    assert take(index, ABOUT_DEPLOYMENT, "session", id="prompt 2").text


def test_a_follow_up_is_searched_together_with_the_turn_before(index: Index) -> None:
    (index.base / "test_webhooks.py").write_text(
        "from webhooks import verify_signature\n\n\n"
        "def test_the_signature_of_a_stripe_webhook_is_checked():\n"
        "    assert verify_signature(payload, header, secret)\n",
        encoding="utf-8",
    )
    index.sync()
    alone = take(index, "and where is it tested?", "another session")
    assert alone.text == ""
    take(index, ABOUT_WEBHOOKS, "session", settings=replace(index.config, rag_top_k=1))
    leaning = take(index, "and where is it tested?", "session")
    assert "test_webhooks.py" in paths(leaning)


@pytest.mark.parametrize(
    "prompt", ["thanks, that works", "yes, go on", "run the tests again", "/rag status", ""]
)
def test_a_turn_that_asks_for_nothing_searches_nothing(index: Index, prompt: str) -> None:
    def never(query: str) -> object:
        raise AssertionError(query)

    context = turns.take_turn(Turn(prompt, "s"), never, index.config, index.memory)  # type: ignore[arg-type]
    assert context.text == ""
    assert context.query == ""


def test_a_chat_turn_in_between_does_not_end_what_the_talk_is_about(index: Index) -> None:
    assert index.memory is not None
    take(index, ABOUT_WEBHOOKS, "session")
    take(index, "thanks, that works", "session")
    assert index.memory.prompt_before("session") == ABOUT_WEBHOOKS


@pytest.mark.parametrize("before", [0, 1_970])
def test_a_secret_in_a_prompt_is_not_remembered(index: Index, before: int) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    assert index.memory is not None
    start = ABOUT_WEBHOOKS.ljust(before, " ")
    take(index, f"{start} {token} is what I sign the header with", "session")
    assert index.memory.prompt_before("session").startswith(ABOUT_WEBHOOKS)
    kept = b"".join(file.read_bytes() for file in index.folder.glob("turns.db*"))
    assert token[:12].encode() not in kept


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_what_is_remembered_nobody_else_may_read(tmp_path: Path) -> None:
    with TurnMemory.open(tmp_path) as memory:
        memory.remember("session", ABOUT_WEBHOOKS, ())
        assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("turns.db*")} == {0o600}


def test_turns_are_counted_by_what_became_of_them(index: Index) -> None:
    assert index.status().injection == {}
    given = take(index, ABOUT_WEBHOOKS, "session")
    take(index, "thanks, that works", "session")
    take(index, "/compact", "session")
    take(index, ABOUT_WEBHOOKS, "session", id="prompt 1")
    take(index, ABOUT_WEBHOOKS, "session", id="prompt 1")
    turns.record_time_out(index.memory)
    assert index.status().injection == {
        "injections": 1,
        "abstentions": 2,
        "time_outs": 1,
        "tokens": given.tokens,
    }


def test_switched_off_nothing_is_injected_nor_counted(index: Index) -> None:
    context = take(index, ABOUT_WEBHOOKS, "session", settings=Config(rag_enabled=False))
    assert context.text == ""
    assert index.status().injection == {}


def test_the_budget_of_the_settings_is_kept(index: Index) -> None:
    small = take(index, ABOUT_WEBHOOKS, settings=replace(index.config, rag_token_budget=170))
    assert 0 < small.tokens <= 170


def test_without_a_memory_turns_are_answered_all_the_same(index: Index) -> None:
    search = partial(index.search, limit=5)
    turn = Turn(ABOUT_WEBHOOKS, "session", "prompt")
    context = turns.take_turn(turn, search, index.config, None)
    turns.record(turn, context, index.config, None)
    turns.record_time_out(None)
    turns.forget("session", None)
    assert context.text
    assert turns.counts(None) == {}
    assert turns.last_refresh(None) == ""


def test_a_memory_that_fails_costs_the_memory_and_not_the_answer(index: Index) -> None:
    assert index.memory is not None
    index.memory._connection.execute("DROP TABLE shown; DROP TABLE counter; DROP TABLE note")
    assert take(index, ABOUT_WEBHOOKS, "session", id="prompt").text
    assert index.status().injection == {}
    assert index.status().last_refresh == ""


# Looking whether the index is stale


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TurnMemory]:
    with TurnMemory.open(tmp_path) as opened:
        yield opened


def ago(**age: float) -> str:
    return (NOW - timedelta(**age)).isoformat(timespec="seconds")


@pytest.mark.parametrize(
    ("last_sync", "due"),
    [(ago(hours=25), True), (ago(hours=23), False), (ago(days=400), True), ("", False),
     ("not a time", False), ("2026-01-01T00:00:00", True)],
)  # fmt: skip
def test_an_index_is_refreshed_when_it_is_older_than_a_day(
    memory: TurnMemory, last_sync: str, due: bool
) -> None:
    assert turns.refresh_is_due(last_sync, Config(), memory, NOW) is due


def test_one_process_is_told_to_refresh_and_the_others_are_not(
    tmp_path: Path, memory: TurnMemory
) -> None:
    asked = [turns.refresh_is_due(ago(days=2), Config(), memory, NOW)]
    for _ in range(4):
        with TurnMemory.open(tmp_path) as other:
            asked.append(turns.refresh_is_due(ago(days=2), Config(), other, NOW))
    assert asked == [True, False, False, False, False]


def test_the_setting_turns_refreshing_off(memory: TurnMemory) -> None:
    off = Config(rag_auto_refresh=False)
    assert not turns.refresh_is_due(ago(days=2), off, memory, NOW)
    assert turns.refresh_is_due(ago(days=2), Config(), memory, NOW)


# Hurried searches


def test_a_hurried_search_does_not_wait_for_the_model(index: Index) -> None:
    with open_index(index.base) as fresh:
        assert fresh.search(ABOUT_WEBHOOKS, hurried=True).mode == "lexical"
        fresh.warm_up()
        assert fresh.search(ABOUT_WEBHOOKS).mode == "hybrid"  # which waits for it
        assert fresh.search(ABOUT_WEBHOOKS, hurried=True).mode == "hybrid"


def test_a_hurried_search_shows_only_what_is_on_disk_and_takes_changes_in_later(
    index: Index,
) -> None:
    before = index.search(ABOUT_WEBHOOKS, hurried=True).hits[0].chunk
    (index.base / "webhooks.py").write_text("\n\n\n" + WEBHOOKS, encoding="utf-8")
    moved = index.search(ABOUT_WEBHOOKS, hurried=True).hits[0]
    assert (moved.chunk.start, moved.stale) == (before.start + 3, True)
    (index.base / "webhooks.py").write_text(
        WEBHOOKS.replace("verify_signature", "check_signature"), encoding="utf-8"
    )
    changed = index.search(ABOUT_WEBHOOKS, hurried=True).hits[0]
    assert ("def check_signature" in changed.chunk.text, changed.stale) == (True, True)
    (index.base / "webhooks.py").write_text("NOTHING = 'of what was here'\n", encoding="utf-8")
    assert "webhooks.py" not in [hit.path for hit in index.search(ABOUT_WEBHOOKS, hurried=True)]
    (index.base / "webhooks.py").write_text(
        WEBHOOKS.replace("verify_signature", "check_signature"), encoding="utf-8"
    )
    index.catch_up()
    now = index.search(ABOUT_WEBHOOKS, hurried=True).hits[0]
    assert ("def check_signature" in now.chunk.text, now.stale) == (True, False)
