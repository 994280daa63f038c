from __future__ import annotations

from dataclasses import replace

from rag_agent.context.render import DEFAULT_TOKENS, render_results
from rag_agent.eval.reading import ASKED_FOR, Met, reading
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Chunk, Evidence, Hit, SearchResults

SURE = Evidence(0.7, 1.0, bm25=30.0, passage=0.9, words=4, familiar=0.5)


def chunk(path: str, start: int, end: int) -> Chunk:
    lines = (
        f"{path} is told of with some words, line {number}" for number in range(start, end + 1)
    )
    return Chunk(path, start, end, "\n".join(lines))


def hit(path: str, score: float, *ranges: tuple[int, int]) -> Hit:
    best, *more = (chunk(path, start, end) for start, end in ranges)
    return Hit(path, score, best, tuple(more), evidence=SURE)


def results(*hits: Hit) -> SearchResults:
    return SearchResults("words", "hybrid", hits, 1.0)


def tokens_to(text: str, line: str) -> int:
    """Of the answer as far as the line that begins so."""
    begin = text.index(f"\n{line}") + 1
    return estimate_tokens(text[: (text + "\n").index("\n", begin)])


def test_files_and_lines_are_met_where_the_answer_says_them() -> None:
    found = results(hit("a", 0.9, (3, 8), (20, 24)), hit("b", 0.8, (1, 2)))
    text, met = render_results(found), reading(found)
    assert met.keys() == {"a", "b"}
    assert met["a"].named == tokens_to(text, "1. a:3-8")
    assert met["b"].named == tokens_to(text, "2. b:1-2")
    numbers = [*range(3, 9), *range(20, 25)]
    assert met["a"].lines == {
        number: tokens_to(text, f"a is told of with some words, line {number}")
        for number in numbers
    }


def test_lines_that_the_default_answer_leaves_out_are_met_in_one_that_is_asked_for() -> None:
    found = results(hit("a", 2.0, (1, 90)), hit("b", 0.0, (1, 90)))
    text, b = render_results(found), reading(found)["b"]
    assert b.named == tokens_to(text, "2. b:1-90")
    early = {line for line, tokens in b.lines.items() if tokens <= DEFAULT_TOKENS}
    assert early == {n for n in range(1, 91) if f"b is told of with some words, line {n}\n" in text}
    assert len(early) < 90
    assert sorted(b.lines) == list(range(1, 91))
    assert {b.lines[line] for line in set(b.lines) - early} == {ASKED_FOR}


def test_copies_are_named_after_the_hit_and_read_with_it() -> None:
    copies = ("v2/a", "v3/a", "v4/a", "v5/a", "v6/a")
    doubles = tuple(hit(name, 0.8, (1, 2)) for name in copies)
    found = results(replace(hit("a", 0.9, (1, 2)), doubles=doubles))
    text, met = render_results(found), reading(found)
    # Only three of them are named.
    assert met.keys() == {"a", "v2/a", "v3/a", "v4/a"}
    assert met["v2/a"].named == tokens_to(text, "same as ")
    assert met["v2/a"].lines == met["a"].lines


def test_an_answer_with_nothing_in_it_meets_nothing() -> None:
    assert reading(results()) == {}
    assert Met().named is None
