from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.errors import StoreError
from rag_agent.exchange import bounded_lines, read_export, reading
from rag_agent.exchange.lines import DocumentLine
from rag_agent.exchange.reading import Group
from rag_agent.store import Store
from rag_agent.types import Document

HEADER = {"type": "header", "format": "rag_agent", "version": 1, "written_by": "1",
          "pipeline": "p", "roots": ["."]}  # fmt: skip


def document(path: str, chunks: int) -> dict[str, Any]:
    return {"type": "document", "root": 0, "path": path, "sha256": "0" * 64, "size": 1,
            "kind": "prose", "chunks": chunks}  # fmt: skip


def chunk(path: str, text: str = "words") -> dict[str, Any]:
    return {"type": "chunk", "root": 0, "path": path, "start": 1, "end": 1, "text": text}


def end(documents: int) -> dict[str, Any]:
    return {"type": "end", "documents": documents, "chunks": 0, "vectors": 0}


def read(*given: dict[str, Any] | str) -> tuple[list[Group], list[str]]:
    """The groups behind a header, and the problems."""
    problems: list[str] = []
    texts = [one if isinstance(one, str) else json.dumps(one) for one in (HEADER, *given)]
    groups = list(read_export(texts, problems.append).groups)
    return groups, problems


def test_chunks_come_with_the_document_before_them() -> None:
    groups, problems = read(
        document("a", 2), chunk("a", "1"), chunk("a", "2"), document("b", 0), end(2)
    )
    assert [(g.line, g.document.path, [c.text for c in g.chunks]) for g in groups] == [
        (2, "a", ["1", "2"]),
        (5, "b", []),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("given", "kept", "problem"),
    [
        ([document("a", 1), "{broken", document("b", 0), end(2)], ["b"], "line 3: Invalid JSON"),
        ([document("a", 1), chunk("a"), "[]", document("b", 0), end(2)], ["a", "b"], "line 4: "),
        (
            [document("a", 2), chunk("a"), document("b", 0), end(2)],
            ["b"],
            "line 2: a is left out: 1 of its 2 chunks are there",
        ),
        ([chunk("a"), document("b", 0), end(1)], ["b"], "line 2: a chunk of a without"),
        ([{"type": "marvel"}, document("b", 0), end(1)], ["b"], "line 2: Input tag 'marvel'"),
        ([HEADER, document("b", 0), end(1)], ["b"], "line 2: a second header is passed over"),
        ([document("b", 0)], ["b"], "the file ends early"),
        ([document("b", 0), end(2)], ["b"], "line 3: 1 of 2 documents are there"),
        ([document("a", -1), document("b", 0), end(1)], ["b"], "line 2: document.chunks: "),
        ([document("", 0), document("b", 0), end(1)], ["b"], "line 2: document.path"),
        ([document("a\0", 0), document("b", 0), end(1)], ["b"], "line 2: document.path"),
        ([{**document("a", 0), "path": 3}, document("b", 0), end(1)], ["b"], "document.path"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_with_its_number_and_the_rest_is_read(
    given: list[Any], kept: list[str], problem: str
) -> None:
    groups, problems = read(*given)
    assert [group.document.path for group in groups] == kept
    assert len(problems) == 1
    assert problem in problems[0]


def test_chunks_behind_a_broken_document_are_told_once() -> None:
    groups, problems = read("{broken", chunk("a"), chunk("a"), document("b", 0), end(1))
    assert [group.document.path for group in groups] == ["b"]
    assert len(problems) == 1


def test_a_broken_document_behind_a_whole_one_costs_only_itself() -> None:
    groups, problems = read(document("a", 1), chunk("a"), "{broken", chunk("b"), end(1))
    assert [group.document.path for group in groups] == ["a"]
    assert len(problems) == 1


def test_what_a_later_version_adds_is_passed_over() -> None:
    groups, problems = read({**document("a", 0), "mood": "calm"}, end(1))
    assert ([group.document.path for group in groups], problems) == (["a"], [])


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("", "line 1: Invalid JSON"),
        ("no JSON", "line 1: Invalid JSON"),
        ('{"type": "chunk"}', "line 1: chunk.root"),
        (json.dumps(document("a", 0)), "line 1 is of type document, no header"),
        (json.dumps({**HEADER, "version": 99}), "of version 99 .* install that version or a newer"),
        (json.dumps({**HEADER, "format": "other"}), "header.format"),
    ],
)
def test_what_is_no_export_is_refused(first: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        read_export([first], _fails)


@given(st.lists(st.one_of(
    st.text(), st.sampled_from([json.dumps(d) for d in
                                (document("a", 1), document("b", 0), chunk("a"), HEADER, end(1))]),
)))  # fmt: skip
def test_no_lines_make_the_reader_fail_or_give_part_of_a_document(given: list[str]) -> None:
    groups, problems = read(*given)
    assert all(len(group.chunks) == group.document.chunks for group in groups)
    assert all(problems)


def test_a_line_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LONGEST", 10)
    stream = io.BytesIO(b"short\n" + b"x" * 35 + b"\n" + b"0123456789\n" + b"last")
    assert list(bounded_lines(stream)) == [b"short\n", b"x" * 10, b"0123456789", b"last"]


def test_every_field_of_a_document_is_exported() -> None:
    # Its text and what of it is not embedded are in the chunks; aliases are of Markdown, which is
    # read from the file again.
    names = {field.name for field in fields(Document)} - {"text", "unembedded", "aliases"}
    assert names <= set(DocumentLine.model_fields)


def test_every_column_of_a_document_is_exported_or_made_of_others(tmp_path: Path) -> None:
    derived = set(
        "id root_id folded passages words card_digest mtime_ns name title_plain author "
        "author_plain year created modified".split()
    )
    names = {"day": "date"}
    with Store.open(tmp_path / "rag.db") as store:
        columns = {row[1] for row in store._database.rows("PRAGMA table_info(documents)")}
    exported = {names.get(column, column) for column in columns - derived}
    assert exported <= set(DocumentLine.model_fields)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", "\ufeff"])
def test_a_mark_of_utf_8_before_the_header_is_passed_over(mark: Any) -> None:
    header = json.dumps(HEADER)
    first = mark + (header if isinstance(mark, str) else header.encode())
    assert read_export([first], _fails).header.pipeline == "p"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_an_export_in_utf_16_is_refused_with_what_to_do(encoding: str) -> None:
    data = f"\ufeff{json.dumps(HEADER)}\n".encode(encoding)
    with pytest.raises(StoreError, match=r"UTF-16.*`rag-agent export FILE`"):
        read_export(bounded_lines(io.BytesIO(data)), _fails)


_HUGE = 10**30
_TEXT = "one\ntwo"  # of two lines and seven characters


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"root": _HUGE}, "root"),
        ({"start": _HUGE}, "start"),
        ({"start": 0}, "start"),
        ({"end": _HUGE}, "end"),
        ({"start": 2, "end": 1}, "from line 2 to 1 are not the 2 of its text"),
        ({"end": 9}, "from line 1 to 9 are not the 2 of its text"),
        ({"text": "a\0\n"}, "text"),
        ({"heading": "a\0"}, "heading"),
        ({"passages": [[1, 2, 0, _HUGE, None]]}, "passages.0.3"),
        ({"passages": [[1, 2, -1, 3, None]]}, "passages.0.2"),
        ({"passages": [[1, 2, 0, -3, None]]}, "passages.0.3"),
        ({"passages": [[1, 2, 5, 3, None]]}, "a passage lies outside of it"),
        ({"passages": [[1, 3, 0, 7, None]]}, "a passage lies outside of it"),
        ({"passages": [[2, 1, 0, 7, None]]}, "a passage lies outside of it"),
        ({"passages": [[1, 2, 0, 9, "own text"]]}, "a passage lies outside of it"),
        ({"definitions": [["f", "function", 1, _HUGE]]}, "definitions.0.3"),
        ({"definitions": [["f", "function", 0, 1]]}, "definitions.0.2"),
        ({"definitions": [["f", "function", 3, 4]]}, "the definition of f lies outside of it"),
        ({"definitions": [["f", "function", 2, 1]]}, "the definition of f lies outside of it"),
        ({"embedded": False, "vector": "AAAA"}, "it has a vector and is found by words only"),
    ],
)
def test_a_place_that_a_chunk_cannot_have_costs_its_document_only(
    changed: dict[str, Any], place: str
) -> None:
    bad = {**chunk("a", _TEXT), "end": 2, **changed}
    groups, problems = read(document("a", 1), bad, document("b", 0), end(2))
    assert [group.document.path for group in groups] == ["b"]
    assert len(problems) == 1
    assert problems[0].startswith("line 3: chunk")
    assert place in problems[0]


