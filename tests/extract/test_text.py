from __future__ import annotations

import pytest

from rag_agent.extract import extract


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.rst",
            "Log\n===\n\n:Author: Ines Okafor\n:Date: 2026-03-14\n\n"
            ".. meta::\n   :keywords: tide, fog\n",
        ),
        ("a.adoc", "= Log\n:author: Ines Okafor\n:revdate: 2026-03-14\n:keywords: tide, fog\n"),
        (
            "a.org",
            "#+TITLE: Log\n#+AUTHOR: Ines Okafor\n#+DATE: <2026-03-14 Sat>\n"
            "#+FILETAGS: :tide:fog:\n",
        ),
    ],
)
def test_light_markup_says_who_wrote_it_when_about_what(name: str, text: str) -> None:
    document = extract(text.encode(), name)
    assert (document.title, document.metadata["author"]) == ("Log", "Ines Okafor")
    assert (document.date, document.tags) == ("2026-03-14", ("tide", "fog"))
    assert document.text == text


def test_the_authors_of_a_paper_are_several() -> None:
    document = extract(
        rb"\title{Seiches}\author{Ines Okafor \and Jan Brouwer}\date{\today}", "a.tex"
    )
    assert document.metadata == {"author": "Ines Okafor; Jan Brouwer"}
    assert document.date == ""


def test_source_code_says_nothing_of_the_kind() -> None:
    assert extract(b"# :author: nobody\n", "a.py").metadata == {}
