from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.tokens import (
    STOP_WORDS,
    estimate_tokens,
    query_words,
    runs,
    split_identifier,
    words,
)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getHTTPResponse", ["get", "http", "response"]),
        ("parse_query_string", ["parse", "query", "string"]),
        ("XMLParser2", ["xml", "parser", "2"]),
        ("__init__", ["init"]),
        ("URL", ["url"]),
        ("größeÄndern", ["größeändern"]),  # no case split beyond A-Z, and no letter lost
        ("___", []),
    ],
)
def test_an_identifier_is_split_at_case_digits_and_underscores(name: str, parts: list[str]) -> None:
    assert split_identifier(name) == parts


def test_a_compound_is_found_whole_and_by_its_parts() -> None:
    assert words("getHTTPResponse") == ["gethttprespons", "get", "http", "respons"]


def test_underscores_and_camel_case_give_the_same_words() -> None:
    assert words("parse_query_string") == words("parseQueryString")


def test_inflections_share_a_stem() -> None:
    assert words("parse parsed parsing") == ["pars", "pars", "pars"]


@pytest.mark.parametrize(
    ("text", "bigrams"),
    [
        ("日本語", ["日本", "本語"]),
        ("テキスト", ["テキ", "キス", "スト"]),
        ("한국어", ["한국", "국어"]),
        ("字", ["字"]),
        ("𠀀𠀁", ["𠀀𠀁"]),  # beyond the basic plane
    ],
)
def test_scripts_without_spaces_become_bigrams(text: str, bigrams: list[str]) -> None:
    assert words(text) == bigrams


def test_code_within_a_chinese_sentence_stays_a_word() -> None:
    assert words("调用parse_qs函数") == ["调用", "parseq", "pars", "q", "函数"]


def test_accents_full_width_letters_and_ligatures_are_folded() -> None:
    assert words("Café \uff46\uff49\uff4c\uff45 \ufb01le") == ["cafe", "file", "file"]


def test_base64_and_hashes_are_no_words_but_long_test_names_are() -> None:
    name = "test_a_filter_narrows_before_ranking_and_never_after_the_candidates_were_chosen"
    base64 = "dGhpcyBpcyBiYXNlNjQgZW5jb2RlZCBzdHJpbmcgdGhhdCBpcyBxdWl0ZSBsb25nIGFuZCBtb3Jl"
    assert "narrow" in words(name)
    assert words(base64) == []
    assert words("a" * 65) == []


def test_a_question_loses_its_stop_words_and_counts_the_rest() -> None:
    weights = query_words("How do I parse the query of a query string?")
    assert list(weights) == ["pars", "queri", "string"]
    assert weights["pars"] == 1.0
    assert weights["queri"] > 1.5


def test_the_later_a_word_stands_in_a_question_the_less_it_weighs_but_never_nothing() -> None:
    weights = query_words(" ".join(f"word{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz" * 4))
    assert weights["wordax"] > weights["wordbx"] > weights["wordzx"] >= 4 * 0.25


def test_a_question_of_only_stop_words_keeps_them() -> None:
    assert set(query_words("how to use it")) == {"how", "to", "us", "it"}


def test_the_tail_of_a_contraction_is_no_word_but_the_module_re_is() -> None:
    assert query_words("they're what's isn\u2019t re.compile").keys() == {"re", "compil"}


def test_stop_words_are_runs_of_small_letters() -> None:
    assert all(runs(word) == [word] and word == word.lower() for word in STOP_WORDS)


@given(st.text())
def test_every_text_gives_words_that_an_index_can_hold(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(character.isspace() or character in "\"'\0" for character in word)


@given(st.text())
def test_words_are_stable_under_joining_by_spaces(text: str) -> None:
    assert set(query_words(text)) <= set(words(text))
    assert words(text + " " + text) == words(text) * 2


def test_code_and_prose_cost_a_token_for_three_characters() -> None:
    assert estimate_tokens("abcdef") == 2
    assert estimate_tokens("abcdefg") == 3
    assert estimate_tokens("") == 0


def test_other_alphabets_cost_more_and_ideographs_a_token_each() -> None:
    assert estimate_tokens("привет") == 3
    assert estimate_tokens("日本語") == 3
    assert estimate_tokens("abc привет 日本語") == 3 + 3 + 2


@given(st.text(), st.text())
def test_the_estimate_grows_with_the_text_and_is_subadditive(first: str, second: str) -> None:
    both = estimate_tokens(first + second)
    assert max(estimate_tokens(first), estimate_tokens(second)) <= both
    assert both <= estimate_tokens(first) + estimate_tokens(second)
