"""Sentences in seven languages, and what is made of them."""

# ruff: noqa: RUF001 - wide marks end sentences in Chinese and Japanese

from __future__ import annotations

import sys
import textwrap
from itertools import pairwise

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.chunk import chunk
from rag_agent.chunk.sentences import parts_of, sentence_starts
from rag_agent.types import Document

# Each as it stands in a text, with what follows it.
SENTENCES = {
    "English": [
        "Dr. Smith met Mrs. Jones at 5 p.m. on the pier. ",
        "They spoke of pumps, e.g. Grundfos, i.e. those in fig. 3, and paid 3.14 euros. ",
        "\"Is it late?\" ",
        "It is, said J. R. Hartley! ",
    ],
    "German": [
        "Das gilt z. B. Frau Dr. Müller. ",
        "Sie kam am 3. Oktober und ca. Fünfzig Leuten, d. h. Freunden, bzw. Kollegen dazu. ",
        "Wirklich? ",
        "Vgl. Kapitel 4! ",
    ],
    "French": [
        "M. Dupont et Mme. Curie sont arrivés. ",
        "On y voit, p. ex. Paris, la Seine. ",
        "Est-ce vrai ? ",
        "Bien sûr ! ",
    ],
    "Spanish": [
        "El Sr. García y la Dra. López llegaron. ",
        "Viven en EE. UU. desde 1999. ",
        "¿Cómo están? ",
        "¡Muy bien! ",
    ],
    "Chinese": ["今天天气很好。", "我们去公园吧！", "你觉得怎么样？", "版本是3.14。"],
    "Japanese": ["今日は良い天気です。", "公園へ行きましょう！", "どうですか？", "値は3.14です。"],
    "Korean": ["오늘은 날씨가 좋습니다. ", "공원에 갑시다! ", "정말요? ", "값은 3.14입니다. "],
}  # fmt: skip


def beginnings(sentences: list[str]) -> list[int]:
    return [len("".join(sentences[:count])) for count in range(1, len(sentences))]


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_begin_after_sentences_and_not_after_abbreviations(language: str) -> None:
    sentences = SENTENCES[language] * 3
    assert sentence_starts("".join(sentences)) == beginnings(sentences)


def test_a_text_of_two_languages_has_the_sentences_of_both() -> None:
    sentences = [sentence for group in SENTENCES.values() for sentence in group]
    assert sentence_starts("".join(sentences)) == beginnings(sentences)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_long_line_is_cut_between_sentences(language: str) -> None:
    sentences = SENTENCES[language] * 200
    line = "".join(sentences)
    places = {0, len(line), *beginnings(sentences)}
    parts = list(parts_of(line, 1_100, 1_600))
    assert len(parts) > 2
    assert {place for part in parts for place in part} <= places
    assert all(500 <= end - begin <= 1_600 for begin, end in parts)
    whole = "".join(
        part.text
        for part in chunk(Document(path="a.md", kind="prose", language="markdown", text=line))
    )
    assert whole == line


@given(
    text=st.text(max_size=400)
    | st.lists(
        st.sampled_from(["Dr. ", "It is so. ", "今天。", "x" * 90, "« ", "a, b; ", "\ud800", "? "]),
        max_size=120,
    ).map("".join),
    preferred=st.integers(20, 60),
)
def test_parts_follow_one_another_and_are_never_too_long(text: str, preferred: int) -> None:
    parts = list(parts_of(text, preferred, 2 * preferred))
    assert "".join(text[begin:end] for begin, end in parts) == text
    assert all(before[1] == after[0] for before, after in pairwise(parts))
    assert all(0 < end - begin <= 2 * preferred for begin, end in parts)


def test_a_text_without_capital_letters_is_cut_where_its_sentences_seem_to_end() -> None:
    text = "the tax was paid in 2017, which was late. " * 20
    assert {text[begin:end][-6:] for begin, end in parts_of(text, 100, 150)} == {"late. "}


