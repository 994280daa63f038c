"""Values computed by hand: the discounts are 1, 1/log2(3) = 0.630930, 1/2, 1/log2(5) = 0.430677."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.eval.measures import (
    chunk_ndcg,
    line_hit,
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


READ = [
    Result("a", 1, 9, 0.9, 300),
    Result("x", 1, 9, 0.8, 150),
    Result("b", 1, 9, 0.7, 100),
    Result("c", 1, 9, 0.6, 20),
]


@pytest.mark.parametrize(
    ("budget", "read"),
    [(299, ""), (300, "a"), (449, "a"), (450, "ax"), (549, "ax"), (550, "axb"), (570, "axbc")],
)
def test_places_are_read_in_their_order_until_the_budget_is_spent(budget: int, read: str) -> None:
    # At 549 c would still fit, but b before it does not.
    assert "".join(place.path for place in read_within(READ, budget)) == read


def test_recall_within_a_budget_counts_files_once_and_only_those_read() -> None:
    twice = [READ[0], Result("a", 20, 29, 0.8, 10), READ[2]]
    assert recall_within(twice, {"a", "b"}, 310) == 0.5
    assert recall_within(twice, {"a", "b"}, 410) == 1.0
    assert recall_within(twice, set(), 410) == 0.0


def test_line_recall_within_a_budget_wants_the_lines() -> None:
    targets = [Qrel("a", 5, 6), Qrel("b", 20, 21), Qrel("c", 9, 12)]
    assert line_recall_within(READ, targets, 450) == pytest.approx(1 / 3)
    assert line_recall_within(READ, targets, 570) == pytest.approx(2 / 3)
    assert line_recall_within(READ, [], 570) == 0.0


def test_places_of_unknown_cost_are_not_read() -> None:
    assert recall_within([READ[0], place("b", 1, 9)], {"a", "b"}, 10_000) == 0.5


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 900)), max_size=12),
    st.integers(0, 3000),
    st.integers(0, 3000),
)
def test_a_larger_budget_never_finds_less(
    costs: list[tuple[str, int]], budget: int, more: int
) -> None:
    results = [Result(path, 1, 9, 0.0, tokens) for path, tokens in costs]
    found = recall_within(results, {"a", "b"}, budget)
    assert 0.0 <= found <= recall_within(results, {"a", "b"}, budget + more) <= 1.0
    assert sum(place.tokens or 0 for place in read_within(results, budget)) <= budget
