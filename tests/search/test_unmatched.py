"""What is said when a filter leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rag_agent.search import search
from rag_agent.types import SearchResults

_FILES = {
    "docs/billing.md": (
        "---\ntitle: Invoices\nauthor: Ada Lovelace\n"
        "tags: [billing, draft]\ndate: 2024-03-01\n---\n"
        "# Invoices\n\nHow an invoice is sent to the customer.\n"
    ),
    "docs/tax.md": "---\ntags: billing\ndate: 2021-07-09\n---\nWhich tax stands on the invoice.\n",
    "src/invoice.py": "def send_invoice(customer):\n    return customer\n",
}


@pytest.fixture
def asked(indexed: Any) -> Any:
    store = indexed(_FILES)

    def ask(where: str, query: str = "invoice") -> SearchResults:
        found: SearchResults = search(store, query, embedder=None, where=where)
        return found

    return ask


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("tag:billling", "tag:billling matches no document; did you mean billing (2)?"),
        ("tag:xyz", "tag:xyz matches no document; tags here: billing (2), draft (1)."),
        ("lang:pyhton", "did you mean python (1)?"),
        ("ext:pdf", "extensions here: md (2), py (1)"),
        ("author:grace", "authors here: Ada Lovelace (1)"),
        ('author:"ada lovelase"', "did you mean Ada Lovelace (1)?"),
        ("title:invoces", "did you mean Invoices (1)?"),
        ("path:doc/*", "did you mean docs (2)?"),
        ("name:send_invoise", "did you mean send_invoice (1)?"),
        ("year:2030", "year:2030 matches no document; year here: 2021 to 2024."),
        ("created:<2020", "created here: 2021-07-09 to 2024-03-01."),
        ("page:3", "page:3 matches no document; none has any page."),
        ("-kind:code -kind:prose", "each term matches documents (-kind:code 2, -kind:prose 1)"),
        ("kind:data", "kinds here: prose (2), code (1)"),
        (
            "tag:draft kind:code",
            "each term matches documents (tag:draft 1, kind:code 1), no document matches all",
        ),
        ("tag:nothing ext:nothing", "ext:nothing matches no document"),
    ],
)
def test_the_reason_and_what_there_is_instead_are_said(asked: Any, where: str, reason: str) -> None:
    found = asked(where)
    assert found.hits == ()
    assert found.left_by_filter == 0
    assert found.notes[0].startswith("The filter leaves nothing: ")
    assert reason in found.notes[0]


def test_what_would_be_found_is_shown_with_the_term_that_excludes_it(asked: Any) -> None:
    note = asked("tag:draft kind:code").notes[1]
    assert note.startswith("Without the filter the best are: ")
    assert "docs/billing.md (excluded by kind:code)" in note
    assert "src/invoice.py (excluded by tag:draft)" in note
    assert "docs/tax.md (excluded by tag:draft, kind:code)" in note


def test_documents_that_are_left_without_an_answer_are_counted(asked: Any) -> None:
    found = asked("kind:code", "tax")
    assert (found.hits, found.left_by_filter) == ((), 1)
    assert found.notes[0] == "The filter leaves 1 document, in which nothing answers the question."
    assert "docs/tax.md (excluded by kind:code)" in found.notes[1]


def test_a_question_that_nothing_answers_says_so(asked: Any) -> None:
    assert "Without the filter nothing is found either." in asked("tag:x", "zzz").notes


def test_a_search_that_finds_something_says_nothing_of_its_filter(asked: Any) -> None:
    found = asked("tag:billing")
    assert {hit.path for hit in found.hits} == {"docs/billing.md", "docs/tax.md"}
    assert found.left_by_filter is None
    assert [note for note in found.notes if "filter" in note] == []


def test_an_index_without_a_field_says_that_none_has_one(indexed: Any) -> None:
    store = indexed({"a.py": "apple = 1\n"})
    found = search(store, "apple", embedder=None, where="author:x year:>2020")
    assert "author:x matches no document; none has any author." in found.notes[0]
    assert "year:>2020 matches no document; none has any year." in found.notes[0]
