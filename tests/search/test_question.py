from __future__ import annotations

from typing import Any

import pytest

from rag_agent.errors import QueryError
from rag_agent.search.question import Question, read_question


def test_a_question_is_read_as_stems_with_their_rarity(indexed: Any) -> None:
    store = indexed({"a.txt": "common rare", "b.txt": "common", "c.txt": "common"})
    question, notes = read_question(store, "How do rare, rare and common words differ?")
    assert list(question.words) == ["rare", "common", "word", "differ"]
    assert question.rarity["rare"] > question.rarity["common"]
    assert question.absent == {"word", "differ"}
    assert notes == []


def test_a_name_that_text_without_spaces_is_written_up_to_is_a_name(indexed: Any) -> None:
    question, _ = read_question(indexed({}), "parse_urlは何をしますか, 请解释URLParser的作用, José")
    assert {"parse_url", "URLParser", "José"} <= {*question.names}


def test_names_are_kept_as_written_without_stop_words(indexed: Any) -> None:
    question, _ = read_question(indexed({}), "where is the URLParser of parse_url, urllib.parse?")
    assert question.names == ("URLParser", "parse_url", "urllib", "parse")


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_query_is_an_error_that_says_what_to_do(indexed: Any, text: str) -> None:
    with pytest.raises(QueryError, match="ask a question"):
        read_question(indexed({}), text)


def test_a_query_without_words_is_valid_and_noted(indexed: Any) -> None:
    question, notes = read_question(indexed({"a.txt": "text"}), "??? :: -> \0")
    assert question.words == {}
    assert notes == ["The query has no words to search for."]


def test_of_very_many_words_the_rarest_that_occur_are_searched_with_a_note(indexed: Any) -> None:
    vocabulary = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(200)]
    files = {f"f{n}.txt": " ".join(vocabulary[n:]) for n in range(200)}
    question, notes = read_question(indexed(files), " ".join([*vocabulary, "nowhere"]))
    assert set(question.words) == set(vocabulary[:64])  # word n is in n + 1 files
    assert notes == ["Of 201 different words the 64 rarest that occur here were searched."]


@pytest.mark.parametrize("unknown", [40, 63, 64, 100, 2_000])
def test_a_text_of_unknown_words_is_covered_by_one_known_word_no_better_the_longer_it_is(
    indexed: Any, unknown: int
) -> None:
    store = indexed({"a.txt": "harbour " * 40, "b.txt": "quay and mole"})
    question, notes = read_question(store, " ".join(["harbour", *_made(unknown)]))
    assert question.coverage({"harbour"}) < 3 / unknown
    assert len(question.absent) == unknown
    if unknown >= 64:
        count = f"{unknown + 1:,}"
        assert notes == [f"Of {count} different words the 1 that occur here were searched."]
        assert list(question.words) == ["harbour"]


def test_of_a_long_text_what_is_nowhere_counts_like_what_is_searched(indexed: Any) -> None:
    known = [f"known{word}" for word in _made(128)]
    store = indexed({f"f{n}.txt": word for n, word in enumerate(known)})
    question, _ = read_question(store, " ".join([*known, *_made(128)]))
    assert len(question.words) == 64
    # The other half is nowhere, which is a little rarer than in one file, and later in the text,
    # where words weigh less.
    assert 0.45 < question.coverage(set(question.words)) < 0.65


def test_a_long_text_of_nothing_but_unknown_words_says_so(indexed: Any) -> None:
    question, notes = read_question(indexed({"a.txt": "quay"}), " ".join(_made(70)))
    assert (question.words, question.coverage({"quay"})) == ({}, 0.0)
    assert notes == ["Of 70 different words the 0 that occur here were searched."]


def _made(count: int) -> list[str]:
    """Words that are no words."""
    letters = [chr(97 + n) for n in range(26)]
    return [f"zz{a}{b}{c}q" for a in letters for b in letters for c in letters][:count]


def test_of_a_pasted_log_the_beginning_is_read_with_a_note(indexed: Any) -> None:
    store = indexed({"a.txt": "needle"})
    question, notes = read_question(store, "needle " + "x" * 300_000 + " haystack")
    assert set(question.words) == {"needl"}
    assert notes == ["Only the first 200,000 characters of the query were read."]


def test_coverage_is_the_share_of_the_words_by_rarity() -> None:
    question = Question("", {"a": 1.0, "b": 1.0}, {"a": 3.0, "b": 1.0})
    assert question.coverage(["a", "a", "z"]) == 0.75
    twice = Question("", {"a": 1.0, "b": 3.0}, {"a": 3.0, "b": 1.0})
    assert twice.coverage(["a"]) == 0.5  # b counts as often as the question has it
    assert question.coverage(["a", "b"]) == 1.0
    assert question.coverage([]) == 0.0
    assert Question("", {}, {}).coverage(["a"]) == 0.0
