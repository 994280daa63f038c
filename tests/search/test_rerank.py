from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.embed.loading import LateModel
from rag_agent.errors import EmbedError
from rag_agent.search import explain, search
from rag_agent.search.hybrid import Scored
from rag_agent.search.rerank import Reranking
from rag_agent.types import Reranker

FILES = {
    "a.py": "def alpha():\n    return 'parse the query'\n",
    "b.py": "def beta():\n    return 'parse it'\n",
    "c.py": "def gamma():\n    return 'parse the query string query'\n",
}


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Scores:
    """A reranker that takes its scores from a table, and its time from a clock."""

    name = "a table"

    def __init__(self, table: dict[str, float], clock: Clock, seconds: float = 0.0) -> None:
        self.table = table
        self.clock = clock
        self.seconds = seconds
        self.read: list[str] = []

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.clock.now += self.seconds * len(texts)
        self.read += texts
        return [self.table.get(text, 0.0) for text in texts]


def scored(name: str, score: float) -> Scored:
    return Scored(SimpleNamespace(shown_path=name), {"words": score})  # type: ignore[arg-type]


def name_of(one: Scored) -> str:
    return one.file.shown_path


def names(ranked: Sequence[Scored]) -> list[str]:
    return [name_of(one) for one in ranked]


def late(reranker: Reranker) -> LateModel[Reranker]:
    return LateModel(lambda: reranker)


RANKED = [scored("a", 4.0), scored("b", 3.0), scored("c", 2.0), scored("d", 1.0)]
MANY = [scored(f"{place:02}", -place) for place in range(30)]


def test_the_models_scores_order_the_best_and_leave_the_rest_behind() -> None:
    clock = Clock()
    table = Scores({"a": -3.0, "b": 5.0, "c": 7.0, "d": 99.0}, clock)
    ranked, notes = Reranking(late(table), 3, 1.0, clock=clock).rerank("q", RANKED, name_of)
    assert (names(ranked), notes) == (["c", "b", "a", "d"], ())
    assert table.read == ["a", "b", "c"]
    # Places keep their scores, so that scores go on ordering the hits.
    assert [one.score for one in ranked] == [4.0, 3.0, 2.0, 1.0]
    assert [one.signals.get("reranker") for one in ranked] == [2.0, 0.0, -2.0, None]


def test_equals_stay_in_their_order() -> None:
    clock = Clock()
    table = Scores({"a": 1.0, "b": 1.0, "c": 2.0, "d": 1.0}, clock)
    ranked, _ = Reranking(late(table), 30, 1.0, clock=clock).rerank("q", RANKED, name_of)
    assert names(ranked) == ["c", "a", "b", "d"]


@given(st.lists(st.floats(-10, 10), max_size=12), st.integers(2, 15), st.randoms())
def test_nothing_is_lost_and_scores_still_order(values: list[float], top: int, random: Any) -> None:
    clock = Clock()
    before = [scored(str(place), value) for place, value in enumerate(sorted(values)[::-1])]
    table = Scores({name_of(one): random.random() for one in before}, clock)
    after, notes = Reranking(late(table), top, 1.0, clock=clock).rerank("q", before, name_of)
    assert sorted(names(after)) == sorted(names(before))
    assert names(after)[top:] == names(before)[top:]
    scores = [one.score for one in before]
    assert [one.score for one in after] == pytest.approx(scores, abs=1e-9)
    assert notes == ()


def test_when_the_time_is_over_the_list_is_as_it_was_and_a_note_says_so() -> None:
    clock = Clock()
    table = Scores({"11": 1.0}, clock, seconds=0.125)  # which adds up exactly
    ranked, notes = Reranking(late(table), 30, 1.0, clock=clock).rerank("q", MANY[:12], name_of)
    assert ranked == MANY[:12]
    (note,) = notes
    assert "1,000 ms (ragRerankBudgetMs)" in note
    assert "8 of 12 files" in note
    assert table.read == names(MANY[:8])


def test_a_model_far_too_slow_is_given_up_before_the_time_is_over() -> None:
    clock = Clock()
    table = Scores({}, clock, seconds=0.1)
    ranked, notes = Reranking(late(table), 30, 1.4, clock=clock).rerank("q", MANY, name_of)
    assert (ranked, len(notes)) == (MANY, 1)
    assert len(table.read) == 4  # 30 would take 3 seconds


