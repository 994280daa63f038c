from __future__ import annotations

import itertools
import os
import shutil
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import DAMAGES, damage

from rag_agent.search import search
from rag_agent.store import CountedPassages, Store, filters, lexical, postings, segments
from rag_agent.types import Root

_WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda naïve 漢字の本".split()
_QUESTIONS = (
    ["alpha"],
    ["alpha", "beta", "gamma", "delta"],
    ["zeta", "nothing", "eta"],
    ["naiv", "漢字", "の本"],
    ["nothing"],
    [],
    ['"', "", "a\0b", "alpha"],
)
_ALSO = ((), (1, 40, 91, 93, 1_000))  # ids of passages, some of which come later or never


@pytest.fixture
def copied(store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of 90 passages with a copy of its words."""
    monkeypatch.setattr(segments, "SMALLEST", 10)
    _fill(store, root, put, "a", 60)
    _fill(store, root, put, "b", 30)
    store.refresh_statistics()
    return store


def _fill(store: Store, root: Root, put: Any, name: str, count: int, seed: int = 0) -> None:
    numbers = np.random.default_rng(count + seed)
    texts = [" ".join(numbers.choice(_WORDS, size=numbers.integers(1, 40))) for _ in range(count)]
    put(
        store,
        root,
        f"{name}/beta/kappa.md",
        *texts,
        heading="Eta",
        names=("alphaBeta",),
        aliases=("Zeta nothing",),
    )


def _by_fts(
    store: Store, asked: list[str], k: int, budget: int, also: Sequence[int] = ()
) -> list[Any]:
    found = lexical.match(store._database, asked, k, postings=budget, also=also)
    return _listed(postings._from_texts(found, asked))


def _listed(found: CountedPassages) -> list[Any]:
    """(chunk id, counts, length) of each."""
    return [
        (chunk, tuple(counts), length)
        for chunk, counts, length in zip(
            found.chunk_ids, found.counts.tolist(), found.lengths.tolist(), strict=True
        )
    ]


def _agrees(store: Store) -> None:
    assert postings.current(store._database) is not None
    for asked in _QUESTIONS:
        for k in (0, 1, 5, 200):
            for budget in (20_000, 40, 1):
                for also in _ALSO:
                    found = postings.match(store._database, asked, k, None, budget, also)
                    assert _listed(found) == _by_fts(store, asked, k, budget, also)


def test_the_copy_finds_and_counts_what_the_index_of_words_does(copied: Store) -> None:
    _agrees(copied)
    # Not everything is alike, or the order would say nothing.
    assert len(np.unique(copied.match_counts(["alpha"], 50).counts)) > 3


def test_the_copy_stays_exact_while_passages_come_and_go(
    copied: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = segments.path_for(copied._database).read_bytes()
    _fill(copied, root, put, "c", 3)
    _agrees(copied)
    put(copied, root, "b/beta/kappa.md", "alpha alpha lambda", "omega")
    _agrees(copied)
    copied.forget([copied.documents(root)["a/beta/kappa.md"].id])
    _agrees(copied)
    assert segments.path_for(copied._database).read_bytes() == whole


@pytest.mark.parametrize("block", [1, 7, 100, 1_000])
def test_how_much_is_sorted_at_once_changes_nothing(
    copied: Store, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rows = list(segments.passages_after(copied._database, 0))
    whole = segments.made_of(rows, 0)
    monkeypatch.setattr(segments, "_BLOCK", block)
    parts = segments.made_of(rows, 0)
    for column in ("ids", "hashes", "starts", "places", "counts", "weights", "lengths", "sizes"):
        one, other = getattr(whole, column), getattr(parts, column)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


def test_writing_a_copy_takes_twenty_bytes_a_word_of_a_passage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segments, "_BLOCK", 20_000)
    numbers = np.random.default_rng(1)
    words = ["".join(letters) for letters in itertools.product("bdfgk", repeat=5)]

    def peak(passages: int) -> int:
        texts = (" ".join(numbers.choice(words, size=100, replace=False)) for _ in range(passages))
        rows = ((number, number, 1, text, "", "a.md", ()) for number, text in enumerate(texts, 1))
        tracemalloc.start()
        segments.made_of(rows, 0)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(500)  # what is remembered of words
    assert (peak(3_000) - peak(1_000)) / (2_000 * 100) < 25


def test_another_connection_sees_what_was_written_meanwhile(
    copied: Store, root: Root, put: Any
) -> None:
    with Store.open(copied.path, readonly=True) as reader:
        _agrees(reader)
        put(copied, root, "new.md", "omega omega")
        assert reader.match_counts(["omega"], 5).counts.tolist() == [[2.0]]
        _agrees(reader)
        copied.forget([copied.documents(root)["new.md"].id])
        assert reader.match_counts(["omega"], 5).chunk_ids == []


def test_the_copy_is_written_anew_when_much_has_changed(
    copied: Store, root: Root, put: Any
) -> None:
    file = segments.path_for(copied._database)
    whole = file.read_bytes()
    copied.refresh_statistics()
    assert file.read_bytes() == whole
    _fill(copied, root, put, "c", 40)
    copied.refresh_statistics()
    assert len(file.read_bytes()) > len(whole)
    _agrees(copied)
    copied.clear()
    assert not file.exists()


def test_a_reader_that_searched_before_takes_a_copy_that_is_written_later(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SMALLEST", 10)
    _fill(store, root, put, "a", 60)
    with Store.open(store.path, readonly=True) as reader:
        assert postings.current(reader._database) is None
        store.refresh_statistics()
        assert postings.current(reader._database) is not None


def test_a_filter_is_answered_by_the_index_of_words(copied: Store) -> None:
    where = filters.compile("path:b/*")
    everything = copied.match_counts(["alpha"], 500).chunk_ids
    some = copied.match_counts(["alpha"], 500, where).chunk_ids
    assert set(some) < set(everything)
    assert some


def test_far_more_passages_than_the_copy_has_are_left_to_the_index_of_words(
    copied: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "NEWER", 5)
    _fill(copied, root, put, "c", 6)
    assert postings.current(copied._database) is None
    assert _listed(copied.match_counts(["alpha"], 500)) == _by_fts(copied, ["alpha"], 500, 20_000)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_copy_is_not_used_and_is_made_again(copied: Store, how: str) -> None:
    file = segments.path_for(copied._database)
    size = file.stat().st_size
    damage(file, how)
    with Store.open(copied.path, readonly=True) as reader:
        assert postings.current(reader._database) is None
        assert _listed(reader.match_counts(["alpha"], 9)) == _by_fts(reader, ["alpha"], 9, 20_000)
    copied.refresh_statistics()
    assert file.stat().st_size == size
    _agrees(copied)


@pytest.mark.skipif(os.name == "nt", reason="there a copy is read into memory")
def test_a_copy_that_is_cut_short_under_a_reader_is_not_looked_at_any_more(copied: Store) -> None:
    file = segments.path_for(copied._database)
    with Store.open(copied.path, readonly=True) as reader:
        assert postings.current(reader._database) is not None
        os.truncate(file, 100)  # to look behind that would end the process
        assert postings.current(reader._database) is None
        assert _listed(reader.match_counts(["alpha"], 9)) == _by_fts(reader, ["alpha"], 9, 20_000)


def _overwritten(file: Path, start: int, value: bytes, length: int) -> None:
    """Other bytes in the same place of another file of the same name."""
    data = bytearray(file.read_bytes())
    data[start : start + length] = value * length
    file.unlink()
    file.write_bytes(data)


@pytest.mark.parametrize("value", [b"\xff", b"\x7f", b"\x00"])
def test_whatever_bytes_change_later_no_search_fails_and_a_refresh_mends_them(
    copied: Store, value: bytes
) -> None:
    file = segments.path_for(copied._database)
    size = file.stat().st_size
    for start in range(segments._HEADER.size, size, 500):
        _overwritten(file, start, value, min(500, size - start))
        with Store.open(copied.path, readonly=True) as reader:
            for asked in _QUESTIONS:
                search(reader, " ".join(asked).replace("\0", "") or "?", embedder=None)
            assert reader.damaged_copies() == [file.name]
            assert reader.check() == []  # the index itself is sound
        copied.refresh_statistics()
        assert copied.damaged_copies() == []
    _agrees(copied)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes among files here")
def test_a_pipe_in_the_place_of_a_copy_is_not_waited_for(copied: Store) -> None:
    file = segments.path_for(copied._database)
    file.unlink()
    os.mkfifo(file)
    with Store.open(copied.path, readonly=True) as reader:
        assert postings.current(reader._database) is None
        assert reader.damaged_copies() == [file.name]
    copied.refresh_statistics()
    _agrees(copied)


def test_the_copy_of_a_later_state_is_not_used_with_a_restored_database(
    copied: Store, root: Root, put: Any, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(copied.path, backup)
    _fill(copied, root, put, "c", 40)
    copied.refresh_statistics()
    copied.close()
    shutil.copy(backup, copied.path)
    with Store.open(copied.path) as restored:
        _fill(restored, root, put, "d", 40, seed=1)
        assert postings.current(restored._database) is None
        restored.refresh_statistics()
        _agrees(restored)


def test_what_is_remembered_is_computed_anew_after_every_change(
    copied: Store, root: Root, put: Any
) -> None:
    with Store.open(copied.path, readonly=True) as reader:
        before = reader.passage_count(), copied.passage_count()
        put(copied, root, "new.md", "omega", kind="code", language="python")
        assert (reader.passage_count(), copied.passage_count()) == (before[0] + 1, before[1] + 1)
        assert reader.language_shares() == {"python": 1.0}
