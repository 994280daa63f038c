from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from matching import matching

from rag_agent.store import Store, filters
from rag_agent.types import Coverage, Root, Skipped


def test_a_project_can_be_moved_with_its_store(
    store: Store, tmp_path: Path, path: Path, put: Any
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    elsewhere.mkdir()
    inside = project / "src"
    inside.mkdir()
    for folder in (project, inside, elsewhere):
        put(store, store.add_root(str(folder)), "a.md", "text")
    store.close()
    shutil.move(project, tmp_path / "moved")
    with Store.open(tmp_path / "moved" / ".pi" / "rag" / "rag.db") as moved:
        assert [root.path for root in moved.roots()] == [
            str(tmp_path / "moved"),
            str(tmp_path / "moved" / "src"),
            str(elsewhere),
        ]
        # Known again, so that nothing is indexed anew.
        assert moved.add_root(str(tmp_path / "moved")) == moved.roots()[0]


def test_a_root_is_known_by_any_spelling(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    root = store.add_root(str(folder))
    assert store.add_root(str(folder) + os.sep) == root
    assert store.add_root(str(tmp_path / "x" / ".." / "notes")) == root
    assert store.add_root(str(link)) == root
    assert store.roots() == [root]


def test_of_several_roots_those_outside_the_project_are_shown_absolute(
    store: Store, tmp_path: Path, put: Any
) -> None:
    first = store.add_root(str(tmp_path / "project"))
    identifier = put(store, first, "src/a.md", "text")
    store.set_skipped(first, [Skipped("b.bin", "binary")])
    assert store.shown_path(first, "src/a.md") == "src/a.md"
    assert store.skipped()[0].path == "b.bin"

    note = tmp_path / "note.md"
    note.write_text("text", encoding="utf-8")
    second = store.add_root(str(note))

    assert store.shown_path(first, "src/a.md") == "src/a.md"
    assert store.chunks_of(identifier)[0].shown_path == "src/a.md"
    assert store.skipped()[0].path == "b.bin"
    inside = tmp_path / "project" / "sub.md"
    inside.write_text("text", encoding="utf-8")
    assert store.shown_path(store.add_root(str(inside)), "sub.md") == "sub.md"
    folder = store.add_root(str(tmp_path / "project" / "lib"))
    assert store.shown_path(folder, "x.md") == "lib/x.md"
    # A root that is a file is its only document.
    assert store.shown_path(second, "note.md") == note.as_posix()


def test_removing_a_root_removes_its_documents_only(store: Store, tmp_path: Path, put: Any) -> None:
    first, second = (store.add_root(str(tmp_path / name)) for name in ("one", "two"))
    put(store, first, "a.md", "apple")
    put(store, first, "b.md", "apple")
    kept = put(store, second, "a.md", "apple")
    assert store.remove_root(first) == 2
    assert store.roots() == [second]
    assert [match.document.id for match in matching(store, ["appl"], 5)] == [kept]
    assert store.check() == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("parse", ["lib/Parser.py", "src/parse/main.py"]),  # plain text: anywhere
        ("PARSER.PY", ["lib/Parser.py"]),
        ("*.py", ["lib/Parser.py", "src/parse/main.py"]),
        ("src/*", ["src/[id]/page.tsx", "src/parse/main.py"]),  # a star crosses folders
        ("src/?ain.py", []),
        ("src/[id]/*", ["src/[id]/page.tsx"]),  # brackets mean themselves
        ("[id]", ["src/[id]/page.tsx"]),
        ("src\\parse\\*", ["src/parse/main.py"]),
        ("*ÄPFEL*", ["äpfel.md"]),
        ("", ["lib/Parser.py", "src/[id]/page.tsx", "src/parse/main.py", "äpfel.md"]),
    ],
)
def test_find(store: Store, root: Any, put: Any, pattern: str, expected: list[str]) -> None:
    for name in ("src/parse/main.py", "lib/Parser.py", "src/[id]/page.tsx", "äpfel.md"):
        put(store, root, name, "text")
    assert [document.path for document in store.find(pattern)] == expected


def test_find_looks_at_the_path_that_is_shown(store: Store, tmp_path: Path, put: Any) -> None:
    for name in ("One", "two"):
        put(store, store.add_root(str(tmp_path / name)), "a.md", "text")
    found = store.find(f"{tmp_path.as_posix()}/one/*")
    assert [document.root.path for document in found] == [str(tmp_path / "One")]


_READS: dict[str, Callable[[Store], object]] = {
    "find": lambda reader: reader.find("*"),
    "documents_by_id": lambda reader: reader.documents_by_id(range(10)),
    "next_document": lambda reader: reader.next_document(0),
    "skipped": lambda reader: reader.skipped(),
    "warnings": lambda reader: reader.warnings(),
    "page_coverage": lambda reader: reader.page_coverage(),
    "count_matching": lambda reader: reader.count_matching(filters.compile("path:*.py")),
    "excluding": lambda reader: reader.excluding(filters.compile("path:*.py"), [1, 2]),
    "places_named": lambda reader: reader.places_named(["a"]),
}


@pytest.mark.parametrize("read", _READS.values(), ids=_READS)
def test_roots_that_come_and_go_between_two_reads_of_one_question_wait_for_the_next(
    store: Store,
    path: Path,
    tmp_path: Path,
    put: Any,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[Store], object],
) -> None:
    def add(name: str) -> Root:
        root = store.add_root(str(tmp_path / name))
        put(store, root, "a.md", "apple", warnings=("odd",), coverage=Coverage(1, 0, 2))
        store.set_skipped(root, [Skipped("b.bin", "binary")])
        return root

    roots = [add("one"), add("two")]
    with Store.open(path, readonly=True) as reader:
        expected = read(reader)
        rows = reader._database.rows
        came: list[Root] = []

        def and_another_process_writes(sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
            found = rows(sql, bindings)
            if sql.startswith("SELECT") and not came:
                came.append(add("three"))
                store.remove_root(roots[0])
            return found

        monkeypatch.setattr(reader._database, "rows", and_another_process_writes)
        assert read(reader) == expected
        assert came
