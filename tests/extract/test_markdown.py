from __future__ import annotations

import pytest

from rag_agent.extract import extract
from rag_agent.types import Document, Link


def _read(text: str) -> Document:
    return extract(text.encode(), "note.md")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From above\n---\n# Heading\n", "From above"),
        ("---\ntags: [a]\n---\n# Heading\n", "Heading"),
        ("intro\n\n## Second level ##\n# First level\n", "Second level"),
        ("Underlined\n===\n", "Underlined"),
        ("text\n\nAlso underlined\n---\n", "Also underlined"),
        ("# See [the page](a.md)\n", "See the page"),
        ('<h1 align="center">In HTML</h1>\n', "In HTML"),
        ("```\n# in code\n```\n# outside\n", "outside"),
        ("~~~~\n~~~\n# still in code\n~~~~~\n# outside\n", "outside"),
        ("#hashtag\n", ""),
        ("---\n\n---\nTwo rules, no title\n", ""),
        ("", ""),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_first_heading(text: str, title: str) -> None:
    assert _read(text).title == title


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: [one, two, one]", ("one", "two")),
        ("tags:\n  - '#one'\n  - nested/two", ("one", "nested/two")),
        ("tags: one, two words", ("one", "two words")),
        ("tags: one two", ("one", "two")),
        ("tag: single", ("single",)),
        ("tags: 2026", ("2026",)),
        ("tags:", ()),
        ("tags: {a: b}", ()),
    ],
)
def test_tags_are_read_in_every_way_they_are_written(written: str, tags: tuple[str, ...]) -> None:
    assert _read(f"---\n{written}\n---\n").tags == tags


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("2026-03-14", "2026-03-14"),
        ("2026-03-14T08:30:00+01:00", "2026-03-14"),
        ("'2026-03-14 08:30'", "2026-03-14"),
        ("2026-13-45", ""),
        ("last spring", ""),
    ],
)
def test_a_date_is_an_iso_day_or_nothing(written: str, date: str) -> None:
    assert _read(f"---\ndate: {written}\n---\n").date == date


def test_front_matter_becomes_metadata_as_written() -> None:
    document = _read("---\naliases: [a, b]\nversion: 1.10\nnested: {x: 1}\nempty:\n---\n")
    assert document.metadata == {"aliases": "a, b", "version": "1.10"}


@pytest.mark.parametrize(
    ("front", "warning"),
    [
        ("---\nok: 1\na: [unclosed\n---\n", "front matter ignored: line 4: "),
        ("+++\na = \n+++\n", "front matter ignored: Invalid value"),
        ("---\na: &a [x]\nb: *c\n---\n", "front matter ignored: line 3: found undefined alias"),
        ("---\n" + "[" * 9000 + "\n---\n", "front matter ignored: "),
    ],
)
def test_unreadable_front_matter_is_said_and_the_rest_is_read(front: str, warning: str) -> None:
    document = _read(front + "# Title\n")
    assert document.title == "Title"
    assert document.text == front + "# Title\n"
    assert document.warnings[0].startswith(warning)
    assert len(document.warnings) == 1


def test_aliases_that_multiply_do_not_unfold() -> None:
    levels = "\n".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]" for n in range(9))
    document = _read(f"---\ntitle: kept\nl0: &l0 [x]\n{levels}\n---\n")
    assert document.title == "kept"
    assert document.metadata == {"title": "kept", "l0": "x"}


def test_links_are_found_with_their_lines_as_written() -> None:
    document = _read(
        "[[Note]] and [[folder/Other#Part|shown]] ![[image.png]]\n"
        "[a](one.md) [b](<with space.md>) [c](two_(draft).md 'title') ![d](pic.png)\n"
        "[web](https://example.org) [mail](mailto:a@example.org) [here](#part) [host](//x.org)\n"
        "`[[code]]` ``[a](code.md)``\n"
        "[ref]: three.md\n"
        "- [task](four.md#part)\n"
    )
    assert document.links == (
        Link("Note", 1, wiki=True),
        Link("folder/Other#Part", 1, wiki=True),
        Link("image.png", 1, wiki=True),
        Link("one.md", 2),
        Link("with space.md", 2),
        Link("two_(draft).md", 2),
        Link("pic.png", 2),
        Link("three.md", 5),
        Link("four.md#part", 6),
    )


@pytest.mark.parametrize(
    "piece",
    ["[", "[[", "](", "`", "``a`", "[[a|", "](a(", "[a]: ", "<h1>", "# ", "~~~", "--- ", "("],
)
def test_a_line_made_of_markup_takes_no_more_time_than_text(piece: str) -> None:
    # Quadratic patterns would need hours for this; pytest would not come back.
    line = piece * (500_000 // len(piece))
    assert _read(line + "\n").text == line + "\n"
