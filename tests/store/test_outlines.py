from __future__ import annotations

from typing import Any

from rag_agent.store import Store
from rag_agent.types import Root


def test_an_outline_says_of_a_chunk_all_but_its_text(store: Store, root: Root, put: Any) -> None:
    put(store, root, "b.py", "def one", "def two", heading="Head", names=("one", "two"))
    put(store, root, "a.py", "def three")
    whole = store.chunks(range(1, 9))
    found = store.outlines([3, 2, 1, 99])
    assert list(found) == [3, 2, 1]
    for identifier, outline in found.items():
        stored = whole[identifier]
        assert outline.document == stored.document
        assert outline.shown_path == stored.shown_path
        assert outline.passages == stored.passages == 1
        assert (outline.chunk.start, outline.chunk.end) == (stored.chunk.start, stored.chunk.end)
        assert outline.chunk.heading == stored.chunk.heading
        assert [(one.name, one.kind, one.start, one.end) for one in outline.chunk.definitions] == [
            (one.name, one.kind, one.start, one.end) for one in stored.chunk.definitions
        ]
    assert store.texts([3, 1, 99]) == {3: "def three", 1: "def one"}


def test_the_first_chunks_of_documents_are_those_at_their_beginnings(
    store: Store, root: Root, put: Any
) -> None:
    first = put(store, root, "a.md", *[f"text {number}" for number in range(5)])
    second = put(store, root, "b.md", "other")
    found = store.outlines(store.first_chunks([second, first], 2))
    assert [(one.document.path, one.chunk.start) for one in found.values()] == [
        ("b.md", 1),
        ("a.md", 1),
        ("a.md", 2),
    ]
    assert store.first_chunks([], 2) == []


def test_chunks_know_their_documents_and_how_many_passages_they_have(
    store: Store, root: Root, put: Any
) -> None:
    first = put(store, root, "a.md", "one", "two")
    second = put(store, root, "b.md", "three")
    assert store.owners([3, 99, 1]).tolist() == [[second, 0, first], [1, 0, 1]]
    assert store.owners([]).tolist() == [[], []]
    shown = store.shown([second, first, 99])
    assert [(one.document.path, one.shown_path) for one in shown.values()] == [
        ("b.md", "b.md"),
        ("a.md", "a.md"),
    ]
    assert store.shown([first])[first] is shown[first]


def test_an_outline_follows_what_another_connection_writes(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "a.py", "def one", names=("one",))
    with Store.open(store.path, readonly=True) as reader:
        (before,) = reader.outlines([1]).values()
        assert reader.outlines([1])[1] is before
        put(store, root, "a.py", "def one", names=("uno", "due"))
        (after,) = reader.outlines([1]).values()
        assert [one.name for one in after.chunk.definitions] == ["uno", "due"]
        store.forget([1])
        assert reader.outlines([1]) == {}


def test_what_is_read_within_a_snapshot_is_of_one_state(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.py", "def one")
    with Store.open(store.path, readonly=True) as reader, reader.snapshot():
        assert reader.passage_count() == 1
        put(store, root, "b.py", "def two")
        assert (reader.passage_count(), list(reader.outlines([1, 2]))) == (1, [1])
    with Store.open(store.path, readonly=True) as reader:
        assert (reader.passage_count(), list(reader.outlines([1, 2]))) == (2, [1, 2])
