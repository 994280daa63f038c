"""Words of a question that stand near each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rag_agent.search.candidates import find_candidates
from rag_agent.search.dense import NoReading
from rag_agent.search.nearby import nearby
from rag_agent.search.question import Question, read_question
from rag_agent.tokens import query_words

FAR = " and other things of no interest here" * 4


def value(text: str, asked: str = "retrieval of titles", rarity: float = 2.0) -> float:
    words = query_words(asked)
    return nearby(Question(asked, words, dict.fromkeys(words, rarity)), words, text)


def test_words_that_meet_count_and_words_far_apart_do_not() -> None:
    assert value("Retrieval by titles.") > 0
    assert value(f"Retrieval{FAR}, titles.") == 0
    assert value("Titles, titles and more titles.") == 0
    assert value("") == 0


def test_forms_of_a_word_count_and_parts_of_others_do_not() -> None:
    assert value("Titled papers are RETRIEVED.") == value("retrieval titles")
    assert value("Subtitles and retrieval.") == 0
    assert value("Retrieval of a titleholder.") == 0
    assert value("retrieval titlea" + "1a" * 40) == 0  # no word, as its parts are none


def test_it_grows_as_they_meet_more_often_up_to_one() -> None:
    once, twice = value("Titles of retrieval."), value(f"Titles of retrieval.{FAR}. " * 2)
    assert 0 < once < twice < value("retrieval titles " * 50) == 1.0


def test_the_scale_is_that_of_the_question() -> None:
    assert value("retrieval of titles", rarity=7.0) == pytest.approx(value("retrieval of titles"))


def test_scripts_without_spaces_and_accents_are_found() -> None:
    assert value("これは全文検索です", "全文検索") > 0
    assert value("un resume du document", "résumé document") > 0


@pytest.fixture
def found(indexed: Callable[[Any], Any]) -> Any:
    store = indexed(
        {
            "docs/near.md": "# One\n\nThe retrieval of titles is hard.\n",
            "docs/far.md": f"# Two\n\nRetrieval{FAR}, and titles.\n",
            "src/near.py": "# retrieval of titles\nx = 1\n",
        }
    )
    question, _ = read_question(store, "retrieval of titles")
    return find_candidates(store, question, NoReading("none"), None)


def test_documents_are_measured_and_code_is_not(found: Any) -> None:
    near = {file.shown_path: file.nearby for file in found}
    assert near["docs/near.md"] > 0
    assert near["docs/far.md"] == near["src/near.py"] == 0
