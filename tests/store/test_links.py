"""Links as written, and the names by which they and documents find each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_agent.store import Store
from rag_agent.store.migrations import VERSION
from rag_agent.types import Link, Root


def test_documents_are_found_by_the_names_that_links_give_them(
    store: Store, root: Root, put: Any
) -> None:
    note = put(store, root, "a/Über uns.md", "x", links=(Link("Plan#Part", 1, wiki=True),))
    plan = put(store, root, "b/PLAN.md", "x", links=(Link("../a/%C3%9Cber%20uns.md", 2),))
    assert [p.id for p in store.places_named(["plan"])["plan.md"]] == [plan]
    assert store.linking(["plan.md"]) == {note: False}
    assert store.linking(["über uns.md"]) == {plan: True}
    assert store.linking(["plan.pdf"]) == {}
    assert store.links_of([plan]) == {plan: [Link("../a/%C3%9Cber%20uns.md", 2)]}
    place = store.places([note])[note]
    assert place.absolute == f"{place.base}/a/Über uns.md"
    assert (place.base, place.shown) == (root.path.replace("\\", "/"), "a/Über uns.md")


def test_links_are_replaced_with_their_document_and_go_with_it(
    store: Store, root: Root, put: Any
) -> None:
    note = put(store, root, "a.md", "x", links=(Link("b", 1, wiki=True), Link("b.md", 2)))
    put(store, root, "a.md", "y", links=(Link("c", 1, wiki=True),))
    assert store.linking(["b.md"]) == {}
    assert store.linking(["c.md"]) == {note: False}
    store.forget([note])
    assert store.linking(["c.md"]) == {}
    put(store, root, "a.md", "x", links=(Link("b", 1, wiki=True),))
    store.clear()
    assert store.linking(["b.md"]) == {}


def test_a_root_that_is_a_file_is_a_document_in_its_folder(
    store: Store, tmp_path: Path, put: Any
) -> None:
    file = tmp_path / "project" / "alone.md"
    file.write_text("x", encoding="utf-8")
    root = store.add_root(str(file))
    note = put(store, root, "alone.md", "x")
    place = store.places([note])[note]
    assert place.absolute == Path(root.path).as_posix()
    assert place.base == Path(root.path).parent.as_posix()


def test_an_alias_is_found_among_names_and_forgotten_when_it_is_gone(
    store: Store, root: Root, put: Any
) -> None:
    note = put(store, root, "a.md", "text", aliases=("Home Harbour",))
    assert [found for found, _ in store.match_paths(["harbour"], 5)] == [note]
    put(store, root, "a.md", "text")
    assert store.match_paths(["harbour"], 5) == []
    assert store.check() == []


def test_an_index_of_the_format_before_links_gets_them(
    path: Path, tmp_path: Path, put: Any, before_step: Any
) -> None:
    with Store.open(path) as store:
        root = store.add_root(str(tmp_path / "project"))
        note = put(store, root, "A.md", "text", links=(Link("b#x", 1, wiki=True),))
        before_step(store, "_links")
    with Store.open(path) as store:
        assert store._database.value("PRAGMA user_version") == VERSION
        assert store.linking(["b.md"]) == {note: False}
        assert [place.id for place in store.places_named(["a"])["a.md"]] == [note]
        assert store.check() == []


def test_tags_are_asked_for_as_the_filter_does(store: Store, root: Root, put: Any) -> None:
    one = put(store, root, "a.md", "x", tags=("Work/Urgent",))
    put(store, root, "b.md", "x", tags=("workshop",))
    put(store, root, "c.md", "x")
    assert store.tagged(root, ["#work"]) == {one}
    assert store.tagged(root, ["WORK/urgent/"]) == {one}
    assert store.tagged(root, ["urgent"]) == set()
    assert store.tagged(root, []) == set()
