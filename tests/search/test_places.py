from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rag_agent.search import SearchOptions, search
from rag_agent.store import Store

if TYPE_CHECKING:
    from rag_agent.types import Matrix, Vector


@dataclass(frozen=True)
class Compass:
    """An embedder whose question points to 0 degrees."""

    fingerprint: str = "compass"
    dim: int = 2

    def embed_passages(self, texts: Any) -> Matrix:
        raise AssertionError("a search embeds no passages")

    def embed_query(self, text: str) -> Vector:
        return direction(0)


def direction(degrees: float) -> Vector:
    radians = np.radians(degrees)
    return np.array([np.cos(radians), np.sin(radians)], dtype=np.float32)


def point(store: Store, degrees: Mapping[int, float], rest: float = 89) -> None:
    """Give the chunks of the only file, by their number, a direction; without one, ``rest``."""
    (document,) = store.documents(store.roots()[0]).values()
    ids = [chunk.id for chunk in store.chunks_of(document.id)]
    vectors = np.stack([direction(degrees.get(place, rest)) for place in range(len(ids))])
    store.put_vectors(store.model(Compass.fingerprint, Compass.dim), ids, vectors)


def starts(store: Store, query: str, alpha: float = 0.4, *, words: bool = False) -> list[int]:
    """The first lines of what the only hit shows, best first."""
    embedder = None if words else Compass()
    results = search(store, query, embedder=embedder, options=SearchOptions(alpha))
    (hit,) = results.hits
    return [chunk.start for chunk in (hit.chunk, *hit.more)]


def lines_of(store: Store) -> list[int]:
    """Where the chunks of the only file start."""
    (document,) = store.documents(store.roots()[0]).values()
    return [stored.chunk.start for stored in store.chunks_of(document.id)]


def function(name: str, line: str, lines: int = 45) -> str:
    return f"def {name}():\n" + "".join(f"    {line}\n" for _ in range(lines)) + "\n\n"


def prose(*sections: str) -> str:
    """A document with a chunk a section, each of about 1,700 characters."""
    filler = "Nothing of interest is said here at all.\n" * 40
    return "".join(f"# Part {n}\n\n{text}\n{filler}\n" for n, text in enumerate(sections))


def test_the_definition_of_a_name_is_shown_before_what_only_uses_it(indexed: Any) -> None:
    use = function("caller", "x = 1", 40).rstrip() + "\n    return retry_policy(retry_policy)\n\n\n"
    code = use + function("retry_policy", "x = 1")
    store = indexed({"a.py": code})
    assert starts(store, "where does retry_policy wait", words=True) == lines_of(store)[::-1]


def test_a_defined_name_that_is_like_the_question_is_shown_first(indexed: Any) -> None:
    use = function("first", "x = 1", 40).rstrip() + "\n    return wait(retry)\n\n\n"
    code = use + function("wait_for_retry", "x = 1") + function("third", "x = 1")
    store = indexed({"a.py": code})
    assert starts(store, "how long to wait for a retry", words=True)[0] == lines_of(store)[1]


@pytest.mark.parametrize("words", [True, False])
def test_a_line_that_the_question_gives_is_shown_before_all_else(
    indexed: Any, *, words: bool
) -> None:
    others = "".join(function(f"f{n}", "x = 1") for n in range(6))
    code = function("retry", "retry(policy)") + others
    store = indexed({"a.py": code})
    point(store, {0: 0})
    trace = 'retry policy failed\n  File "/srv/app/a.py", line {}, in f\n    retry(policy)'
    for start in lines_of(store)[1:]:
        assert starts(store, trace.format(start + 30), words=words) == [start, 1]  # by its name
        assert starts(store, f"why does a.py:{start} fail", words=words) == [start]
    assert starts(store, trace.format(9999), words=words)[0] == 1
    (hit,) = search(store, trace.format(9), embedder=None).hits
    assert hit.given == (9,)


def test_a_list_of_declarations_comes_after_a_definition_with_a_body(indexed: Any) -> None:
    declarations = "".join(f"def stub_{n}(): flush(buffer)\n" for n in range(48))
    definition = function("write", "flush(buffer)", 20).rstrip() + "\n    x = 1" * 25
    code = declarations + "\n\n" + definition
    store = indexed({"a.py": code})
    point(store, {}, rest=30)
    assert len(lines_of(store)) == 2
    assert starts(store, "which function flushes a buffer")[0] == lines_of(store)[1]


def test_beside_an_answer_in_meaning_a_chunk_of_code_is_shown_first(indexed: Any) -> None:
    code = "".join(function(f"f{n}", "flush(buffer)") for n in range(6))
    store = indexed({"a.py": code})
    point(store, {4: 0})
    first, second = starts(store, "flush the buffer")[:2]
    assert first == lines_of(store)[4]
    assert second == lines_of(store)[3]  # as far as 0, 1 and 2, and next to it


def test_a_document_is_not_judged_by_what_stands_beside(indexed: Any) -> None:
    store = indexed({"a.md": prose(*["The buffer is flushed."] * 5)})
    point(store, {3: 0})
    first, second = starts(store, "flush the buffer")[:2]
    assert first == lines_of(store)[3]
    assert second == lines_of(store)[0]  # the first of those that are alike


def test_alpha_leads_from_meaning_alone_to_words_alone(indexed: Any) -> None:
    store = indexed({"a.md": prose("Flush the buffer, flush the buffer.", "The buffer.", "Else.")})
    point(store, {1: 0})
    by_words, by_meaning, _ = lines_of(store)
    assert starts(store, "flush the buffer", alpha=1.0)[0] == by_words
    assert starts(store, "flush the buffer", alpha=0.0)[0] == by_meaning


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_without_vectors_words_choose_whatever_alpha_is(indexed: Any, alpha: float) -> None:
    code = "".join(function(f"f{n}", "flush(buffer)", 44 + (n == 4)) for n in range(6))
    code = code.replace("def f4():", "def f4():  # flushes: buffers, buffer")
    store = indexed({"a.py": code})
    first, second = starts(store, "flush the buffer", alpha, words=True)[:2]
    assert first == lines_of(store)[4]
    assert second == lines_of(store)[0]  # the first of those that are alike


def test_words_stand_for_the_meaning_of_a_chunk_without_a_vector(indexed: Any) -> None:
    text = prose("Flush the buffer, flush the buffer.", "Flush the buffer.", "A buffer.")
    store = indexed({"a.md": text})
    (document,) = store.documents(store.roots()[0]).values()
    _, second, third = (chunk.id for chunk in store.chunks_of(document.id))
    model = store.model(Compass.fingerprint, Compass.dim)
    store.put_vectors(model, [second, third], np.stack([direction(0), direction(80)]))
    assert starts(store, "flush the buffer")[0] == lines_of(store)[0]


def test_a_chunk_that_says_little_is_not_shown_beside_the_answer(indexed: Any) -> None:
    filler = "Nothing of interest is said here.\n" * 50
    store = indexed(
        {"a.md": f"# One\n\nFlush the ring buffer.\n{filler}\n# Two\n\nRing.\n{filler}"}
    )
    assert starts(store, "how to flush the buffer of a ring", words=True) == lines_of(store)[:1]
