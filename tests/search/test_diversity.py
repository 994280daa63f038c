from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.search import search
from rag_agent.search.diversity import collapse
from rag_agent.types import Chunk, Hit, Root, Source, StoredDocument

WORDS = [f"word{number}" for number in range(120)]
TEXT = "\n".join(" ".join(WORDS[start : start + 6]) for start in range(0, 120, 6))


def hit(path: str, text: str, score: float = 1.0, chunks: int = 4) -> Hit:
    document = StoredDocument(
        1, Root(1, "/a"), path, "code", "", "", Source(1, 1, ""), chunks, converted=False
    )
    return Hit(path, score, Chunk(path, 1, text.count("\n") + 1, text), document=document)


def changed(words: int) -> str:
    """The text with so many of its words changed, far apart."""
    new = list(WORDS)
    for number in range(words):
        new[number * (len(new) // max(words, 1))] = "other"
    return " ".join(new)


def test_a_copy_is_named_by_the_better_hit_and_takes_no_place() -> None:
    hits = [hit("a", TEXT), hit("vendor/a", TEXT), hit("b", TEXT.upper()), hit("old/a", TEXT)]
    kept = collapse(hits, 2)
    assert [found.path for found in kept] == ["a", "b"]
    assert kept[0].copies == ("vendor/a",)  # the fourth was not needed
    assert [found.copies for found in collapse(hits, 9)] == [("vendor/a", "old/a"), ()]


@pytest.mark.parametrize(("words", "is_copy"), [(0, True), (3, True), (12, False), (60, False)])
def test_a_passage_is_a_copy_while_few_of_its_words_differ(words: int, is_copy: bool) -> None:
    assert (len(collapse([hit("v1/a", TEXT), hit("v2/a", changed(words))], 5)) == 1) == is_copy


def test_line_breaks_and_indentation_make_no_difference() -> None:
    assert len(collapse([hit("a", TEXT), hit("b", TEXT.replace("\n", "\n\n    "))], 5)) == 1


def test_short_passages_are_copies_only_if_they_are_equal() -> None:
    one, same, other = (
        hit("a", "export * from x"),
        hit("b", "export * from x"),
        hit("c", "export *"),
    )
    assert [found.path for found in collapse([one, other, same], 5)] == ["a", "c"]


def test_a_part_of_something_larger_is_no_copy_of_it() -> None:
    assert len(collapse([hit("all.hpp", TEXT, chunks=90), hit("a.hpp", TEXT, chunks=4)], 5)) == 2


@given(st.lists(st.sampled_from([TEXT, changed(2), changed(40), "x", "y", ""])), st.integers(1, 9))
def test_every_hit_that_was_met_is_kept_or_named_and_the_order_stays(
    texts: list[str], limit: int
) -> None:
    hits = [hit(str(number), text) for number, text in enumerate(texts)]
    kept = collapse(iter(hits), limit)
    order = [int(found.path) for found in kept]
    assert order == sorted(order)
    assert len(kept) <= limit
    named = {path for found in kept for path in (found.path, *found.copies)}
    assert len(named) == sum(1 + len(found.copies) for found in kept)
    assert named == {found.path for found in hits[: len(named)]}


def test_a_search_shows_the_next_file_in_the_place_of_a_copy(indexed: Any) -> None:
    parser = "def parse_query(text):\n    " + "\n    ".join(f"step_{n}(text)" for n in range(20))
    store = indexed(
        {
            "src/parse.py": parser,
            "vendor/lib/parse.py": parser,
            "src/other.py": "def other():\n    '''Calls parse_query.'''\n",
        }
    )
    results = search(store, "parse_query", embedder=None, limit=2)
    assert [found.path for found in results] == ["src/parse.py", "src/other.py"]
    assert results.hits[0].copies == ("vendor/lib/parse.py",)


def test_files_behind_many_copies_are_found(indexed: Any) -> None:
    same = "def parse(query):\n    '''Parse the query string of an address.'''\n    return query\n"
    files = {f"vendored/copy{number}/parse.py": same for number in range(60)}
    others = {
        f"lib/{name}.md": f"The {name} of a query is something that nobody parses, {name}. " * 4
        for name in ("colour", "sound", "weight", "height", "smell")
    }
    results = search(indexed(files | others), "parse the query string", embedder=None, limit=6)
    assert sorted(hit.path for hit in results.hits[1:]) == sorted(others)
    assert len(results.hits[0].copies) == 59
