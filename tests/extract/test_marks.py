"""Links and tags: what counts as one, and what code and comments hide."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # of rich, which is always there

from rag_agent.extract import extract
from rag_agent.extract.visible import visible_lines


def wiki(text: str) -> list[str]:
    return [link.target for link in extract(text.encode(), "note.md").links if link.wiki]


def plain(text: str) -> list[str]:
    return [link.target for link in extract(text.encode(), "note.md").links if not link.wiki]


def tags(text: str) -> list[str]:
    return list(extract(text.encode(), "note.md").tags)


@pytest.mark.parametrize(
    "text",
    [
        "`[[x]]`",
        "``[[x]] ` [[x]]``",
        "```\n[[x]]\n```",
        "~~~ md\n[[x]]\n```\n[[x]]\n~~~",
        "> ```\n> [[x]]\n> ```",
        "- item\n  ```\n  [[x]]\n  ```",
        "text\n\n    [[x]]\n\n    [[x]]\n",
        "\t[[x]]",
        "- item\n\n      [[x]]",
        "1. one\n\n       [[x]]",
        "%%[[x]]%%",
        "%%\n[[x]]\n\n[[x]]\n%%",
        "<!-- [[x]] -->",
        "a <!-- [[x]]\n[[x]] --> b",
        "\\[[x]]",
        "<pre>\n[[x]]\n</pre>",
        "<pre><code>```mermaid\n[[x]]\n```</code></pre>",
        "[[]] [[|shown]] [[x\n]]",
    ],
)
def test_links_in_code_and_comments_do_not_count(text: str) -> None:
    assert wiki(text) == []
    assert wiki(f"{text}\n\n[[after]]\n") == ["after"]
    assert plain(re.sub(r"\[\[x\]\]", "[x](x.md)", text)) in ([], ["x.md"])


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[a]] ![[b.png]] [[c|shown]] [[d#Part|x]] [[e#^block]] [[#here]]",
         ["a", "b.png", "c", "d#Part", "e#^block", "#here"]),
        ("| [[a\\|shown]] | [[b|c]] |", ["a", "b"]),
        ("[[Notes [old] more]] [[Sq]uare]]", ["Notes [old] more", "Sq]uare"]),
        ("[[命令]]] [[ spaced ]]", ["命令", "spaced"]),
        ("- item\n\n    [[a]] goes on\n\n        [[code]]\n", ["a"]),
        ("- item\n    - inner\n\n        [[a]]\n", ["a"]),
        ("text\n    [[a]] is a paragraph", ["a"]),
        ("100%% sure [[a]]\n[[b]]", ["a", "b"]),
        ("%%x%% [[a]] %%[[b]]%% [[c]]", ["a", "c"]),
        ("`unclosed [[a]]", ["a"]),
        ("``a` [[b]]", ["b"]),
        ("\\`[[a]]\\`", ["a"]),
        ("> quoted [[a]]", ["a"]),
        ("---\nrelated: '[[a]]'\nlist:\n  - \"[[b|B]]\"\n---\n[[c]]", ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_wiki_links_are_found_as_obsidian_reads_them(text: str, targets: list[str]) -> None:
    assert wiki(text) == targets


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[a](x%20y.md) [b](<x y.md> 'title') ![c](p.png)", ["x%20y.md", "x y.md", "p.png"]),
        ("[a long\nlabel](a.md)", ["a.md"]),
        ("[a](a\\(b.md) [b](b\\_c.md) [c](d&amp;e.md)", ["a(b.md", "b_c.md", "d&e.md"]),
        ("[x]: a.md\n[^1]: A footnote is no link", ["a.md"]),
        ('<img src="a.png"> <a class="x" href=\'docs/b.md\'>b</a>', ["a.png", "docs/b.md"]),
        ("<https://example.org> [a](obsidian://open?vault=x) [b](mailto:a@b.c) [c](#d)", []),
    ],
)
def test_links_to_files_are_found_as_commonmark_reads_them(text: str, targets: list[str]) -> None:
    assert plain(text) == targets


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#one and #two/three-x_y.", ["one", "two/three-x_y"]),
        ("#Über #日本語 #עברית #💡 #标签。后", ["Über", "日本語", "עברית", "💡", "标签"]),
        ("#हिन्दी", ["हिन्दी"]),  # whose vowel signs are no letters to Python
        ("#1984 #y1984 #2026-03 #12", ["y1984", "2026-03"]),
        ("a#b https://x.org/#c (#d) ##e #", []),
        ("# Heading #one\n## Two\n#three", ["one", "three"]),
        ("`#a` %%#b%% <!-- #c --> \\#d [[e #f]]", []),
        ("```\n#a\n```\n\n    #b\n", []),
        ("---\ntags: [a, B]\n---\n#b #B #c", ["a", "B", "b", "c"]),
        ("#a/ #/b #c//d", ["a", "b", "c//d"]),
    ],
)  # fmt: skip
def test_tags_are_letters_of_any_script_and_not_only_digits(text: str, found: list[str]) -> None:
    assert tags(text) == found


@pytest.mark.parametrize(
    ("written", "aliases"),
    [
        ("aliases: [One, 'Two, three']", ("One", "Two, three")),
        ("aliases:\n  - One\n  - One", ("One",)),
        ("alias: One", ("One",)),
        ("aliases: One, Two", ("One", "Two")),
        ("aliases:", ()),
        ("aliases: {a: b}", ()),
    ],
)
def test_aliases_are_read_in_every_way_they_are_written(
    written: str, aliases: tuple[str, ...]
) -> None:
    assert extract(f"---\n{written}\n---\n".encode(), "note.md").aliases == aliases


_PIECES = st.sampled_from(
    "[[w]]|[w](w.md)|`|``|```|~~~|text|\n|\n\n|    |  |- |1. |> |# |\\|* |<!--|-->".split("|")
)


@given(st.lists(_PIECES, max_size=14).map("".join))
def test_what_a_commonmark_parser_takes_for_code_is_never_seen(text: str) -> None:
    """Where it sees a fenced or indented block, no line of that has a visible link."""
    lines = {number: seen for number, _, seen in visible_lines(text)}
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence" and token.level == 0 and token.map:
            first, end = token.map
            assert [n for n in range(first + 2, end) if "[[w]]" in lines.get(n, "")] == []


@given(st.text(alphabet="ab[]()`%<>!-#\\ \n\t|", max_size=60))
def test_a_visible_line_is_one_of_the_text_with_its_places_kept(text: str) -> None:
    written = text.split("\n")
    for number, line, seen in visible_lines(text):
        assert len(line) == len(written[number - 1])
        assert len(seen) <= len(line)
        assert all(b in (a, " ", "|") for a, b in zip(line, seen, strict=False))


@pytest.mark.parametrize(
    "piece",
    [
        "[[",
        "[[a",
        "`",
        "``a`",
        "%%",
        "%%a",
        "<!--",
        "<a ",
        "<img src=",
        "#a",
        "#",
        "\\",
        "- ",
        "]]",
    ],
)
def test_a_line_made_of_marks_takes_no_more_time_than_text(piece: str) -> None:
    # Quadratic patterns would need hours for this; pytest would not come back.
    line = piece * (400_000 // len(piece))
    assert extract(f"{line}\n".encode(), "note.md").text == f"{line}\n"
