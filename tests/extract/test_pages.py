"""A paper of ten pages in two columns, read as people read it (scripts/make_fixtures_pages.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_agent.chunk import chunk
from rag_agent.extract import extract
from rag_agent.types import Chunk, Coverage, Document

PAPER = Path(__file__).parents[2] / "fixtures" / "pages" / "paper.pdf"


@pytest.fixture(scope="module")
def paper() -> Document:
    return extract(PAPER.read_bytes(), "paper.pdf")


@pytest.fixture(scope="module")
def chunks(paper: Document) -> list[Chunk]:
    return chunk(paper)


def _page_of(document: Document, words: str) -> int:
    line = document.text[: document.text.index(words)].count("\n") + 1
    return sum(start <= line for start in document.pages)


def test_columns_follow_each_other_over_ten_pages_and_no_sentence_is_lost(paper: Document) -> None:
    stations = [int(n) for n in re.findall(r"[Ss]tation\s+(\d+)", paper.text)]
    assert len(paper.pages) == 10
    assert stations == list(range(1, stations[-1] + 1))
    assert stations[-1] > 500


def test_headings_are_sections_of_their_level(paper: Document) -> None:
    headings = [line for line in paper.text.split("\n") if line.startswith("#")]
    assert headings == [
        "# Seiches in a closed basin",
        "## Abstract",
        "## 1 Introduction",
        "## 2 Methods",
        "### 2.1 Tide gauges",
        "### 2.2 Current meters",
        "## 3 Results",
        "### 3.1 Periods of the basin",
        "### 3.2 Failure of a sensor",
        "## 4 Discussion",
        "## 5 Conclusions",
        "## References",
    ]


def test_a_chunk_knows_its_page_and_its_section(chunks: list[Chunk]) -> None:
    (found,) = (part for part in chunks if "barnacle" in part.text)
    assert (
        found.heading == "page 6 > Seiches in a closed basin > 3 Results > 3.2 Failure of a sensor"
    )


def test_running_heads_feet_page_numbers_and_the_stamp_are_gone(paper: Document) -> None:
    assert paper.text.count("Seiches in a closed basin") == 1
    assert "Journal of Harbour Hydrography" not in paper.text
    assert paper.text.count("Okafor") == 1
    assert "harbXiv" not in paper.text
    lines = paper.text.split("\n")
    assert [line for line in lines if line.strip().isdigit()] == []


def test_a_word_that_is_broken_at_the_end_of_a_line_is_whole(paper: Document) -> None:
    lines = paper.text.split("\n")
    assert "work had found" in paper.text
    assert [line for line in lines if line.endswith("-")] == []
    # Broken in some places and not in others, it is the same word everywhere.
    found = re.findall(r"[Ss]edi\w*", paper.text)
    assert set(found) == {"sedimentation"}
    assert any(line.endswith("sedimentation") for line in lines)


def test_ligatures_are_letters(paper: Document) -> None:
    assert "sufficient accuracy" in " ".join(paper.text.split())
    assert "where the flow is" in " ".join(paper.text.split())
    assert not re.search("[\ufb00-\ufb06]", paper.text)


def test_rows_of_a_table_stay_rows(paper: Document) -> None:
    start = paper.text.index("| Mode |")
    assert paper.text[start:].split("\n")[:3] == [
        "| Mode | Period | Height | Damping |",
        "| 1 | 47.2 | 12.90 | 0.14 |",
        "| 2 | 23.6 | 6.45 | 0.24 |",
    ]


def test_references_and_numbers_get_no_vector_and_keep_their_words(chunks: list[Chunk]) -> None:
    words_only = [part for part in chunks if not part.embedded]
    text = "\n".join(part.text for part in words_only)
    assert "| 8 | 5.9 | 1.61 | 0.84 |" in text
    assert "Annals of Water 27" in text
    assert "[24] A. Author24" in text
    assert "Station" not in text
    assert all(
        "Author" not in part.text and "| 8 |" not in part.text for part in chunks if part.embedded
    )
    assert all(part.passages for part in words_only)


def test_the_paper_says_who_wrote_it_and_when(paper: Document) -> None:
    assert paper.title == "Seiches in a closed basin"
    assert paper.metadata["author"] == "Ines Okafor; Tomas Lindqvist"
    assert paper.date == "2026-03-14"
    assert paper.tags == ("seiche", "tide gauge", "harbour")
    assert (paper.coverage, paper.warnings) == (Coverage(text=10), ())


def pdf_of(content: bytes) -> bytes:
    """A page with this content, in a font that does not say what its characters are."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, told in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, told)
    entries = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 6\n0000000000 65535 f \n%s" % entries
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(made)
    return made + table + end


def test_ligatures_of_old_tex_fonts_are_letters() -> None:
    words = rb"The de\034nition of an e\036cient o\033er, \035ows and ra\037es."
    document = extract(pdf_of(b"BT /F 12 Tf 20 100 Td (%s) Tj ET" % words), "old.pdf")
    assert document.text == "The definition of an efficient offer, flows and raffles.\n"
