from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import fit
from rag_agent.eval.judging import Judged
from rag_agent.search.signals import OF_PROSE
from rag_agent.search.weights import HYBRID, WORDS_ONLY

PASSAGE, CHUNK = "words: best passage", "words: best chunk"
MEANING, SUMMARY = "meaning: best chunk's meaning", "meaning: summary's meaning"
Ask = Callable[..., Judged]


def of_code(ask: Ask, **where: str) -> Judged:
    """A question whose answer is told by its passage, beside a document that is near."""
    return ask(
        ("code", True, {PASSAGE: 1.0, CHUNK: 0.3}),
        ("code", False, {PASSAGE: 0.4, CHUNK: 0.5}),
        ("prose", False, {PASSAGE: 0.9, MEANING: 0.1, fit.DOCUMENT: 1.0}),
        **where,
    )


def of_prose(ask: Ask, **where: str) -> Judged:
    """A question whose answer is told by its meaning, beside code that is nearer."""
    return ask(
        ("prose", True, {MEANING: 1.0, PASSAGE: 0.6, fit.DOCUMENT: 1.0}),
        ("prose", False, {MEANING: 0.2, PASSAGE: 0.5, fit.DOCUMENT: 1.0}),
        ("code", False, {PASSAGE: 1.0}),
        **where,
    )


def column(table: fit.Table, place: int) -> dict[str, float]:
    return {key: row[place] for key, row in table.items() if row[place]}


def test_what_answers_is_told_from_its_test(judged: list[Judged]) -> None:
    table = fit.fit(judged, words=True)
    assert table["test: test"][0] < 0
    assert table.keys() == set(fit.KEYS)


def test_what_is_fixed_is_not_left_to_labels(judged: list[Judged]) -> None:
    table = fit.fit(judged, words=True)
    for key, weights in fit.FIXED.items():
        expected = WORDS_ONLY.get(key, (0.0, 0.0, 0.0)) if weights is None else weights
        assert table[key] == expected


def test_documents_are_taught_what_counts_of_them() -> None:
    assert set(fit.TAUGHT_OF_PROSE) <= OF_PROSE


def test_tests_that_a_question_asks_for_are_held() -> None:
    assert fit.FIXED["asked for: test"] is None
    assert fit.DOCUMENT_ASKED not in fit.FIXED


def test_questions_that_code_answers_teach_nothing_of_documents(ask: Ask) -> None:
    table = fit.fit([of_code(ask)])
    assert column(table, 2) == column(HYBRID, 2)
    assert table[PASSAGE][0] > table[CHUNK][0]


def test_questions_that_documents_answer_teach_nothing_of_code(ask: Ask) -> None:
    table = fit.fit([of_prose(ask)])
    for place in (0, 1):
        assert column(table, place) == column(HYBRID, place)
    assert table[MEANING][2] > HYBRID[MEANING][2]
    for key in (fit.DOCUMENT, fit.DOCUMENT_ASKED):
        assert table[key] == HYBRID[key]
    blends = [
        sum(row[2] for key, row in of.items() if key.startswith(("words", "meaning")))
        for of in (table, HYBRID)
    ]
    assert blends[0] == pytest.approx(blends[1], abs=1e-3)


def test_with_vectors_documents_hold_to_the_plain_blend(ask: Ask) -> None:
    """By what tells nothing of summaries these have half the weight of chunks all the same."""
    table = fit.fit([of_prose(ask)])
    assert table[SUMMARY][2] == pytest.approx(table[MEANING][2] / 2, rel=0.1)
    assert fit.fit([of_prose(ask)], words=True)[SUMMARY][2] == 0


def test_a_share_says_how_much_a_set_counts(ask: Ask) -> None:
    by_passage = ask(
        ("prose", True, {PASSAGE: 1.0, MEANING: 0.5}),
        ("prose", False, {PASSAGE: 0.3, MEANING: 0.6}),
        set="other",
        repo="two",
    )
    both = [of_prose(ask), by_passage]
    for name in ("own", "other"):
        shared, alike = fit.fit(both, shares={name: 5.0}), fit.fit(both)
        assert (shared[MEANING][2] > alike[MEANING][2]) == (name == "own")


def test_documents_stand_where_questions_of_both_kinds_to_one_index_have_them(ask: Ask) -> None:
    apart = [of_code(ask), of_prose(ask, repo="two")]
    assert fit.fit(apart)[fit.DOCUMENT] == HYBRID[fit.DOCUMENT]
    together = [of_code(ask), of_prose(ask)]
    weights = fit.fit_weights(together, words=False, shares={})
    before, after = ([fit.scores(one, w).argmax() for one in together] for w in
                     (fit.present(False), weights))  # fmt: skip
    assert (before, after) == ([2, 0], [0, 0])


def test_documents_that_are_worst_where_they_answer_are_an_error(ask: Ask) -> None:
    answered = ask(
        ("prose", True, {PASSAGE: 0.2}), ("prose", False, {}), ("code", False, {PASSAGE: 0.9})
    )
    in_the_way = ask(
        ("code", True, {PASSAGE: 1.0}),
        ("code", False, {PASSAGE: 0.9}),
        ("prose", False, {PASSAGE: 1.0, MEANING: 1.0}),
    )
    with pytest.raises(QueryError, match="documents cannot be told from code"):
        fit.fit([answered, in_the_way])


def test_labels_by_which_words_mean_nothing_are_an_error(ask: Ask) -> None:
    for make in (of_code, of_prose):
        one = make(ask)
        with pytest.raises(QueryError, match="neither words nor meaning find anything"):
            fit.fit([replace(one, values=-one.values)])


def test_what_nothing_is_left_to_fit_to_is_an_error(judged: Any) -> None:
    with pytest.raises(QueryError, match="no question is left to fit weights to"):
        fit.fit(judged)  # no vectors in these indexes
