"""What holds for every document, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_agent.chunk import chunk
from rag_agent.types import Chunk, Document

MOST_CHARACTERS = 6000
MOST_LINES = 60
MOST_PASSAGE_CHARACTERS = {"code": 1100, "data": 1100, "prose": 1600}

_WORDS = st.sampled_from(
    [
        *(
            "# Title",
            "===",
            "---",
            "```",
            "~~~",
            "== Head",
            "* Org",
            "key: value",
            "a,b,c",
            "",
            " ",
        ),
        *("def f():", "class A {", "}", "    return 1", "@decorated", "function g() {", "// note"),
        *(" ", "\t", "\x0c", "\x85", '{"a": [', '"open quote', "<script>", "</script>"),
        *("x" * 80, "y" * 2500, "word " * 700, "z" * 7000),
    ]
)
_TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.one_of(_WORDS, st.text(max_size=120)), max_size=150).map("\n".join),
)
_DOCUMENTS = [
    ("prose", "markdown"),
    ("prose", "rst"),
    ("prose", "text"),
    ("code", "cobol"),
    ("code", "python"),
    ("code", "typescript"),
    ("code", "haskell"),
    ("code", "vue"),
    ("data", "csv"),
    ("data", "yaml"),
    ("data", "xml"),
]


def non_blank_lines(lines: list[str], start: int, end: int) -> list[int]:
    return [number for number in range(start, end + 1) if lines[number - 1].strip()]


def is_piece(part: Chunk, lines: list[str]) -> bool:
    return part.start == part.end and part.text != lines[part.start - 1]


@pytest.mark.parametrize(("kind", "language"), _DOCUMENTS)
@settings(max_examples=60, deadline=None)
@given(text=_TEXTS)
def test_every_line_is_kept_in_order_and_in_bounds(kind: str, language: str, text: str) -> None:
    document = Document(path="a/b", kind=kind, language=language, text=text)  # type: ignore[arg-type]
    lines = text.split("\n")

    chunks = chunk(document)

    assert [part.start for part in chunks] == sorted(part.start for part in chunks)
    covered = [n for part in chunks for n in non_blank_lines(lines, part.start, part.end)]
    assert list(dict.fromkeys(covered)) == non_blank_lines(lines, 1, len(lines))
    for part in chunks:
        assert part.path == "a/b"
        assert len(part.text) <= MOST_CHARACTERS
        assert part.end - part.start < MOST_LINES
        assert part.text.strip()
        if not is_piece(part, lines):
            assert part.text == "\n".join(lines[part.start - 1 : part.end])


@pytest.mark.parametrize(("kind", "language"), _DOCUMENTS)
@settings(max_examples=60, deadline=None)
@given(text=_TEXTS)
def test_passages_hold_each_line_of_a_chunk_once(kind: str, language: str, text: str) -> None:
    lines = text.split("\n")

    chunks = chunk(Document(path="p", kind=kind, language=language, text=text))  # type: ignore[arg-type]

    for part in chunks:
        held = [n for p in part.passages for n in non_blank_lines(lines, p.start, p.end)]
        assert list(dict.fromkeys(held)) == non_blank_lines(lines, part.start, part.end)
        split = {n for n in held if held.count(n) > 1}
        for passage in part.passages:
            assert len(passage.text) <= MOST_PASSAGE_CHARACTERS[kind]
            assert passage.text in part.text
            assert passage.text.count("\n") == passage.end - passage.start
        # Only a line that is too long for one, or in which a sentence of prose begins.
        assert all(len(lines[n - 1]) > MOST_PASSAGE_CHARACTERS[kind] for n in split) or (
            kind == "prose"
        )


@pytest.mark.parametrize(("kind", "language"), _DOCUMENTS)
@settings(max_examples=60, deadline=None)
@given(text=_TEXTS)
def test_the_pieces_of_a_long_line_are_the_line(kind: str, language: str, text: str) -> None:
    lines = text.split("\n")

    pieces: dict[int, str] = {}
    for part in chunk(Document(path="p", kind=kind, language=language, text=text)):  # type: ignore[arg-type]
        if is_piece(part, lines):
            pieces[part.start] = pieces.get(part.start, "") + part.text

    for number, joined in pieces.items():
        assert joined.split() == lines[number - 1].split()


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\x0c\n"])
def test_a_document_without_text_has_no_chunks(text: str) -> None:
    assert chunk(Document(path="p", kind="prose", text=text)) == []


def test_only_newlines_end_a_line() -> None:
    document = Document(path="p", kind="code", text="one\x0ctwo\x85three\u2028four\nfive")

    (part,) = chunk(document)

    assert (part.start, part.end) == (1, 2)
