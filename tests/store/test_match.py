from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matching import matching

from rag_agent.store import Store, filters, lexical
from rag_agent.store.maintenance import COMMON
from rag_agent.tokens import query_words, words
from rag_agent.types import Root


def test_any_word_is_enough_and_more_words_score_higher(store: Store, root: Root, put: Any) -> None:
    put(store, root, "one.md", "apple and pear")
    put(store, root, "two.md", "apple and banana")
    put(store, root, "three.md", "nothing of it, but as long as them")
    found = matching(store, words("banana apple"), 5)
    assert [match.chunk.path for match in found] == ["two.md", "one.md"]
    (_, higher), (_, lower) = lexical.ranked(store._database, words("banana apple"), 5)
    assert higher > lower > 0
    assert matching(store, words("banana apple"), 1) == found[:1]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("getHTTPResponse", "x = get_http_response()"),
        ("http response", "x = getHTTPResponse()"),
        ("全文検索", "日本語の全文検索エンジン"),
        ("naïve", "a naive approach"),
        ("straße", "the straße is long"),
        ("ünïcödé", "ÜNÏCÖDÉ"),
        ("ﬁle", "a file"),
        ("привет", "Привет мир"),
        ("नमस्ते", "नमस्ते दुनिया"),
        ("𠮷野", "𠮷野家"),  # beyond the basic plane
        ("x2", "x² + y"),
    ],
)
def test_words_of_any_script_are_found_as_they_were_split(
    store: Store, root: Root, put: Any, question: str, text: str
) -> None:
    put(store, root, "hit.md", text)
    put(store, root, "miss.md", "completely different words")
    assert [match.chunk.path for match in matching(store, list(query_words(question)), 5)] == [
        "hit.md"
    ]


