"""New, renamed and removed files are known at the next question, without a sync of everything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_agent
from rag_agent.index import Index
from rag_agent.sync.arrivals import MOST, arrivals
from rag_agent.sync.lock import WriteLock


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for path, text in {
        "start.md": "The zebra sleeps. See [[Moved]] and [old](c/rel.md).\n",
        "c/rel.md": "# Rel\n\nA lion hunts at dusk.\n",
        "src/deep/tool.py": "def tool():\n    return 'hammer'\n",
        ".gitignore": "build/\n*.log\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def index(project: Path) -> Iterator[Index]:
    with rag_agent.open(project) as opened:
        opened.sync(vectors=False)
        _long_ago(project)
        yield opened


def _long_ago(project: Path) -> None:
    """As if the tree had lain there for an hour when it was synced."""
    for folder in (project, *(path for path in project.rglob("*") if path.is_dir())):
        then = folder.stat().st_mtime_ns - 3600 * 1_000_000_000
        os.utime(folder, ns=(then, then))


def paths(index: Index, query: str, *, hurried: bool = False) -> list[str]:
    """The files that hold a word of the query, best first; others are there by their meaning."""
    found = index.search(query, hurried=hurried)
    return [hit.path for hit in found if hit.evidence.coverage > 0]


def test_a_new_file_is_found_at_the_next_search(index: Index, project: Path) -> None:
    (project / "c" / "new.md").write_text("An okapi hides in the forest.\n", encoding="utf-8")
    assert paths(index, "okapi forest") == ["c/new.md"]


def test_a_file_in_a_new_folder_is_found(index: Index, project: Path) -> None:
    (project / "d" / "e").mkdir(parents=True)
    (project / "d" / "e" / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    assert paths(index, "okapi") == ["d/e/new.md"]


def test_a_file_in_a_folder_that_held_nothing_is_found(project: Path) -> None:
    (project / "empty" / "deep").mkdir(parents=True)
    (project / "pictures").mkdir()
    (project / "pictures" / "okapi.bin").write_bytes(b"\x00")
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        _long_ago(project)
        (project / "empty" / "deep" / "one.md").write_text("An okapi hides.\n", encoding="utf-8")
        assert paths(index, "okapi") == ["empty/deep/one.md"]
        (project / "pictures" / "two.md").write_text("A yak hides.\n", encoding="utf-8")
        assert paths(index, "yak") == ["pictures/two.md"]


def test_a_file_in_a_folder_that_was_made_before_a_search_is_found(
    index: Index, project: Path
) -> None:
    (project / "later" / "deep").mkdir(parents=True)
    (project / "build" / "deep").mkdir(parents=True)
    for _ in range(3):  # it is seen, listed, and left alone
        assert paths(index, "okapi") == []
    (project / "later" / "deep" / "one.md").write_text("An okapi hides.\n", encoding="utf-8")
    (project / "build" / "deep" / "two.md").write_text("An okapi, too.\n", encoding="utf-8")
    assert paths(index, "okapi") == ["later/deep/one.md"]
    (project / "later" / "two.md").write_text("A yak hides.\n", encoding="utf-8")
    assert paths(index, "yak") == ["later/two.md"]


def test_in_a_tree_of_very_many_folders_those_with_documents_are_looked_at(
    index: Index, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (project / f"pictures{number}").mkdir()
        (project / f"pictures{number}" / "okapi.bin").write_bytes(b"\x00")
    index.sync(vectors=False)
    _long_ago(project)
    monkeypatch.setattr("rag_agent.sync.arrivals._MOST_FOLDERS", 8)
    (project / "src" / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    assert paths(index, "okapi") == ["src/new.md"]


def test_a_renamed_file_is_found_by_its_new_name_only_and_links_follow(
    index: Index, project: Path
) -> None:
    (project / "a").mkdir()
    (project / "c" / "rel.md").rename(project / "a" / "Moved.md")
    found = index.related("start.md")
    assert [one.path for one in found.links] == ["a/Moved.md"]
    assert [link.target for link in found.dead] == ["c/rel.md"]
    assert paths(index, "lion dusk") == ["a/Moved.md"]
    assert {d.path for d in index.find("*.md")} == {"start.md", "a/Moved.md"}
    assert index.search("zebra", where="near:a/Moved.md").hits[0].path == "start.md"


def test_a_renamed_folder_takes_its_files_along(index: Index, project: Path) -> None:
    (project / "src").rename(project / "lib")
    assert paths(index, "hammer tool") == ["lib/deep/tool.py"]
    assert [d.path for d in index.find("*.py")] == ["lib/deep/tool.py"]


def test_a_removed_folder_is_forgotten_with_what_lay_in_it(index: Index, project: Path) -> None:
    shutil.rmtree(project / "src")
    assert paths(index, "zebra") == ["start.md"]
    assert index.find("*.py") == []


def test_what_the_rules_leave_out_does_not_come_in(index: Index, project: Path) -> None:
    (project / "build").mkdir()
    for name in ("build/new.md", "trace.log", ".env", "photo.bin"):
        (project / name).write_text("An okapi hides.\n", encoding="utf-8")
    assert paths(index, "okapi") == []


def test_many_new_files_come_in_portions_and_a_refresh_takes_the_rest(
    index: Index, project: Path
) -> None:
    for number in range(2 * MOST + 3):
        (project / f"n{number:02}.md").write_text(f"Okapi number {number}.\n", encoding="utf-8")
    counts = []
    for _ in range(4):
        index.search("okapi")
        counts.append(len(index.find("n*.md")))
    assert counts == [MOST, 2 * MOST, 2 * MOST + 3, 2 * MOST + 3]


def test_a_folder_is_listed_once_until_it_changes_again(index: Index, project: Path) -> None:
    store = index._files.reader()
    assert store is not None
    (project / "c" / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    index.search("okapi")
    assert arrivals(store, index._tracking.rules, index._catching_up._looked) == ([], {})
    (project / "c" / "new.md").unlink()
    places, listed = arrivals(store, index._tracking.rules, index._catching_up._looked)
    assert [path for _, path in places] == ["c/new.md"]
    assert list(listed) == [f"{project}/c"]


def test_while_another_process_writes_the_search_goes_on_and_the_file_comes_later(
    index: Index, project: Path
) -> None:
    (project / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    with WriteLock(index.folder):
        assert paths(index, "okapi") == []
    assert paths(index, "okapi") == ["new.md"]


def test_a_cleared_index_stays_empty(index: Index, project: Path) -> None:
    index.clear()
    (project / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    assert index.search("okapi").nothing_indexed


def test_a_tree_that_is_not_there_now_is_not_forgotten(index: Index, project: Path) -> None:
    away = project.with_name("away")
    for name in ("c", "src", "start.md", ".gitignore"):
        away.mkdir(exist_ok=True)
        (project / name).rename(away / name)
    _long_ago(project)  # an empty mount point is as old as it was
    index.search("lion")
    assert len(index.find("*")) >= 2


def test_a_hurried_search_leaves_new_files_to_what_follows_it(index: Index, project: Path) -> None:
    (project / "new.md").write_text("An okapi hides.\n", encoding="utf-8")
    assert paths(index, "okapi", hurried=True) == []
    index.catch_up()
    assert paths(index, "okapi", hurried=True) == ["new.md"]
