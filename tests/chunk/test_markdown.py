"""Where prose is cut, and what its headings are."""

from __future__ import annotations

import pytest

from rag_agent.chunk import chunk
from rag_agent.chunk.markdown import outline
from rag_agent.types import Chunk, Document

SENTENCE = "The quick brown fox jumps over the lazy dog and goes on to the river. "
PARAGRAPH = (SENTENCE * 12).strip()  # about 840 characters


def cut(text: str, language: str = "markdown") -> list[Chunk]:
    return chunk(Document(path="a", kind="prose", language=language, text=text))


def headings_of(text: str, language: str) -> list[str]:
    lines = text.split("\n")
    document = Document(path="a", kind="prose", language=language, text=text)
    return [heading for _, heading in outline(document, lines).sections]


def test_sections_begin_chunks_and_carry_their_path() -> None:
    body = f"{PARAGRAPH}\n\n{PARAGRAPH}\n"

    chunks = cut(f"# Guide\n\n## Install\n\n{body}\n## Use\n\n{body}\n### Options\n\n{body}")

    assert [part.heading for part in chunks] == [
        "Guide > Install",
        "Guide > Use",
        "Guide > Use > Options",
    ]
    assert [part.text.split("\n")[0] for part in chunks] == ["# Guide", "## Use", "### Options"]


def test_small_sections_share_a_chunk() -> None:
    text = "# Guide\n\n" + "\n".join(f"## Part {n}\n\n{SENTENCE}\n" for n in range(5))

    assert len(cut(text)) == 1


def test_the_rest_of_a_large_section_is_not_mixed_with_the_next_one() -> None:
    large = "\n\n".join([PARAGRAPH] * 4)

    chunks = cut(f"# One\n\n## Large\n\n{large}\n\n# Two\n\n{PARAGRAPH}\n")

    assert chunks[-1].text.startswith("# Two")


def test_a_heading_stays_with_its_first_paragraph() -> None:
    text = "\n\n".join([PARAGRAPH, PARAGRAPH, "## Heading", PARAGRAPH, PARAGRAPH])

    assert [part.text.startswith("## Heading") for part in cut(text)] == [False, True]


def test_a_number_sign_in_a_code_block_is_no_heading() -> None:
    text = "# Real\n\n```sh\n# comment\n~~~\n```\n\n~~~\n# other\n```\n~~~\n\n    # indented\n"

    assert headings_of(text, "markdown") == ["Real"]


def test_a_code_block_that_fits_is_not_cut() -> None:
    code = "```python\n" + "\n\n".join(f"line_{n} = {n}" for n in range(22)) + "\n```"

    chunks = cut(f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{code}\n\n{PARAGRAPH}")

    assert any(code in part.text for part in chunks)


def test_front_matter_belongs_to_the_first_chunk_and_holds_no_heading() -> None:
    text = f"---\ntitle: A\n# comment\ntags: [b]\n---\n\n# Title\n\n{SENTENCE}\n"

    (part,) = cut(text)

    assert part.text.startswith("---\ntitle: A")
    assert part.heading == "Title"


@pytest.mark.parametrize(
    "above", ["(guide)=", '<a id="guide"></a>', "---\ntitle: x\n---", "Draft."]
)
def test_a_few_words_above_the_first_heading_are_no_chunk_of_their_own(above: str) -> None:
    body = f"{PARAGRAPH}\n\n{PARAGRAPH}\n"
    first, *others = cut(f"{above}\n\n# Guide\n\n{body}\n## Use\n\n{body}")
    assert (first.start, first.heading) == (1, "Guide")
    assert first.text.startswith(f"{above}\n\n# Guide\n\nThe quick")
    assert [part.heading for part in others] == ["Guide > Use"]


def test_a_paragraph_above_the_first_heading_is_a_chunk() -> None:
    body = f"{PARAGRAPH}\n\n{PARAGRAPH}"
    first, second = cut(f"{body}\n\n# Guide\n\n{body}\n")
    assert (first.text, second.heading) == (body, "Guide")


def test_a_long_line_is_cut_after_a_sentence() -> None:
    line = SENTENCE * 100

    chunks = cut(f"# Title\n\n{line}\n")

    pieces = [part for part in chunks if part.start == 3]
    assert len(pieces) > 2
    assert all(part.text.endswith(". ") for part in pieces)
    assert "".join(part.text for part in pieces) == line
    assert {part.heading for part in pieces} == {"Title"}


def test_a_paragraph_of_many_lines_is_cut_after_a_sentence() -> None:
    lines = [
        "These words begin a sentence that goes on\nover the end of a line and stops here."
    ] * 60

    chunks = cut("\n".join(lines))

    assert len(chunks) > 1
    assert all(part.text.startswith("These words") for part in chunks)


@pytest.mark.parametrize(
    ("language", "text", "headings"),
    [
        (
            "markdown",
            "One #\n===\n\n# Two #\nThree\n---\n- a\n---\n####### no\n#no\n",
            "One #|Two > Three|Two > Three",
        ),
        ("markdown", "# A\ntext\n### B\ntext\n## C\ntext\n# D\n", "A|A > B|A > C|D"),
        (
            "rst",
            "=====\nTitle\n=====\nx\n\nPart\n----\n\nSub\n~~~\n\nx\n\nNext\n----\n\ny\n",
            "Title|Title > Part > Sub|Title > Part > Sub|Title > Next",
        ),
        (
            "asciidoc",
            "= Title\n\nx\n\n== Part\n\ny\n\n=== Sub\n",
            "Title|Title > Part|Title > Part > Sub",
        ),
        ("org", "* TODO Title :tag:\nx\n** Part\n", "Title|Title > Part"),
        ("latex", "\\section{One}\nx\n\\subsection*{Two}\n", "One|One > Two"),
        ("text", "# no heading\n\nTitle\n=====\n", ""),
    ],
)
def test_headings_of_a_language(language: str, text: str, headings: str) -> None:
    assert headings_of(text, language) == [part for part in headings.split("|") if part]


def test_converted_documents_are_markdown_whatever_they_were() -> None:
    text = f"# Report\n\n{PARAGRAPH}\n"

    (part,) = chunk(
        Document(path="a.html", kind="prose", language="html", text=text, converted=True)
    )

    assert part.heading == "Report"


@pytest.mark.parametrize(
    "line", ["#" + " " * 200_000 + "x", "= " + " " * 200_000 + "x", ". " * 99_999]
)
@pytest.mark.parametrize("language", ["markdown", "asciidoc", "org", "rst", "latex"])
def test_a_hostile_line_is_cut_like_any_other(line: str, language: str) -> None:
    chunks = cut(line, language)

    assert "".join(part.text for part in chunks).split() == line.split()
