"""Documents with pages, tables, and files of keys."""

from __future__ import annotations

import pytest

from rag_agent.chunk import chunk
from rag_agent.types import Chunk, Document

PAGE = "\n".join(["A line of a page that says something about a subject."] * 20)


def paged(pages: list[str]) -> list[Chunk]:
    starts = []
    line = 1
    for page in pages:
        starts.append(line)
        line += page.count("\n") + 1
    return chunk(
        Document(
            path="a.pdf",
            kind="prose",
            language="pdf",
            text="\n".join(pages),
            pages=tuple(starts),
            converted=True,
        )
    )


def data(text: str, language: str) -> list[Chunk]:
    return chunk(Document(path="a", kind="data", language=language, text=text))


def test_a_chunk_does_not_cross_a_page() -> None:
    chunks = paged([PAGE, PAGE + "\n" + PAGE + "\n" + PAGE, PAGE])

    assert [part.heading for part in chunks] == ["page 1", "page 2", "page 2", "page 3"]
    assert chunks[0].text == PAGE
    assert chunks[-1].text == PAGE


def test_tiny_pages_go_with_the_page_after_them() -> None:
    chunks = paged(["Title", "", PAGE, "End"])

    assert [part.heading for part in chunks] == ["pages 1-3", "page 4"]


def test_pages_without_text_are_no_chunks() -> None:
    assert paged(["", "", ""]) == []


def test_the_heading_names_the_page_and_then_the_section() -> None:
    chunks = paged([f"# Tides\n\n{PAGE}", f"{PAGE}\n{PAGE}\n\n## Slack\n\n{PAGE}\n{PAGE}"])

    assert [part.heading for part in chunks] == [
        "page 1 > Tides",
        "page 2 > Tides",
        "page 2 > Tides > Slack",
    ]


def test_a_heading_at_the_foot_of_a_page_goes_with_its_text() -> None:
    chunks = paged([f"{PAGE}\n\n# Slack", PAGE])

    assert [part.heading for part in chunks] == ["page 1", "page 2 > Slack"]
    assert chunks[1].text.startswith("# Slack\n")


def test_marked_lines_are_chunks_of_their_own_without_a_vector() -> None:
    text = "\n".join([PAGE, "[1] A source.", "[2] Another.", PAGE])
    document = Document(
        path="a.pdf", kind="prose", text=text, pages=(1,), converted=True, unembedded=((21, 22),)
    )

    chunks = chunk(document)

    assert [(part.start, part.end, part.embedded) for part in chunks] == [
        (1, 20, True),
        (21, 22, False),
        (23, 42, True),
    ]


def test_a_table_is_cut_between_records_under_its_header() -> None:
    records = [f'{number},"a note\nover two lines",{number}' for number in range(60)]

    chunks = data("id,note,count\n" + "\n".join(records), "csv")

    assert len(chunks) > 2
    assert all(part.text[0].isdigit() for part in chunks[1:])
    assert {part.heading for part in chunks} == {"id,note,count"}


def test_an_empty_table_has_no_chunks() -> None:
    assert data("", "csv") == []


@pytest.mark.parametrize(
    ("language", "block", "firsts"),
    [
        ("yaml", "job_{n}:\n" + "  step: value\n" * 35, "job_{n}:"),
        ("json", '  "job_{n}": {{\n' + '    "step": 1,\n' * 34 + "  }},\n", '  "job_{n}": {{'),
        ("toml", "[job.{n}]\n" + "step = 1\n" * 34 + "\n", "[job.{n}]"),
        ("ini", "[job {n}]\n" + "step = 1\n" * 34 + "\n", "[job {n}]"),
    ],
)
def test_keys_begin_chunks(language: str, block: str, firsts: str) -> None:
    text = "".join(block.format(n=number) for number in range(6))

    chunks = data(text, language)

    assert [part.text.split("\n")[0] for part in chunks] == [
        firsts.format(n=number).strip("\n") for number in range(6)
    ]


def test_the_heading_is_the_path_of_keys_to_the_first_line() -> None:
    steps = "\n".join(f"      - name: step {n}\n        run: make {n}" for n in range(60))

    chunks = data(f"on: push\njobs:\n  test:\n    steps:\n{steps}\n", "yaml")

    assert [part.heading for part in chunks] == ["jobs", *["jobs > test > steps"] * 2]