def test_a_sentence_that_is_too_long_is_cut_at_a_lesser_mark() -> None:
    text = "one two three four, " * 20
    assert {text[begin:end][-2:] for begin, end in parts_of(text, 100, 150)} == {", "}
    row = "| cell of a table " * 20
    assert all(row[end - 3 : end] == " | " for _, end in list(parts_of(row, 100, 150))[:-1])


def test_the_library_is_never_asked_about_a_whole_book(monkeypatch: pytest.MonkeyPatch) -> None:
    # Quotation marks that are never closed take it the square of the time.
    asked: list[int] = []
    segment = sentencex.segment

    def counted(language: str, text: str) -> list[str]:
        asked.append(len(text))
        parts: list[str] = segment(language, text)
        return parts

    monkeypatch.setattr(sentencex, "segment", counted)
    text = "« a. " * 20_000 + "It is. So it is. " * 20
    assert len(sentence_starts(text)) == 2 * 20 - 1
    assert max(asked) <= 5_000


def test_without_the_library_plain_sentences_are_still_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    sentences = ["It is late. ", "Is it? ", '"So it is." ', "3 of them came! ", "今天。", "我们！"]
    assert sentence_starts("".join(sentences)) == beginnings(sentences)


@pytest.mark.parametrize("indent", ["", "   "])
def test_lines_of_a_paragraph_are_cut_where_a_sentence_begins(indent: str) -> None:
    # Every line but the last of three ends with what only looks like the end of a sentence.
    lines = [
        "Der Versuch wurde im Jahr zuvor von Herrn Dr. Schmidt begonnen, nämlich z. B.",
        "Wasserpumpen und andere Geräte, die am Kai standen, etwa jene von Frau Dr.",
        "Meier, die schon seit Jahren dort arbeitet und alles genau beschrieben hat.",
    ] * 30
    lines = [f"{indent if n % 3 == 0 else ''}{line}" for n, line in enumerate(lines)]
    document = Document(path="a.txt", kind="prose", language="text", text="\n".join(lines))
    chunks = chunk(document)
    assert len(chunks) > 2
    assert {one.end % 3 for one in chunks} == {0}
    assert {passage.end % 3 for one in chunks for passage in one.passages} == {0}


def test_passages_of_a_wrapped_paragraph_begin_with_a_sentence_inside_a_line() -> None:
    sentence = "The pump on the quay, which Dr. Meier had mended, ran for three days, and stopped. "
    lines = textwrap.wrap(sentence * 45, 70)
    document = Document(path="a.txt", kind="prose", language="text", text="\n".join(lines))
    passages = [passage for one in chunk(document) for passage in one.passages]
    assert len(passages) > 2
    begun = [passage.text.startswith("The pump on") for passage in passages]
    assert begun.count(False) <= 1  # of chunks, which are whole lines
    held = " ".join(" ".join(passage.text.split()) for passage in passages)
    assert held == " ".join(" ".join(lines).split())
    for passage in passages:
        assert passage.text.split("\n")[0] in lines[passage.start - 1]
        assert passage.text.split("\n")[-1] in lines[passage.end - 1]


def test_rows_of_a_table_stay_whole() -> None:
    row = "| " + " | ".join(f"cell {n} says. That is all" for n in range(8)) + " |"
    text = "\n".join(["# Table", "", "| a | b |", "|---|---|", *[row] * 60])
    chunks = chunk(Document(path="a.md", kind="prose", language="markdown", text=text))
    assert len(chunks) > 2
    lines = text.split("\n")
    for part in [*chunks, *(passage for one in chunks for passage in one.passages)]:
        assert part.text == "\n".join(lines[part.start - 1 : part.end])


def test_a_code_fence_that_fits_into_a_passage_is_not_cut() -> None:
    fence = "```python\n" + 'print("It is. So it is.")\n' * 30 + "```"
    prose = "It is a sentence of prose, which stands before and after. " * 12
    text = "\n\n".join([prose, fence, prose, fence, prose, fence, prose])
    chunks = chunk(Document(path="a.md", kind="prose", language="markdown", text=text))
    assert len(chunks) > 1
    for part in [*chunks, *(passage for one in chunks for passage in one.passages)]:
        assert part.text.count("```") % 2 == 0
