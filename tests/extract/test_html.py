from __future__ import annotations

import pytest

from rag_agent.extract import extract


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>words</p><footer>Imprint</footer>", "words\n"),
        ("<p>words</p><div role='contentinfo'>Imprint</div>", "words\n"),
        ("<article><p>words</p><footer>By Ines</footer></article>", "words\n\nBy Ines\n"),
        ("<p>words <button>Copy</button><select><option>dark</option></select></p>", "words\n"),
        ("<dialog>Cookies?</dialog><p>words</p>", "words\n"),
        ("<?xml version='1.0'?><p>words</p>", "words\n"),
        ("<p>a <a href='b.html#c'>link</a></p>", "a [link](b.html#c)\n"),
        ("<p>a <a href='#c'>link</a></p>", "a link\n"),
        ("<p><ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>の潮位</p>", "港の潮位\n"),
        ("<p><img alt='Cut through the quay' src='q.png'>wall</p>", "Cut through the quay wall\n"),
        ("<p><img alt='build passing' src='b.svg'>wall</p>", "wall\n"),
        ("<p>a <b>bold</b> word</p>", "a **bold** word\n"),
        ("<p>j<b>um</b><i><b>ped</b></i></p>", "jumped\n"),
    ],
)
def test_what_is_around_the_content_is_dropped(page: str, text: str) -> None:
    assert extract(page.encode(), "a.html").text == text


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        # Without a header, the first row is one: an empty header row says nothing.
        ("<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>", ["a | b", "1 | 2"]),
        # Rows without anything go.
        ("<tr><th>a</th></tr><tr><td> </td></tr><tr><td>1</td></tr>", ["a", "1"]),
        # A cell over two rows stands in both, in its column.
        (
            "<tr><th>q</th><th>n</th></tr>"
            "<tr><td rowspan=2>A</td><td>1</td></tr><tr><td>2</td></tr>",
            ["q | n", "A | 1", "A | 2"],
        ),
        (
            "<tr><th>n</th><th>q</th></tr>"
            "<tr><td>1</td><td rowspan=9>A</td></tr><tr><td>2</td></tr>",
            ["n | q", "1 | A", "2 | A"],
        ),
        (
            "<tr><th>a</th><th>b</th><th>c</th></tr>"
            "<tr><td colspan=2>x</td><td rowspan=2>y</td></tr><tr><td>1</td><td>2</td></tr>",
            ["a | b | c", "x | | y", "1 | 2 | y"],
        ),
    ],
)
def test_rows_of_a_table_are_aligned(table: str, lines: list[str]) -> None:
    text = extract(f"<table>{table}</table>".encode(), "a.html").text
    header, rule, *rows = (line.strip("| ") for line in text.splitlines())
    assert [header, *rows] == lines
    assert set(rule) <= set("-| ")


def test_a_table_around_tables_is_a_layout() -> None:
    page = (
        "<table><tr><td>menu</td><td>words<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"
        "</td></tr></table>"
    )
    text = extract(page.encode(), "a.html").text
    assert text.split() == ["menu", "words", *"| a | | --- | | 1 |".split()]
    assert "\n\n| a |\n| --- |\n| 1 |\n" in text


def test_cells_that_claim_to_span_a_billion_rows_cost_what_there_is() -> None:
    page = "<table>" + "<tr><td rowspan=1000000000>a</td></tr>" * 300 + "</table>"
    assert extract(page.encode(), "a.html", seconds=30).text.count("\n") == 301


def test_what_a_page_says_of_itself_is_kept() -> None:
    page = """<html lang="de"><head><title>Gebühren</title>
        <meta name="author" content="Ines Okafor"><meta name="Description" content="Was es kostet.">
        <meta name="keywords" content="Hafen, Gebühr"><meta name="viewport" content="width=1">
        <meta property="article:published_time" content="2026-03-14T09:30:00Z"></head>
        <body><h1>Liegegebühren</h1></body></html>"""
    document = extract(page.encode(), "a.html")
    assert (document.title, document.tags, document.date) == (
        "Gebühren",
        ("Hafen", "Gebühr"),
        "2026-03-14",
    )
    assert document.metadata == {
        "language": "de",
        "author": "Ines Okafor",
        "description": "Was es kostet.",
        "created": "2026-03-14T09:30:00Z",
    }
