from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import SearchResults

if TYPE_CHECKING:
    from rag_agent.types import Vector


class East:
    """An embedder whose every question points east."""

    fingerprint = "east"
    dim = 2

    def embed_query(self, text: str) -> Vector:
        return np.array([1, 0], np.float32)


def deal(store: Store, degrees: dict[str, float]) -> None:
    """Give the files cards in these directions, counted from the east."""
    model = store.model(East.fingerprint, East.dim)
    for card in store.pending_cards(model, 1000):
        if card.path in degrees:
            angle = np.radians(degrees[card.path])
            store.put_cards(model, [card], np.array([[np.cos(angle), np.sin(angle)]], np.float32))


def ask(store: Store, query: str, where: str = "") -> SearchResults:
    return search(store, query, embedder=East(), where=where)  # type: ignore[arg-type]


def test_cards_decide_between_files_that_words_cannot_tell_apart(indexed: Any) -> None:
    store = indexed({f"{name}.txt": "needle" for name in "abcd"})
    deal(store, {"a.txt": 80, "b.txt": 60, "c.txt": 5, "d.txt": 70})
    assert ask(store, "needle").hits[0].path == "c.txt"


def test_a_file_without_a_card_keeps_its_place_by_words_and_the_note_says_so(indexed: Any) -> None:
    store = indexed({"a.txt": "needle needle thread", "b.txt": "needle", "c.txt": "a thread"})
    deal(store, {"b.txt": 60, "c.txt": 80})
    found = ask(store, "needle thread")
    assert found.hits[0].path == "a.txt"
    assert found.notes == ("3 chunks are not embedded yet and were ranked by words only.",)


def test_far_files_found_by_their_cards_come_after_near_ones(indexed: Any) -> None:
    files = {f"f{number:03}.txt": f"text {number}" for number in range(60)}
    store = indexed(files)
    deal(store, {path: 3.0 * number for number, path in enumerate(reversed(files))})
    paths = [hit.path for hit in ask(store, "zebra").hits]
    assert paths == list(reversed(files))[:10]
