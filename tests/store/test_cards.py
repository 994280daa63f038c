from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_agent.errors import ModelMismatch
from rag_agent.store import Store, filters
from rag_agent.store.migrations import VERSION
from rag_agent.types import Root

DIM = 4


@pytest.fixture(params=[True, False], ids=["sqlite-vec", "numpy"])
def store(path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """By the extension and by its stand-in."""
    with Store.open(path, extension=request.param) as opened:
        yield opened


def deal(store: Store, model: int, **vectors: list[float]) -> None:
    """Give cards to pending documents by the stems of their paths."""
    for card in store.pending_cards(model, 100):
        vector = vectors[card.path.rpartition("/")[2].partition(".")[0]]
        store.put_cards(model, [card], np.array([vector], np.float32))


def pending(store: Store, model: int) -> list[str]:
    return [card.path for card in store.pending_cards(model, 100)]


def test_a_pending_card_has_what_a_card_is_made_of(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.py", "# Mail.", "x = 1", names=("send", "Mail", "send"), kind="code")
    put(store, root, "b.md", "Text.", "More.", heading="Guide > Use", title="Guide")
    code, prose = store.pending_cards(store.model("m", DIM), 10)
    assert (code.path, code.kind, code.text, code.names) == (
        "a.py",
        "code",
        "# Mail.",
        ("send", "Mail"),
    )
    assert (prose.title, prose.text, prose.names) == ("Guide", "Text.", ("Guide > Use",))


def test_names_are_in_the_order_of_the_file_and_at_most_ninety(
    store: Store, root: Root, put: Any
) -> None:
    names = tuple(f"name_{number}" for number in range(120, 0, -1))
    put(store, root, "a.py", "x", names=names)
    (card,) = store.pending_cards(store.model("m", DIM), 10)
    assert card.names == names[:90]


def test_pending_cards_come_by_id_in_pieces_and_a_dealt_card_is_not_pending(
    store: Store, root: Root, put: Any
) -> None:
    for name in "abc":
        put(store, root, f"{name}.md", f"text {name}")
    model = store.model("m", DIM)
    (first,) = store.pending_cards(model, 1)
    assert [c.path for c in store.pending_cards(model, 5, first.document_id)] == ["b.md", "c.md"]
    store.put_cards(model, [first], np.ones((1, DIM), np.float32))
    assert pending(store, model) == ["b.md", "c.md"]
    assert pending(store, store.model("other", DIM)) == ["a.md", "b.md", "c.md"]
    assert store.counts().cards[model] == 1


def test_an_empty_document_needs_no_card(store: Store, root: Root, put: Any) -> None:
    put(store, root, "empty.md")
    assert pending(store, store.model("m", DIM)) == []


def test_nearest_cards_are_exact_and_highest_first(store: Store, root: Root, put: Any) -> None:
    for name in "abcd":
        put(store, root, f"{name}.md", f"text {name}")
    model = store.model("m", DIM)
    deal(store, model, a=[1, 0, 0, 0], b=[2, 2, 0, 0], c=[-1, 0, 0, 0], d=[0, 0, 0, 0])
    ids = {path: document.id for path, document in store.documents(root).items()}
    query = np.array([1, 0, 0, 0], np.float32)
    found = store.nearest_cards(model, query, 10)
    # A card of length 0 is near to nothing.
    assert [document for document, _ in found] == [ids["a.md"], ids["b.md"], ids["c.md"]]
    assert [cosine for _, cosine in found] == pytest.approx([1, 0.5**0.5, -1])
    assert store.nearest_cards(model, query, 1) == found[:1]
    assert store.nearest_cards(model, query, 0) == []
    assert store.nearest_cards(model, query * np.nan, 3) == []
    assert store.card_cosines(model, query, [ids["b.md"], ids["d.md"], 999]) == pytest.approx(
        [0.5**0.5, np.nan, np.nan], nan_ok=True
    )


def test_a_filter_narrows_cards_before_ranking(store: Store, root: Root, put: Any) -> None:
    for number in range(30):
        put(store, root, f"src/near{number}.md", f"text {number}")
    put(store, root, "docs/far.md", "text")
    model = store.model("m", DIM)
    near = {f"near{number}": [1.0, 0, 0, 0] for number in range(30)}
    deal(store, model, far=[0, 1.0, 0, 0], **near)
    query = np.array([1, 0, 0, 0], np.float32)
    found = store.nearest_cards(model, query, 5, filters.compile("path:docs/*"))
    assert [document for document, _ in found] == [store.documents(root)["docs/far.md"].id]


def test_only_a_change_of_what_it_says_makes_a_card_pending_again(
    store: Store, root: Root, put: Any
) -> None:
    model = store.model("m", DIM)
    put(store, root, "a.py", "# Mail.", "x = 1", names=("send",), kind="code")
    deal(store, model, a=[1, 0, 0, 0])
    put(store, root, "a.py", "# Mail.", "x = 2", names=("send",), kind="code")
    assert pending(store, model) == []
    for text, names in (("# Mail.", ("send", "receive")), ("# Post.", ("send", "receive"))):
        put(store, root, "a.py", text, "x = 2", names=names, kind="code")
        assert pending(store, model) == ["a.py"]
        assert store.nearest_cards(model, np.ones(DIM, np.float32), 5) == []
        deal(store, model, a=[1, 0, 0, 0])
    put(store, root, "a.py", "# Post.", "x = 2", names=("send", "receive"), kind="code", title="T")
    assert pending(store, model) == ["a.py"]


def test_another_author_makes_a_card_pending_again(store: Store, root: Root, put: Any) -> None:
    model = store.model("m", DIM)
    for author in ("Ada", "Grace"):
        put(store, root, "a.md", "text", metadata={"author": author, "created": "1843-01-01"})
        (card,) = store.pending_cards(model, 5)
        assert (card.author, card.year) == (author, 1843)
        deal(store, model, a=[1, 0, 0, 0])
        assert pending(store, model) == []
    put(store, root, "a.md", "text", metadata={"author": "Grace", "created": "1843-05-05"})
    assert pending(store, model) == []


def test_a_card_that_comes_after_its_document_changed_is_not_kept(
    store: Store, root: Root, put: Any
) -> None:
    model = store.model("m", DIM)
    put(store, root, "a.md", "old")
    identifier = put(store, root, "b.md", "old")
    late = store.pending_cards(model, 2)
    put(store, root, "a.md", "new")
    store.forget([identifier])
    store.put_cards(model, late, np.ones((2, DIM), np.float32))
    assert pending(store, model) == ["a.md"]
    assert store.check() == []


def test_a_card_goes_with_its_document_and_all_with_the_index(
    store: Store, root: Root, put: Any
) -> None:
    model = store.model("m", DIM)
    first = put(store, root, "a.md", "text a")
    put(store, root, "b.md", "text b")
    deal(store, model, a=[1, 0, 0, 0], b=[1, 0, 0, 0])
    store.forget([first])
    assert store.counts().cards[model] == 1
    store.forget_vectors()
    assert pending(store, model) == ["b.md"]
    deal(store, model, b=[1, 0, 0, 0])
    store.clear()
    assert store.counts().cards[model] == 0
    assert store.check() == []


def test_cards_of_another_dimension_are_refused(store: Store, root: Root, put: Any) -> None:
    model = store.model("m", DIM)
    put(store, root, "a.md", "text")
    cards = store.pending_cards(model, 1)
    wide = np.ones((1, DIM + 1), np.float32)
    with pytest.raises(ModelMismatch):
        store.put_cards(model, cards, wide)
    with pytest.raises(ModelMismatch):
        store.nearest_cards(model, wide[0], 1)
    with pytest.raises(ModelMismatch):
        store.card_cosines(model, wide[0], [1])


def test_a_card_of_wrong_length_is_found_by_the_check(store: Store, root: Root, put: Any) -> None:
    model = store.model("m", DIM)
    put(store, root, "a.md", "text")
    deal(store, model, a=[1, 0, 0, 0])
    store._database.rows("UPDATE cards SET embedding = x'00'")
    assert store.check() == ["1 file cards have a wrong length"]


def test_an_index_of_the_format_before_cards_gets_them(
    path: Path, tmp_path: Path, put: Any, before_step: Any
) -> None:
    with Store.open(path) as store:
        root = store.add_root(str(tmp_path / "project"))
        put(store, root, "a.md", "text")
        before_step(store, "_file_cards")
    with Store.open(path) as store:
        assert store._database.value("PRAGMA user_version") == VERSION
        model = store.model("m", DIM)
        assert pending(store, model) == ["a.md"]
        deal(store, model, a=[1, 0, 0, 0])
        assert pending(store, model) == []
        assert store.check() == []
