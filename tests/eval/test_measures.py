"""Values computed by hand: the discounts are 1, 1/log2(3) = 0.630930, 1/2, 1/log2(5) = 0.430677."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.eval.measures import (
    Reader,
    chunk_ndcg,
    line_hit,
    line_hit_within,
    line_recall,
    line_recall_within,
    ndcg,
    read_within,
    recall,
    recall_within,
    reciprocal_rank,
    success,
)
from rag_agent.eval.run import Result
from rag_agent.eval.topics import Qrel


def place(path: str, start: int, end: int) -> Result:
    return Result(path, start, end, 0.0)


@pytest.mark.parametrize(
    ("ranking", "relevance", "expected"),
    [
        (["a"], {"a": 1}, 1.0),
        (["x", "a"], {"a": 1}, 0.630930),
        (["x", "a", "b"], {"a": 1, "b": 1}, 0.693426),  # (0.630930 + 0.5) / (1 + 0.630930)
        (["a", "b"], {"a": 1, "b": 2}, 0.796708),  # (1 + 3 * 0.630930) / (3 + 0.630930)
        (["x", "y"], {"a": 1}, 0.0),
        ([], {"a": 1}, 0.0),
        (["a"], {}, 0.0),
    ],
)
def test_ndcg_has_exponential_gain_and_a_log2_discount(
    ranking: list[str], relevance: dict[str, int], expected: float
) -> None:
    assert ndcg(ranking, relevance, 10) == pytest.approx(expected, abs=1e-6)


def test_ndcg_does_not_look_beyond_k_and_its_ideal_does_not_either() -> None:
    assert ndcg(["x", "a"], {"a": 1}, 1) == 0.0
    assert ndcg(["a"], {"a": 1, "b": 1}, 1) == 1.0


def test_recall_is_the_share_of_relevant_files_found() -> None:
    assert recall(["x", "a", "b"], {"a", "b", "c", "d"}, 2) == 0.25
    assert recall(["x", "a", "b"], {"a", "b", "c", "d"}, 3) == 0.5


def test_reciprocal_rank_counts_the_first_relevant_file_within_k() -> None:
    assert reciprocal_rank(["x", "y", "a", "b"], {"a", "b"}, 10) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y", "a"], {"a"}, 2) == 0.0


def test_success_is_one_as_soon_as_a_relevant_file_is_within_k() -> None:
    assert success(["x", "a"], {"a"}, 1) == 0.0
    assert success(["x", "a"], {"a"}, 2) == 1.0


def test_lines_hit_when_ranges_share_a_line_including_both_ends() -> None:
    target = [Qrel("a", 10, 20)]
    assert line_hit([place("a", 20, 30)], target, 5) == 1.0
    assert line_hit([place("a", 1, 10)], target, 5) == 1.0
    assert line_hit([place("a", 21, 30)], target, 5) == 0.0
    assert line_hit([place("b", 10, 20)], target, 5) == 0.0
    assert line_hit([place("b", 1, 2), place("a", 10, 20)], target, 1) == 0.0


def test_line_recall_is_the_share_of_ranges_found() -> None:
    targets = [Qrel("a", 1, 5), Qrel("a", 50, 60), Qrel("b", 1, 1), Qrel("c", 1, 1)]
    assert line_recall([place("a", 4, 9), place("b", 1, 9)], targets, 10) == 0.5


def test_chunks_of_a_file_that_was_found_take_up_ranks_in_chunk_ndcg() -> None:
    results = [place("a", 1, 9), place("a", 10, 19), place("b", 1, 9)]
    # (1 + 0.5) / (1 + 0.630930): b is third because a came twice.
    assert chunk_ndcg(results, [Qrel("a"), Qrel("b")], 10) == pytest.approx(0.919721, abs=1e-6)


def test_a_rank_gains_once_in_chunk_ndcg_though_it_covers_two_targets() -> None:
    targets = [Qrel("a", 1, 3), Qrel("a", 5, 7)]
    assert chunk_ndcg([place("a", 1, 9)], targets, 10) == pytest.approx(1 / 1.630930, abs=1e-6)


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 4)),
    st.integers(1, 12),
)
def test_measures_stay_between_0_and_1_and_the_ideal_order_is_the_best(
    ranking: list[str], relevance: dict[str, int], k: int
) -> None:
    ideal = sorted(relevance, key=lambda path: -relevance[path])
    assert 0.0 <= ndcg(ranking, relevance, k) <= ndcg(ideal, relevance, k) + 1e-12
    assert ndcg(ideal, relevance, k) == pytest.approx(float(bool(relevance)))
    for measure in (recall, reciprocal_rank, success):
        assert 0.0 <= measure(ranking, relevance, k) <= 1.0


# An answer: the place of a, two lines of it, the place of x, the place of b and a line of it.
ANSWER = [
    Result("a", 1, 9, 0.9, 300, named=20, lines=[(1, 30), (2, 45)]),
    Result("x", 1, 9, 0.8, 150, named=60, lines=[]),
    Result("b", 1, 9, 0.7, 100, named=80, lines=[(7, 95)]),
    Result("c", 1, 9, 0.6, 20),
]


@pytest.mark.parametrize(
    ("budget", "named", "read"),
    [
        (19, "", ""),
        (20, "a", ""),
        (29, "a", ""),
        (30, "a", "a"),
        (60, "ax", "a"),
        (94, "abx", "a"),
        (95, "abx", "ab"),
        (10_000, "abx", "ab"),
    ],
)
def test_a_file_is_named_by_its_place_and_read_with_its_first_line(
    budget: int, named: str, read: str
) -> None:
    reader = Reader(ANSWER)
    assert "".join(sorted(reader.names(budget))) == named
    assert "".join(sorted(reader.reads(budget))) == read


def test_recall_within_a_budget_is_told_by_both_rules() -> None:
    reader = Reader(ANSWER)
    assert recall_within(reader, {"a", "b"}, 80) == 1.0
    assert read_within(reader, {"a", "b"}, 80) == 0.5
    assert recall_within(reader, {"a", "c"}, 10_000) == 0.5
    assert recall_within(reader, set(), 80) == read_within(reader, set(), 80) == 0.0


def test_labelled_lines_are_reached_where_one_of_them_has_been_read() -> None:
    reader = Reader(ANSWER)
    targets = [Qrel("a", 2, 6), Qrel("b", 8, 9), Qrel("x", 1, 9)]
    assert line_recall_within(reader, targets, 44) == 0.0
    assert line_recall_within(reader, targets, 45) == pytest.approx(1 / 3)
    assert line_recall_within(reader, targets, 10_000) == pytest.approx(1 / 3)
    assert line_recall_within(reader, [], 45) == 0.0
    assert line_hit_within(reader, targets, 44) == 0.0
    assert line_hit_within(reader, targets, 45) == 1.0
    assert line_hit_within(reader, targets[1:], 10_000) == 0.0


def test_a_target_without_lines_is_met_with_any_line_of_its_file() -> None:
    reader = Reader(ANSWER)
    assert reader.meets(Qrel("b"), 95)
    assert not reader.meets(Qrel("b"), 94)
    assert not reader.meets(Qrel("x"), 10_000)


PLACES = [
    Result("a", 1, 9, 0.9, 300),
    Result("x", 1, 9, 0.8, 150),
    Result("b", 1, 9, 0.7, 100),
    Result("c", 1, 9, 0.6, 20),
]


@pytest.mark.parametrize(
    ("budget", "read"),
    [(299, ""), (300, "a"), (449, "a"), (450, "ax"), (549, "ax"), (550, "axb"), (570, "axbc")],
)
def test_whole_places_are_read_in_their_order_until_the_budget_is_spent(
    budget: int, read: str
) -> None:
    # At 549 c would still fit, but b before it does not.
    reader = Reader(PLACES, whole=True)
    assert reader.names(budget) == reader.reads(budget) == set(read)


def test_whole_places_count_a_file_once_and_their_lines_at_their_end() -> None:
    twice = Reader([PLACES[0], Result("a", 20, 29, 0.8, 10), PLACES[2]], whole=True)
    assert recall_within(twice, {"a", "b"}, 310) == 0.5
    assert recall_within(twice, {"a", "b"}, 410) == 1.0
    targets = [Qrel("a", 5, 6), Qrel("b", 20, 21), Qrel("c", 9, 12)]
    reader = Reader(PLACES, whole=True)
    assert line_recall_within(reader, targets, 450) == pytest.approx(1 / 3)
    assert line_recall_within(reader, targets, 570) == pytest.approx(2 / 3)


def test_places_of_unknown_cost_are_not_read() -> None:
    reader = Reader([PLACES[0], place("b", 1, 9)], whole=True)
    assert recall_within(reader, {"a", "b"}, 10_000) == 0.5


_OFFSETS = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 900)), max_size=4)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.integers(0, 900), st.none() | st.integers(0, 900), _OFFSETS
        ),
        max_size=12,
    ),
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.booleans(),
)
def test_a_larger_budget_never_finds_less_and_nothing_is_read_that_is_not_named(
    rows: list[tuple[str, int, int | None, list[tuple[int, int]]]],
    budget: int,
    more: int,
    whole: bool,
) -> None:
    reader = Reader([Result(row[0], 1, 9, 0.0, *row[1:]) for row in rows], whole=whole)
    for measure in (recall_within, read_within):
        found = measure(reader, {"a", "b"}, budget)
        assert 0.0 <= found <= measure(reader, {"a", "b"}, budget + more) <= 1.0
    assert read_within(reader, {"a", "b"}, budget) <= recall_within(reader, {"a", "b"}, budget)
    targets = [Qrel("a", 2, 5), Qrel("b", 9, 30)]
    assert line_recall_within(reader, targets, budget) <= line_recall_within(
        reader, targets, budget + more
    )