@given(text=st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_that_goes_in_is_found_again(
    text: str, store: Store, root: Root, put: Any
) -> None:
    put(store, root, "a.md", text)
    frequencies = store.passage_frequencies(words(text))
    # A text of blanks makes no passage.
    assert frequencies == (dict.fromkeys(words(text), 1) if text.strip() else {})


@given(stems=st.lists(st.text(max_size=20), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_may_be_asked_for(stems: list[str], store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", 'AND OR "quoted" NEAR(a b)')
    assert len(matching(store, stems, 5)) <= 1
    assert len(store.match_paths(stems, 5)) <= 1


def test_names_path_and_heading_are_searched_too(store: Store, root: Root, put: Any) -> None:
    put(store, root, "web/session.py", "x = 1", heading="Cookies", names=("loginUser",))
    put(store, root, "web/other.py", "y = 2")
    for question in ("session", "cookies", "login"):
        assert [m.chunk.path for m in matching(store, words(question), 5)] == ["web/session.py"]
    assert {m.chunk.path for m in matching(store, ["web"], 5)} == {"web/session.py", "web/other.py"}


def test_a_word_in_the_name_of_the_file_counts_more_than_in_the_text(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "text.md", "the parser reads it")
    put(store, root, "parser.md", "the thing reads it")
    assert [m.chunk.path for m in matching(store, ["parser"], 5)] == ["parser.md", "text.md"]


def test_paths_are_found_by_name_before_folder(store: Store, root: Root, put: Any) -> None:
    put(store, root, "billing/invoice/list.py", "x")
    put(store, root, "web/invoice.py", "x")
    put(store, root, "web/other.py", "x")
    found = store.match_paths(words("where are invoices"), 5)
    shown = [(store.document(identifier).path, score > 0) for identifier, score in found]
    assert shown == [("web/invoice.py", True), ("billing/invoice/list.py", True)]
    where = filters.compile("path:billing/*")
    assert [identifier for identifier, _ in store.match_paths(["invoic"], 5, where)] == [1]


def test_a_phrase_is_found_where_its_words_stand_in_a_row(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "a.md", "run it with --no-cache, please", "nothing")
    put(store, root, "b.md", "no, a cache")
    put(store, root, "c.md", "NoCache and no_cache")
    asked = words("no cache")
    assert [_path(store, chunk) for _, chunk in store.match_phrase(asked, 5)] == ["a.md", "c.md"]
    assert len(store.match_phrase(asked, 1)) == 1
    where = filters.compile("path:c.md")
    assert [_path(store, chunk) for _, chunk in store.match_phrase(asked, 5, where)] == ["c.md"]
    assert store.match_phrase(["cach", "no"], 5) == []
    assert store.match_phrase(["no", "never"], 5) == []
    assert store.match_phrase([], 5) == []


def _path(store: Store, chunk: int) -> str:
    return store.chunks([chunk])[chunk].document.path


def test_a_phrase_of_common_words_alone_is_not_looked_for(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        put(store, root, f"{number}.md", "very common words")
    put(store, root, "rare.md", "rare common words")
    monkeypatch.setattr(lexical, "POSTINGS", 4)
    assert store.match_phrase(["common", "word"], 9) == []
    assert len(store.match_phrase(["rare", "common"], 9)) == 1


def test_common_words_are_left_out_once_the_budget_is_spent(
    store: Store, root: Root, put: Any
) -> None:
    for number in range(30):
        put(store, root, f"{number}.md", "common" if number else "common rare")
    few, all_of_them = (
        lexical.ranked(store._database, ["common", "rare"], 1, postings=budget)
        for budget in (10, 100)
    )
    # With the common word, the score is higher.
    assert few[0][1] < all_of_them[0][1]


def test_common_words_come_back_when_rare_ones_find_too_little(
    store: Store, root: Root, put: Any
) -> None:
    for number in range(30):
        put(store, root, f"{number}.md", "common" if number else "common rare")
    found = lexical.match(store._database, ["common", "rare"], 10, postings=10)
    assert len(found) == 10
    assert found[0][1] == "common rare"


def test_a_filter_narrows_before_words_are_left_out(store: Store, root: Root, put: Any) -> None:
    for number in range(30):
        put(store, root, f"src/{number}.md", "common middle" if number % 2 else "rare")
    put(store, root, "doc/wanted.md", "common")
    where = filters.compile("path:doc/*")
    found = lexical.match(store._database, ["rare", "middl", "common"], 5, where, postings=5)
    assert [text for _, text in found] == ["common"]


def test_frequencies_of_common_words_equal_a_live_count(store: Store, root: Root, put: Any) -> None:
    put(store, root, "many.md", *[f"common word{n % 7}" for n in range(COMMON + 10)])
    asked = ["common", "word3", "mani", "absent"]
    live = store.passage_frequencies(asked)
    store.refresh_statistics()
    assert store.passage_frequencies(asked) == live
    assert live["common"] == COMMON + 10
    assert "absent" not in live


def test_a_frequency_is_never_above_the_number_of_passages(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "many.md", *["common"] * (COMMON + 10))
    put(store, root, "few.md", "common")
    store.refresh_statistics()
    store.forget([1])
    assert store.passage_frequencies(["common"]) == {"common": 1}
    assert store.passage_count() == 1


def test_an_empty_store_answers_with_nothing(store: Store) -> None:
    assert matching(store, ["appl"], 5) == []
    assert matching(store, [], 5) == []
    assert store.match_paths(["appl"], 5) == []
    assert store.passage_frequencies(["appl"]) == {}
    assert store.average_passage_words() == 0.0
    assert store.chunks([1]) == {}
    assert store.definitions([]) == []


def test_the_average_length_is_in_words(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", "one two three", "four")
    put(store, root, "b.md", "five six")
    assert store.average_passage_words() == 2.0


def test_definitions_are_found_whatever_the_case(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.py", "x", names=("HTTPSHandler",), kind="code")
    put(store, root, "b.py", "x", names=("httpshandler",), kind="code")
    put(store, root, "c.py", "x", names=("HTTPSHandlerFactory",), kind="code")
    found = store.definitions(["HttpsHandler"])
    assert [definition.name for _, definition in found] == ["HTTPSHandler", "httpshandler"]
    narrowed = store.definitions(["HttpsHandler"], filters.compile("path:b.py"))
    assert [definition.name for _, definition in narrowed] == ["httpshandler"]
