"""Links followed through any number of notes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_agent.errors import QueryError
from rag_agent.links import DEEPEST, Graph, locate, nearness, neighbours
from rag_agent.store import Store
from rag_agent.types import Document, Link, Source

_NAMES = ("a.md", "b.md", "c.md", "d/a.md", "d/e.md", "f/e.md", "g.pdf")
_TARGETS = ("a", "b", "c.md", "e", "d/a", "f/e", "g.pdf", "nowhere", "./e", "../a")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


def store_of(folder: Path, links: dict[str, list[str]]) -> Store:
    store = Store.open(folder / f"{next(_numbers)}.db")
    root = store.add_root(str(folder))
    for path, targets in links.items():
        written = tuple(Link(target, line, True) for line, target in enumerate(targets, start=1))
        document = Document(path=path, kind="prose", text="text", links=written)
        store.put(root, document, Source(1, 1, "0" * 64), [])
    return store


_vaults = st.dictionaries(
    st.sampled_from(_NAMES), st.lists(st.sampled_from(_TARGETS), max_size=4), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(links=_vaults, depth=st.integers(1, DEEPEST))
def test_neighbours_are_all_that_links_reach_each_at_its_distance(
    folder: Path, links: dict[str, list[str]], depth: int
) -> None:
    with store_of(folder, links) as store:
        documents = {d.path: d.id for d in store.documents(store.roots()[0]).values()}
        graph = Graph(store)
        targets = graph.targets(documents.values())
        sources = graph.sources(documents.values())
        pairs = {(one, other) for one, found in targets.items() for other in found}
        assert pairs == {(other, one) for one, found in sources.items() for other in found}
        assert all(one != other for one, other in pairs)
        for start in documents.values():
            distance = {start: 0}
            for step in range(1, depth + 1):
                around = {
                    b
                    for pair in pairs
                    for a, b in (pair, pair[::-1])
                    if distance.get(a) == step - 1 and b not in distance
                }
                distance.update(dict.fromkeys(around, step))
            # A graph that knows nothing yet: what was asked before must make no difference.
            reached = neighbours(Graph(store), start, depth)
            assert {one.place.id: one.depth for one in reached} == {
                document: far for document, far in distance.items() if far
            }
            assert len(reached) == len(distance) - 1
            assert [one.depth for one in reached] == sorted(one.depth for one in reached)
            for one in reached:
                assert one.forward == ((one.via.id, one.place.id) in pairs)
                assert one.back == ((one.place.id, one.via.id) in pairs)
                assert distance[one.via.id] == one.depth - 1


@pytest.fixture
def chain(folder: Path) -> Store:
    return store_of(
        folder, {"a.md": ["b"], "b.md": ["c"], "c.md": ["e"], "e.md": ["h"], "h.md": []}
    )


def test_nearness_halves_with_each_link_up_to_three(chain: Store) -> None:
    by_path = {p.shown: p.id for found in (chain.places(range(1, 9)),) for p in found.values()}
    near = nearness(chain, ["a.md"])
    assert near == {by_path["b.md"]: 1.0, by_path["c.md"]: 0.5, by_path["e.md"]: 0.25}
    both = nearness(chain, ["a.md", "e.md"])
    assert both[by_path["c.md"]] == 1.0  # the nearer of the two counts
    assert both[by_path["h.md"]] == 1.0


def test_of_a_hub_only_what_is_near_counts(folder: Path) -> None:
    leaves = {f"leaf {number}.md": ["far"] for number in range(250)}
    hub = {"hub.md": [path.removesuffix(".md") for path in leaves], "far.md": []}
    with store_of(folder, {**hub, **leaves}) as store:
        assert set(nearness(store, ["hub.md"]).values()) == {1.0}
        found = neighbours(Graph(store), locate(store, "hub.md").id, 2)
        assert [one.place.shown for one in found if one.depth == 2] == ["far.md"]


def test_an_end_of_a_path_is_whole_names(chain: Store) -> None:
    assert locate(chain, "B").shown == "b.md"
    with pytest.raises(QueryError):
        locate(chain, ".md")
    with pytest.raises(QueryError):
        locate(chain, "")


def test_a_path_below_the_present_folder_comes_before_ends_of_paths(folder: Path) -> None:
    with store_of(folder, {"x/n.md": [], "y/n.md": []}) as store:
        assert locate(store, "n.md", f"{folder.as_posix()}/y").shown == "y/n.md"
        with pytest.raises(QueryError, match=r"may be x/n\.md, y/n\.md; give more"):
            locate(store, "n.md")


def test_two_names_that_differ_by_case_only_are_told_apart_as_they_are_written(
    folder: Path,
) -> None:
    with store_of(folder, {"Note.md": [], "note.md": []}) as store:
        assert locate(store, "Note.md").shown == "Note.md"
        assert locate(store, "note.md").shown == "note.md"
