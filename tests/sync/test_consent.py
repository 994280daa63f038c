"""What a document says that keeps it out of the index, however it is written."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import rag_agent
from rag_agent.index import Index

TOKEN = "ghp_" + "a1B2" * 9


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def indexed(index: Index) -> set[str]:
    return {document.path for document in index.find("*")}


@pytest.mark.parametrize(
    "front",
    [
        "title: Foo: bar\nrag: false",
        "rag: false\ntitle: @foo",
        "tags: [a, b\nrag: no",
        "\trag: off\ntitle: x",
        "RAG: FALSE",
        "Rag: No\ntitle: x",
        "rag:false",
        '"rag": "false"\nx: [',
        "rag: false\nwords:\n" + "- many\n" * 10_000,
        "words:\n" + "- many\n" * 10_000 + "rag: false",
        "rag: false\nwords:\n" + "- many\n" * 40_000,  # longer than what is read of it
    ],
)
def test_a_note_that_opts_out_in_front_matter_of_any_state_stays_out(
    tmp_path: Path, front: str
) -> None:
    write(tmp_path, "private.md", f"---\n{front}\n---\n\nThe zebra sleeps at noon.\n")
    write(tmp_path, "open.md", "---\ntitle: Foo: bar\n---\n\nThe rag was false gold.\n")
    with rag_agent.open(tmp_path) as index:
        report = index.sync(vectors=False)
        assert indexed(index) == {"open.md"}
        assert [(s.path, s.reason) for s in report.skipped] == [("private.md", "rag: false")]


@pytest.mark.parametrize("excluded", ["NFC", "NFD"])
def test_a_tag_is_the_same_however_its_accents_are_written(tmp_path: Path, excluded: str) -> None:
    for form in ("NFC", "NFD"):
        tag = unicodedata.normalize(form, "übung")
        write(tmp_path, f"front-{form}.md", f"---\ntags: [{tag}]\n---\n\nThe zebra sleeps.\n")
        write(tmp_path, f"inline-{form}.md", f"The zebra #{tag.upper()} sleeps.\n")
    with rag_agent.open(tmp_path) as index:
        index.sync(vectors=False)
        for form in ("NFC", "NFD"):
            wanted = unicodedata.normalize(form, "Übung")
            found = index.search("zebra", where=f"tag:{wanted}")
            assert sum(1 + len(hit.copies) for hit in found) == 4
        index.configure(exclude_tags=(unicodedata.normalize(excluded, "übung"),))
        index.sync(vectors=False)
        assert indexed(index) == set()


def test_a_path_is_found_however_its_accents_are_written(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        (tmp_path / form).mkdir()
        name = unicodedata.normalize(form, "Äpfel.md")
        write(tmp_path / form, name, "The zebra sleeps.\n")
    with rag_agent.open(tmp_path) as index:
        index.sync(vectors=False)
        for form in ("NFC", "NFD"):
            wanted = unicodedata.normalize(form, "äpfel.md")
            (hit,) = index.search("zebra", where=f"path:{wanted}")
            assert len(hit.copies) == 1


def test_secrets_in_tags_and_links_are_not_stored(tmp_path: Path) -> None:
    write(
        tmp_path,
        "note.md",
        f"---\ntags: [{TOKEN}, harbour]\naliases: [{TOKEN}]\n---\n\n"
        f"Tides #{TOKEN} and [[{TOKEN}]] and [a link](files/{TOKEN}.md).\n",
    )
    with rag_agent.open(tmp_path) as index:
        index.sync(vectors=False)
        index.close()
        stored = b"".join(file.read_bytes() for file in index.folder.glob("rag.db*"))
        assert TOKEN.encode() not in stored
        assert TOKEN.lower().encode() not in stored
        assert len(index.search("tides", where="tag:harbour")) == 1
        assert "secret" in " ".join(index.status().warnings)
