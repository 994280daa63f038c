from __future__ import annotations

import math

import pytest

from rag_agent.search.lexical import bm25, count_words, path_words, with_words
from rag_agent.search.question import Question, rarity


def question(**words: int) -> Question:
    return Question(text="", words=words, rarity=dict.fromkeys(words, 2.0))


def test_bm25_is_the_formula() -> None:
    # One occurrence in a text of average length: idf * 1 * 2.5 / (1 + 1.5 * 1) = idf.
    assert bm25(question(url=1), {"url": 1}, 100, 100.0) == pytest.approx(2.0)
    # Three occurrences, twice the average: 2 * 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 2)) = 2.666667
    assert bm25(question(url=1), {"url": 3}, 200, 100.0) == pytest.approx(8 / 3)


def test_a_word_that_the_question_repeats_counts_that_often() -> None:
    once = bm25(question(url=1), {"url": 2}, 100, 100.0)
    assert bm25(question(url=3), {"url": 2}, 100, 100.0) == pytest.approx(3 * once)


def test_more_occurrences_count_more_but_never_without_bound() -> None:
    scores = [bm25(question(url=1), {"url": count}, 100, 100.0) for count in (1, 2, 8, 1000)]
    assert scores == sorted(scores)
    assert scores[-1] < 2.0 * 2.5  # idf * (k1 + 1)


def test_a_long_text_is_held_against_its_occurrences() -> None:
    assert bm25(question(url=1), {"url": 1}, 50, 100.0) > bm25(
        question(url=1), {"url": 1}, 400, 100.0
    )


def test_a_text_without_the_words_has_nothing() -> None:
    assert bm25(question(url=1), {"path": 4}, 100, 100.0) == 0.0


def test_rarity_falls_with_frequency_and_stays_positive() -> None:
    assert rarity(0, 1000) > rarity(1, 1000) > rarity(500, 1000) > rarity(1000, 1000) > 0
    assert rarity(1, 2) == pytest.approx(math.log(2))  # log(1 + 1.5 / 1.5)
    assert rarity(9, 3) > 0  # figures that are a little old


def test_words_of_the_question_are_counted_as_stems_of_any_form() -> None:
    counts, length = count_words(question(pars=1, url=1), "parse_url(parsed, other)")
    assert counts == {"pars": 2, "url": 1}
    assert length == 5  # parseurl, pars, url, pars, other


def test_the_name_of_a_file_counts_twice_and_its_last_three_folders_once() -> None:
    assert path_words("far/src/core/http/url_parser.py") == (
        *("urlpars", "url", "parser") * 2,
        "src",
        "core",
        "http",
    )


def test_words_of_the_path_that_are_asked_for_are_added_to_those_of_the_text() -> None:
    asked = question(url=1, http=1)
    assert with_words(asked, {"url": 1}, ["url", "http", "core"]) == {"url": 2, "http": 1}
    assert with_words(asked, {"url": 1}, ["core"]) == {"url": 1}
