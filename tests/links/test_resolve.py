"""Which of several files a link means."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.links import Vaults
from rag_agent.links.resolve import resolve
from rag_agent.store.links import name_of, names_for, path_of
from rag_agent.store.records import Place
from rag_agent.types import Link

_BASE = "/home/ä/Vault"


def target(
    written: str, source: str, paths: Sequence[str], *, wiki: bool = True, vault: bool = True
) -> str | None:
    path = path_of(Link(written, 1, wiki=wiki))
    names = names_for(name_of(path))
    candidates = [
        Place(number, f"{_BASE}/{p}", _BASE, name_of(p), p)
        for number, p in enumerate(paths)
        if name_of(p) in names
    ]
    by_name = wiki or vault
    found = resolve(path, f"{_BASE}/{source}", _BASE, candidates, by_name=by_name)
    return None if found is None else found.shown


# As observed on Obsidian 1.13.7: links/resolve.py names the source.
@pytest.mark.parametrize(
    ("written", "source", "paths", "expected"),
    [
        ("Note", "s.md", ["Note.md"], "Note.md"),
        ("note", "s.md", ["a/NOTE.md"], "a/NOTE.md"),
        ("Note.md", "s.md", ["Note.md"], "Note.md"),
        ("Note", "s.md", ["Note.pdf"], None),
        ("Note.pdf", "s.md", ["a/Note.pdf", "Note.md"], "a/Note.pdf"),
        # an exact path wins, even over what lies beside the source
        ("Note", "a/s.md", ["a/Note.md", "Note.md"], "Note.md"),
        ("b/Note", "a/s.md", ["a/b/Note.md", "b/Note.md"], "b/Note.md"),
        # else the source's own folder, and an ancestor of it counts for nothing
        ("Note", "zzzz/s.md", ["b/Note.md", "zzzz/Note.md"], "zzzz/Note.md"),
        ("Note", "zzzz/deep/s.md", ["b/Note.md", "zzzz/Note.md"], "b/Note.md"),
        # else the shortest path as text, not the one with the fewest folders
        ("Note", "s.md", ["zzzz/Note.md", "a/b/Note.md"], "a/b/Note.md"),
        ("Note", "x/s.md", ["a/b/Note.md", "b/Note.md"], "b/Note.md"),
        ("Note", "x/s.md", ["b/Note.md", "a/Note.md"], "a/Note.md"),  # any order, always the same
        # the end of a path is whole folders
        ("b/Note", "s.md", ["a/b/Note.md"], "a/b/Note.md"),
        ("b/Note", "s.md", ["a/bb/Note.md"], None),
        # explicit paths mean one file
        ("./Note", "a/s.md", ["a/Note.md", "Note.md"], "a/Note.md"),
        ("../Note", "a/s.md", ["a/Note.md", "Note.md"], "Note.md"),
        ("../../Note", "a/s.md", ["Note.md"], None),
        ("./Missing", "a/s.md", ["b/Missing.md"], None),
        ("/Note", "a/s.md", ["a/Note.md", "Note.md"], "Note.md"),
        ("/Note", "a/s.md", ["a/Note.md"], None),
        ("Note#Part#Sub", "s.md", ["Note.md"], "Note.md"),
        ("Note#^block", "s.md", ["Note.md"], "Note.md"),
        ("a.b", "s.md", ["a.b.md"], "a.b.md"),
        ("Note.md", "s.md", ["Note.md.md"], "Note.md.md"),
        ("Straße", "s.md", ["Strasse.md"], None),  # no other letters, whatever their case
        ("ÄPFEL 🍎", "s.md", ["x/äpfel 🍎.md"], "x/äpfel 🍎.md"),
    ],
)  # fmt: skip
def test_wiki_links_lead_where_they_lead_in_obsidian(
    written: str, source: str, paths: list[str], expected: str | None
) -> None:
    assert target(written, source, paths) == expected
    assert target(written, source, paths[::-1]) == expected


@pytest.mark.parametrize(
    ("written", "source", "paths", "in_vault", "elsewhere"),
    [
        ("b.md", "a/s.md", ["a/b.md"], "a/b.md", "a/b.md"),
        ("b.md", "a/s.md", ["c/b.md"], "c/b.md", None),  # a vault is searched for it
        ("b.md", "a/s.md", ["a/b.md", "b.md"], "b.md", "a/b.md"),
        ("../b.md", "a/s.md", ["b.md"], "b.md", "b.md"),
        ("My%20Note.md#Part", "s.md", ["My Note.md"], "My Note.md", "My Note.md"),
        ("b.md?plain=1", "s.md", ["b.md"], "b.md", "b.md"),
        ("100%25.md", "s.md", ["100%.md"], "100%.md", "100%.md"),
        ("/b.md", "a/s.md", ["b.md"], "b.md", "b.md"),
        ("main.py", "s.md", ["src/main.py"], "src/main.py", None),
        ("%C3%BC.md", "s.md", ["u\u0308.md"], "u\u0308.md", "u\u0308.md"),
    ],
)
def test_markdown_links_lead_to_one_file_outside_of_vaults(
    written: str, source: str, paths: list[str], in_vault: str | None, elsewhere: str | None
) -> None:
    assert target(written, source, paths, wiki=False) == in_vault
    assert target(written, source, paths, wiki=False, vault=False) == elsewhere


@pytest.mark.parametrize("link", ["NFC", "NFD"])
@pytest.mark.parametrize("file", ["NFC", "NFD"])
def test_the_unicode_form_of_a_name_makes_no_difference(link: str, file: str) -> None:
    path = unicodedata.normalize(file, "Füße/Brücke.md")  # type: ignore[arg-type]
    for written in ("Brücke", "Füße/Brücke", "./Füße/Brücke.md", "BRÜCKE"):
        written = unicodedata.normalize(link, written)  # type: ignore[arg-type]
        assert target(written, "s.md", [path]) == path


def test_a_wiki_link_is_not_percent_decoded() -> None:
    assert target("a%20b", "s.md", ["a b.md", "a%20b.md"]) == "a%20b.md"


def test_the_innermost_vault_is_the_one_a_file_lies_in(tmp_path: Path) -> None:
    for folder in ("outer/.obsidian", "outer/a/inner/.obsidian", "outer/a/b", "none"):
        (tmp_path / folder).mkdir(parents=True)
    vaults, base = Vaults(), tmp_path.as_posix()
    assert vaults.of(f"{base}/outer/x.md") == f"{base}/outer"
    assert vaults.of(f"{base}/outer/a/b/x.md") == f"{base}/outer"
    assert vaults.of(f"{base}/outer/a/inner/c/x.md") == f"{base}/outer/a/inner"
    assert vaults.of(f"{base}/none/x.md") is None
    assert vaults.address(f"{base}/none/x.md") == ""
    assert vaults.address(f"{base}/outer/a & b/50 % #1?.md") == (
        "obsidian://open?vault=outer&file=a%20%26%20b%2F50%20%25%20%231%3F"
    )
    assert vaults.address(f"{base}/outer/scan.pdf") == "obsidian://open?vault=outer&file=scan.pdf"


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: name.strip(".")
)


@given(st.lists(_names, min_size=1))
def test_an_address_gives_back_the_file_that_it_was_made_of(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    vault = tmp_path_factory.getbasetemp() / "a vault & more"
    (vault / ".obsidian").mkdir(parents=True, exist_ok=True)
    file = "/".join(name.replace("/", "-").replace("\0", "-") for name in names)
    address = Vaults().address(f"{vault.as_posix()}/{file}.md")
    assert address.isascii()
    scheme, host, path, query, fragment = urlsplit(address)
    assert (scheme, host, path, fragment) == ("obsidian", "open", "", "")
    assert parse_qs(query, strict_parsing=True) == {"vault": ["a vault & more"], "file": [file]}
