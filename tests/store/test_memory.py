from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from rag_agent.errors import StoreError
from rag_agent.store.memory import TurnMemory

DAY = 24 * 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[TurnMemory]:
    with TurnMemory.open(tmp_path, clock) as opened:
        yield opened


def test_what_a_session_was_shown_is_known_to_it_alone(memory: TurnMemory) -> None:
    memory.remember("one", "first question", [b"a", b"b"])
    memory.remember("one", "second question", [b"b", b"c"])
    assert memory.shown("one") == {b"a", b"b", b"c"}
    assert memory.prompt_before("one") == "second question"
    assert memory.shown("two") == frozenset()
    assert memory.prompt_before("two") == ""


def test_another_process_knows_it_too(tmp_path: Path, memory: TurnMemory) -> None:
    memory.remember("one", "question", [b"a"])
    with TurnMemory.open(tmp_path) as other:
        assert other.shown("one") == {b"a"}


def test_a_turn_is_had_once(memory: TurnMemory) -> None:
    assert memory.claim("one", "turn 1")
    assert not memory.claim("one", "turn 1")
    assert memory.claim("one", "turn 2")
    assert memory.claim("two", "turn 1")


def test_of_many_that_ask_at_once_one_has_the_turn(tmp_path: Path) -> None:
    TurnMemory.open(tmp_path).close()
    ready = threading.Barrier(8)
    won: list[bool] = []

    def ask() -> None:
        with TurnMemory.open(tmp_path) as mine:
            ready.wait()
            won.append(mine.claim("session", "turn"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_nobody_who_writes_comes_between_a_turn_and_its_session(tmp_path: Path) -> None:
    TurnMemory.open(tmp_path).close()
    with closing(apsw.Connection(str(tmp_path / "turns.db"))) as other:

        def while_it_is_claimed() -> float:
            with suppress(apsw.BusyError):
                other.execute("BEGIN IMMEDIATE")
            return 1.0

        with TurnMemory.open(tmp_path, while_it_is_claimed) as memory:
            assert memory.claim("one", "turn")
            assert not other.in_transaction


def test_a_compacted_session_may_be_shown_everything_again(memory: TurnMemory) -> None:
    memory.remember("one", "question", [b"a"])
    memory.remember("two", "question", [b"a"])
    memory.forget("one")
    assert memory.shown("one") == frozenset()
    assert memory.prompt_before("one") == ""
    assert memory.shown("two") == {b"a"}


def test_counters_add_up(memory: TurnMemory) -> None:
    assert memory.counts() == {}
    memory.count({"injections": 1, "tokens": 700})
    memory.count({"injections": 1, "tokens": 300})
    assert memory.counts() == {"injections": 2, "tokens": 1000}


def test_a_thing_to_do_every_hour_is_given_to_one_an_hour(
    tmp_path: Path, memory: TurnMemory, clock: Clock
) -> None:
    with TurnMemory.open(tmp_path, clock) as other:
        assert memory.claim_every("look", 3600)
        assert not other.claim_every("look", 3600)
        clock.now += 3599
        assert not memory.claim_every("look", 3600)
        clock.now += 1
        assert other.claim_every("look", 3600)
        assert not memory.claim_every("look", 3600)


def test_a_clock_that_is_set_back_does_not_stop_it(memory: TurnMemory, clock: Clock) -> None:
    assert memory.claim_every("look", 3600)
    clock.now -= 30 * DAY
    assert memory.claim_every("look", 3600)


def test_sessions_that_rest_for_two_weeks_are_forgotten_and_others_not(
    memory: TurnMemory, clock: Clock
) -> None:
    memory.remember("old", "question", [b"a"])
    memory.claim("old", "turn")
    clock.now += 13 * DAY
    memory.remember("new", "question", [b"a"])
    memory.claim("new", "turn")
    clock.now += 2 * DAY
    memory.forget_old()
    assert memory.shown("old") == frozenset()
    assert memory.claim("old", "turn")
    assert memory.shown("new") == {b"a"}
    assert not memory.claim("new", "turn")


def test_a_long_prompt_is_remembered_by_its_beginning(memory: TurnMemory) -> None:
    memory.remember("one", "word " * 10_000, [])
    assert memory.prompt_before("one").startswith("word word")
    assert len(memory.prompt_before("one")) <= 2000


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 500]
)
def test_a_broken_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "turns.db").write_bytes(content)
    with TurnMemory.open(tmp_path) as memory:
        memory.remember("one", "question", [b"a"])
        assert memory.shown("one") == {b"a"}


def test_a_file_of_another_version_is_begun_anew(tmp_path: Path, memory: TurnMemory) -> None:
    memory.remember("one", "question", [b"a"])
    memory._connection.execute("PRAGMA user_version = 99")
    with TurnMemory.open(tmp_path) as newer:
        assert newer.shown("one") == frozenset()


def test_where_nothing_can_be_written_that_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "turns.db").mkdir()
    with pytest.raises(StoreError):
        TurnMemory.open(tmp_path)


def test_reading_whether_there_is_a_memory_makes_none(tmp_path: Path) -> None:
    assert not TurnMemory.exists(tmp_path)
    TurnMemory.open(tmp_path).close()
    assert TurnMemory.exists(tmp_path)
