"""The copy of the history must vote as its tables do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import DAMAGES, damage

from rag_agent.store import Store, history, voters
from rag_agent.store.records import Commit
from rag_agent.types import Root

Put = Callable[..., int]

_WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
_QUESTIONS = (
    ["alpha"],
    ["alpha", "beta", "gamma", "delta"],
    ["zeta", "nothing", "eta", "zeta"],
    ["nothing"],
    [],
    ['"', "", "a\0b", "alpha"],
)


def _commits(count: int, first: int = 1) -> list[Commit]:
    numbers = np.random.default_rng(first)
    found = []
    for number in range(first, first + count):
        message = " ".join(numbers.choice(_WORDS, size=numbers.integers(1, 9)))
        paths = tuple({f"{name}.py" for name in numbers.choice([*"abcdefgh"], size=3)})
        found.append(Commit(f"{number:040x}", message, paths, len(paths) + number % 4))
    return found


@pytest.fixture
def copied(store: Store, root: Root, put: Put, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of sixty commits with a copy of them."""
    monkeypatch.setattr(voters, "SMALLEST", 10)
    for name in "abcdefg":  # h.py is not indexed
        put(store, root, f"{name}.py", name)
    store.commits.put(root, store.commits.add(root, ""), _commits(60))
    store.commits.link()
    store.refresh_statistics()
    return store


def _is_used(store: Store) -> bool:
    return voters._current(store._database) is not None


def _agrees(store: Store) -> None:
    for asked in _QUESTIONS:
        for k in (0, 1, 5, 20, 200):
            expected = history.votes(store._database, asked, k)
            found = store.history_votes(asked, k)
            assert found == pytest.approx(expected, rel=1e-12)


def test_the_copy_votes_as_the_tables_do(copied: Store) -> None:
    assert _is_used(copied)
    _agrees(copied)
    # Not every file gets the same, or the order would say nothing.
    assert len(set(copied.history_votes(["alpha", "beta"]).values())) > 3


def test_a_history_that_went_on_is_asked_itself_until_the_next_refresh(
    copied: Store, root: Root
) -> None:
    (repository,) = copied.commits.repositories(root).values()
    changes: tuple[Callable[[], Any], ...] = (
        lambda: copied.commits.put(root, repository, _commits(5, first=100)),
        lambda: copied.commits.remove(repository, [_commits(1)[0].hash]),
    )
    for change in changes:
        change()
        copied.commits.link()
        assert not _is_used(copied)
        _agrees(copied)
        copied.refresh_statistics()
        assert _is_used(copied)
        _agrees(copied)


def test_a_document_that_came_or_went_is_known_at_once(copied: Store, root: Root, put: Put) -> None:
    put(copied, root, "h.py", "h")
    copied.commits.link()
    assert not _is_used(copied)
    _agrees(copied)
    copied.refresh_statistics()
    copied.forget([copied.documents(root)["a.py"].id])
    assert not _is_used(copied)
    _agrees(copied)


def test_nothing_is_written_while_nothing_changes(copied: Store, root: Root, put: Put) -> None:
    file = voters.path_for(copied._database)
    before = (file.stat().st_ino, file.stat().st_mtime_ns)
    put(copied, root, "a.py", "other text")
    copied.refresh_statistics()
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == before
    assert _is_used(copied)


def test_a_history_that_is_forgotten_takes_its_copy_along(copied: Store) -> None:
    copied.commits.clear()
    copied.refresh_statistics()
    assert not voters.path_for(copied._database).exists()
    assert copied.history_votes(["alpha"]) == {}


def test_no_word_of_a_message_stands_in_the_copy(copied: Store) -> None:
    data = voters.path_for(copied._database).read_bytes()
    assert [word for word in _WORDS if word.encode() in data] == []


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_copy_is_not_used_and_is_made_again(copied: Store, how: str) -> None:
    file = voters.path_for(copied._database)
    size = file.stat().st_size
    damage(file, how)
    with Store.open(copied.path, readonly=True) as reader:
        assert not _is_used(reader)
        _agrees(reader)
    copied.refresh_statistics()
    assert file.stat().st_size == size
    assert _is_used(copied)
    _agrees(copied)


@pytest.mark.skipif(os.name == "nt", reason="there a copy is read into memory")
def test_a_copy_that_is_cut_short_under_a_reader_is_not_looked_at_any_more(copied: Store) -> None:
    with Store.open(copied.path, readonly=True) as reader:
        _agrees(reader)
        os.truncate(voters.path_for(copied._database), 300)
        _agrees(reader)
        assert reader.damaged_copies() == [voters.path_for(copied._database).name]


@pytest.mark.parametrize("value", [b"\xff", b"\x7f", b"\x00"])
def test_whatever_bytes_change_later_no_question_fails_and_a_refresh_mends_them(
    copied: Store, value: bytes
) -> None:
    file = voters.path_for(copied._database)
    for start in range(voters._HEADER.size, file.stat().st_size, 200):
        data = bytearray(file.read_bytes())
        data[start : start + 200] = value * len(data[start : start + 200])
        file.unlink()
        file.write_bytes(data)
        with Store.open(copied.path, readonly=True) as reader:
            for asked in _QUESTIONS:
                reader.history_votes(asked)
            assert reader.damaged_copies() == [file.name]
        copied.refresh_statistics()
        assert copied.damaged_copies() == []
    _agrees(copied)


def test_the_copy_of_a_later_state_is_not_used_with_a_restored_database(
    copied: Store, root: Root, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(copied.path, backup)
    (repository,) = copied.commits.repositories(root).values()
    copied.commits.put(root, repository, _commits(5, first=100))
    copied.commits.link()
    copied.refresh_statistics()
    copied.close()
    shutil.copy(backup, copied.path)
    with Store.open(copied.path) as restored:
        assert not _is_used(restored)
        _agrees(restored)