def test_slow_first_texts_are_not_held_against_the_others() -> None:
    clock = Clock()
    table = Scores({"07": 1.0}, clock, seconds=0.2)
    read = table.scores

    def slow_at_first(query: str, texts: Sequence[str]) -> list[float]:
        found = read(query, texts)
        table.seconds = 0.01
        return found

    table.scores = slow_at_first  # type: ignore[method-assign]
    ranked, notes = Reranking(late(table), 30, 1.0, clock=clock).rerank("q", MANY[:8], name_of)
    assert (names(ranked)[0], notes) == ("07", ())


def test_asked_again_it_reads_only_what_is_new() -> None:
    clock = Clock()
    table = Scores({"c": 1.0, "e": 2.0}, clock)
    reranking = Reranking(late(table), 30, 1.0, clock=clock)
    reranking.rerank("q", RANKED, name_of)
    ranked, _ = reranking.rerank("q", [*RANKED[:2], scored("e", 0.5)], name_of)
    assert names(ranked) == ["e", "a", "b"]
    assert table.read == ["a", "b", "c", "d", "e"]


def test_asked_again_it_has_the_time_that_is_left() -> None:
    clock = Clock()
    table = Scores({}, clock, seconds=0.1)
    reranking = Reranking(late(table), 30, 1.0, clock=clock)
    assert reranking.rerank("q", MANY[:8], name_of)[1] == ()
    clock.now += 60  # of a sync in between
    _, notes = reranking.rerank("q", MANY[:16], name_of)
    assert "12 of 16" in notes[0]


def test_one_hit_alone_is_not_read() -> None:
    clock = Clock()
    table = Scores({}, clock)
    assert Reranking(late(table), 30, 1.0, clock=clock).rerank("q", RANKED[:1], name_of) == (
        RANKED[:1],
        (),
    )
    assert table.read == []


def test_why_it_cannot_be_loaded_is_said_and_the_order_stays() -> None:
    def load() -> Reranker:
        raise EmbedError("reranker x is gone; set ragReranker to another")

    ranked, notes = Reranking(LateModel(load), 30, 60.0).rerank("q", RANKED, name_of)
    assert ranked == RANKED
    assert notes == ("Not reranked: reranker x is gone; set ragReranker to another.",)


def test_a_model_that_fails_leaves_the_order_and_says_so() -> None:
    class Broken:
        name = "broken"

        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            raise EmbedError("reranker broken failed (ValueError: no)")

    ranked, notes = Reranking(late(Broken()), 30, 60.0).rerank("q", RANKED, name_of)
    assert ranked == RANKED
    assert notes == ("Not reranked: reranker broken failed (ValueError: no).",)


def test_a_search_gives_it_the_best_chunk_below_its_path(indexed: Any) -> None:
    clock = Clock()
    table = Scores({}, clock)
    search(
        indexed(FILES), "parse", embedder=None, reranking=Reranking(late(table), 2, 1, clock=clock)
    )
    assert len(table.read) == 2
    assert {text.partition("\n")[0] for text in table.read} < set(FILES)
    assert all("parse" in text for text in table.read)


def test_a_search_asks_for_more_files_than_it_gives(indexed: Any) -> None:
    store, clock = indexed(FILES), Clock()
    plain = search(store, "parse the query string", embedder=None)
    assert [hit.path for hit in plain] == ["c.py", "a.py", "b.py"]
    table = Scores({}, clock)
    reranking = Reranking(late(table), 30, 1, clock=clock)
    search(store, "parse the query string", embedder=None, reranking=reranking)
    table.table = {table.read[2]: 1.0}
    reranking = Reranking(late(table), 30, 1, clock=clock)
    (hit,) = search(
        store, "parse the query string", embedder=None, limit=1, reranking=reranking
    ).hits
    assert hit.path == "b.py"
    assert hit.score == pytest.approx(plain.hits[0].score)
    assert any("reranker" in line for line in explain(hit))


def test_a_reranker_is_asked_once_where_copies_leave_too_few_files(indexed: Any) -> None:
    asked: list[int] = []

    class Counted(Reranking):
        def rerank(self, *given: Any) -> Any:
            asked.append(len(given[1]))
            return super().rerank(*given)

    same = "def alpha():\n    return 'parse the query'\n"
    store = indexed({f"copy{number}/a.py": same for number in range(90)} | FILES)
    clock = Clock()
    reranking = Counted(late(Scores({}, clock)), 20, 5.0, clock=clock)
    found = search(store, "parse the query", embedder=None, limit=9, reranking=reranking)
    assert len(found.hits) < 9
    assert asked == [93]
