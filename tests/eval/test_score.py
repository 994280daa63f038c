"""Two repositories of unequal size, so that micro and macro differ; values computed by hand."""

from __future__ import annotations

import pytest

from rag_agent.eval import (
    Qrel,
    Result,
    Topic,
    compare_runs,
    comparison_table,
    latency,
    recall_curve,
    score_run,
    score_table,
)


def topic(number: int, repo: str, *relevant: Qrel, kind: str = "semantic") -> Topic:
    return Topic(f"t{number}", "q", relevant, "semble", repo, "go", kind, "dev")


def files(*paths: str) -> list[Result]:
    return [Result(path, 1, 50, 0.0) for path in paths]


TOPICS = [
    topic(1, "chi", Qrel("a.go"), Qrel("b.go", primary=False)),
    topic(2, "chi", Qrel("c.go", 60, 70), kind="symbol"),
    topic(3, "click", Qrel("d.py", 40, 45)),
    Topic("t4", "a question without labels"),
]
RUN = {
    "t1": files("x.go", "b.go", "b.go", "a.go"),
    "t2": files("c.go", "y.go"),
    "t3": files("z.py", "d.py"),
}


def total(measure: str, mean: str) -> float:
    return float(score_run(TOPICS, RUN)["total"][measure][mean])


# t1: files x, b, a -> (0.630930 + 0.5) / 1.630930 = 0.693426; t2: 1; t3: 0.630930.
# The values of the shared scorer for the same run: micro 0.7748, macro 0.7388.
def test_topics_are_averaged_over_all_and_over_repositories() -> None:
    assert total("ndcg10", "micro") == pytest.approx(0.774785, abs=1e-6)
    assert total("ndcg10", "macro") == pytest.approx((0.846713 + 0.630930) / 2, abs=1e-6)


def test_a_file_has_the_highest_grade_of_its_places_in_whatever_order() -> None:
    graded = [Qrel("a.go", 1, 9, relevance=3), Qrel("a.go", 20, 29), Qrel("b.go", relevance=2)]
    run = {"t1": files("b.go", "a.go")}
    # b has the gain 3, a that of 7: (3 + 7 * 0.630930) / (7 + 3 * 0.630930) = 0.833991.
    for places in (graded, graded[::-1]):
        scored = score_run([topic(1, "chi", *places)], run)["total"]
        assert scored["ndcg10"]["micro"] == pytest.approx(0.833991, abs=1e-6)
        assert scored["ndcg10_primary"]["micro"] == pytest.approx(0.833991, abs=1e-6)


def test_a_secondary_file_takes_no_rank_from_the_primary_one() -> None:
    # t1: x, a -> 0.630930; t2: 1; t3: 0.630930.
    assert total("ndcg10_primary", "micro") == pytest.approx(0.753953, abs=1e-6)


def test_chunks_are_not_gathered_by_file_in_the_chunk_protocol() -> None:
    # t1: b at 2, a at 4 -> (0.630930 + 0.430677) / 1.630930 = 0.650921; t2: lines missed -> 0.
    assert total("ndcg10_chunk", "micro") == pytest.approx((0.650921 + 0.630930) / 3, abs=1e-6)


def test_recall_reciprocal_rank_and_first_hit() -> None:
    assert total("recall10", "micro") == 1.0
    assert total("mrr10", "micro") == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert total("hit1", "micro") == pytest.approx(1 / 3)


def test_lines_count_only_for_topics_that_have_lines() -> None:
    scored = score_run(TOPICS, RUN)["total"]["line_hit10"]
    assert (scored["n"], scored["micro"]) == (2, 0.5)


def test_topics_without_labels_do_not_count_and_missing_ones_score_0() -> None:
    scored = score_run(TOPICS, {"t2": RUN["t2"]})
    assert (scored["n"], scored["missing"], scored["repositories"]) == (3, 2, 2)
    assert scored["total"]["ndcg10"]["micro"] == pytest.approx(1 / 3)


def test_scores_are_given_by_kind() -> None:
    by = score_run(TOPICS, RUN, by="kind")["by"]
    assert by["symbol"]["ndcg10"] == {"micro": 1.0, "macro": 1.0, "n": 1}
    assert by["semantic"]["ndcg10"]["n"] == 2


def test_the_table_shows_totals_and_groups() -> None:
    lines = score_table(score_run(TOPICS, RUN, by="repo")).splitlines()
    assert lines[0] == "3 topics, 2 repositories, 0 missing in the run"
    assert lines[2].split() == ["ndcg10", "0.7748", "0.7388", "3"]
    assert lines[-1].split()[:3] == ["click", "1", "0.6309"]


MANY = [topic(number, f"r{number % 4}", Qrel("a")) for number in range(40)]
RIGHT = {t.id: files("a") for t in MANY}
LATE = {t.id: files("x", "a") for t in MANY}


def test_a_run_compared_with_itself_does_not_differ() -> None:
    row = compare_runs(MANY, LATE, LATE)["ndcg10"]
    assert (row["difference"], row["low"], row["high"], row["n"]) == (0.0, 0.0, 0.0, 40)


def test_a_better_run_is_better_by_more_than_chance() -> None:
    row = compare_runs(MANY, RIGHT, LATE)["ndcg10"]
    assert row["difference"] == pytest.approx(1 - 0.630930, abs=1e-6)
    assert row["low"] > 0
    told = comparison_table({"ndcg10": row})
    assert "*" in told
    assert told.endswith("The first run is better by more than chance: ndcg10.")