def test_the_places_that_chunks_have_are_taken() -> None:
    first = {**chunk("a", _TEXT), "end": 2, "passages": [[1, 2, 0, 7, None], [2, 2, 0, 3, "own"]],
             "definitions": [["f", "type", 2, 90]]}  # fmt: skip
    rest = {**chunk("a"), "start": 2, "end": 2}  # of the same long line
    groups, problems = read(document("a", 2), first, rest, end(1))
    assert (len(groups), problems) == (1, [])


def test_chunks_out_of_order_cost_their_document_only() -> None:
    lines = [{**chunk("a"), "start": n, "end": n} for n in (2, 1, 3)]
    groups, problems = read(document("a", 3), *lines, document("b", 0), end(2))
    assert [group.document.path for group in groups] == ["b"]
    assert problems == ["line 4: a chunk of a before the end of the one above; a is left out"]


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"root": _HUGE}, "root"),
        ({"size": _HUGE}, "size"),
        ({"size": -1}, "size"),
        ({"sha256": "0"}, "sha256"),
        ({"chunks": _HUGE}, "chunks"),
        ({"date": "yesterday"}, "date"),
        ({"pages": [3, 1]}, "the pages do not ascend"),
        ({"pages": [1, 1]}, "the pages do not ascend"),
        ({"pages": [0]}, "pages.0"),
        ({"pages": [_HUGE]}, "pages.0"),
        ({"links": [["b", _HUGE, False]]}, "links.0.1"),
        ({"coverage": {"ocr": _HUGE}}, "coverage.ocr"),
        ({"coverage": {"ocr": -1}}, "coverage.ocr"),
        ({"metadata": {"a\0": "b"}}, "metadata"),
        ({"tags": ["\0"]}, "tags.0"),
        ({"card": {"digest": "no hex", "vector": ""}}, "card.digest"),
        ({"path": "a" * 40_000}, "path"),
    ],
)
def test_what_a_document_cannot_have_costs_it_only(changed: dict[str, Any], place: str) -> None:
    groups, problems = read({**document("a", 0), **changed}, document("b", 0), end(2))
    assert [group.document.path for group in groups] == ["b"]
    assert problems[0].startswith("line 2: document")
    assert place in problems[0]


def test_what_is_told_of_a_line_is_short() -> None:
    _, problems = read({"type": "x" * 10_000}, end(0))
    assert len(problems[0]) < 400


def _fails(problem: str) -> None:
    raise AssertionError(problem)