def test_a_coin_toss_is_not_better_by_more_than_chance() -> None:
    mixed = {t.id: (RIGHT if int(t.id[1:]) % 2 else LATE)[t.id] for t in MANY}
    other = {t.id: (LATE if int(t.id[1:]) % 2 else RIGHT)[t.id] for t in MANY}
    row = compare_runs(MANY, mixed, other)["ndcg10"]
    assert row["low"] < 0 < row["high"]
    told = comparison_table({"ndcg10": row})
    assert "*" not in told
    assert told.endswith("Chance may explain it all.")


def test_repositories_are_drawn_whole_when_asked() -> None:
    assert compare_runs(MANY, RIGHT, LATE, over="repositories")["ndcg10"]["n"] == 4


def test_a_comparison_is_reproducible() -> None:
    mixed = {t.id: (RIGHT if int(t.id[1:]) % 3 else LATE)[t.id] for t in MANY}
    assert compare_runs(MANY, mixed, LATE) == compare_runs(MANY, mixed, LATE)


def costed(*paths: str, tokens: int = 400) -> list[Result]:
    return [Result(path, 1, 50, 0.0, tokens) for path in paths]


COSTED = {
    "t1": costed("x.go", "b.go", "b.go", "a.go"),
    "t2": costed("c.go", "y.go"),
    "t3": costed("z.py", "d.py"),
}


def test_recall_within_tokens_is_scored_for_runs_that_know_what_places_cost() -> None:
    totals = score_run(TOPICS, COSTED)["total"]
    # 500 tokens: one place each, t2's. 1,000: two, b of t1 and d of t3 as well. 2,000: a of t1.
    assert totals["recall_500t"]["micro"] == pytest.approx(1 / 3)
    assert totals["recall_1000t"] == {
        "micro": pytest.approx(2.5 / 3),
        "macro": pytest.approx((0.75 + 1) / 2),
        "n": 3,
    }
    assert totals["recall_2000t"]["micro"] == 1.0
    # t2's lines are 60 to 70 and are missed, t3's are 40 to 45.
    assert totals["line_recall_1000t"] == {"micro": 0.5, "macro": 0.5, "n": 2}
    assert "recall_500t" not in score_run(TOPICS, RUN)["total"]


# What the answer to the questions says, and after how many tokens.
READ = {
    "t1": [Result("b.go", 1, 50, 0.9, 3000, named=40, lines=[(1, 60)]),
           Result("a.go", 1, 50, 0.8, 3000, named=700, lines=[])],
    "t2": [Result("c.go", 1, 50, 0.9, 3000, named=40, lines=[(60, 1500)])],
    "t3": [Result("d.py", 1, 50, 0.9, 3000)],
}  # fmt: skip


def test_a_run_that_says_when_files_are_met_is_scored_by_its_answers() -> None:
    totals = score_run(TOPICS, READ)["total"]
    assert totals["recall_500t"]["micro"] == pytest.approx(1.5 / 3)
    assert totals["recall_1000t"]["micro"] == pytest.approx(2 / 3)
    assert totals["read_1000t"]["micro"] == pytest.approx(0.5 / 3)
    assert totals["read_2000t"]["micro"] == pytest.approx(1.5 / 3)
    assert totals["line_recall_1000t"]["micro"] == 0.0
    assert totals["line_recall_2000t"]["micro"] == 0.5  # t2's lines, and t3's are in no answer
    assert totals["line_hit_answer"] == {"micro": 0.5, "macro": 0.5, "n": 2}
    # Against a run of another tool each is read in its own way.
    assert compare_runs(TOPICS, READ, COSTED)["recall_500t"]["difference"] == pytest.approx(0.5 / 3)


def test_lines_of_an_answer_that_was_asked_for_are_not_in_the_default_one() -> None:
    late = {"t2": [Result("c.go", 1, 50, 0.9, 30, named=40, lines=[(60, 8000)])]}
    totals = score_run(TOPICS, late)["total"]
    assert totals["line_recall_4000t"]["micro"] == totals["line_hit_answer"]["micro"] == 0.0
    assert totals["line_recall_8000t"]["micro"] == 0.5


def test_a_topic_without_results_has_recall_0_within_tokens() -> None:
    totals = score_run(TOPICS, {**COSTED, "t2": []})["total"]
    assert totals["recall_8000t"]["micro"] == pytest.approx(2 / 3)
    assert totals["recall_8000t"]["n"] == 3


def test_the_curve_is_the_mean_over_repositories_at_each_budget() -> None:
    totals = score_run(TOPICS, COSTED)["total"]
    expected = [totals[f"recall_{budget}t"]["macro"] for budget in (500, 1000, 2000)]
    assert recall_curve(TOPICS, COSTED, (500, 1000, 2000)) == pytest.approx(expected)


def test_runs_are_compared_within_tokens_only_if_both_know_costs() -> None:
    assert compare_runs(TOPICS, COSTED, COSTED)["recall_500t"]["difference"] == 0.0
    assert "recall_500t" not in compare_runs(TOPICS, COSTED, RUN)


def test_the_latency_is_a_time_that_was_taken() -> None:
    assert latency([float(number) for number in range(20, 0, -1)]) == {
        "n": 20,
        "p50": 10.0,
        "p95": 19.0,
    }
    assert latency([7.0]) == {"n": 1, "p50": 7.0, "p95": 7.0}
    assert latency([]) == {"n": 0}


def test_times_of_topics_that_are_scored_are_in_the_score_and_the_table() -> None:
    times = {"t1": 10.0, "t2": 30.0, "t4": 900.0, "of another set": 900.0}
    scored = score_run(TOPICS, RUN, times=times)
    assert scored["latency"] == {"n": 2, "p50": 10.0, "p95": 30.0}
    assert "milliseconds a question: p50 10.0, p95 30.0 (2 timed)" in score_table(scored)
