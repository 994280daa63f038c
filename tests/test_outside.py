"""Outside of a project: what this user added is followed, what settings alone say is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rag_agent
from rag_agent import paths
from rag_agent.commands.parsing import parse
from rag_agent.errors import ConfigError, StoreMissing
from rag_agent.progress import silent
from rag_agent.search import search
from rag_agent.types import SearchResults

_NOTED = "outside.json"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A project that came with an index's settings, which name a folder beside it."""
    return _project(tmp_path / "clone", [".", "../private"])


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "diary.md").write_text("# Diary\n\nthe quokka plan\n", encoding="utf-8")
    return folder


def _project(folder: Path, tracked: list[str]) -> Path:
    (folder / ".pi/rag").mkdir(parents=True)
    (folder / "readme.md").write_text("# Read me\n\nhello\n", encoding="utf-8")
    _config(folder).write_text(json.dumps({"trackedPaths": tracked}), encoding="utf-8")
    return folder


def _config(folder: Path) -> Path:
    return folder / ".pi/rag/config.json"


def _finds(index: rag_agent.Index, query: str = "quokka") -> bool:
    return any(query in hit.chunk.text for hit in index.search(query).hits)


def test_settings_alone_do_not_reach_out_of_a_project(clone: Path, private: Path) -> None:
    with rag_agent.open(clone) as index:
        for done in (index.sync("."), index.refresh(), index.rebuild()):
            (warning,) = (one for one in done.warnings if str(private) in one)
            assert f"`rag-agent index {private}`" in warning
            assert not _finds(index)
        assert index.tracked_paths == (clone,)
        assert any(str(private) in one for one in index.status().warnings)
        # What a team's settings say stays for those who allow it.
        assert json.loads(_config(clone).read_text("utf-8"))["trackedPaths"] == [".", "../private"]


def test_what_this_user_adds_is_followed_from_then_on(clone: Path, private: Path) -> None:
    with rag_agent.open(clone) as index:
        (told,) = index.sync("../private").warnings
        assert "is followed from now on" in told
        assert _finds(index)
    with rag_agent.open(clone) as index:
        (private / "diary.md").write_text("# Diary\n\nthe wombat plan\n", encoding="utf-8")
        assert index.refresh().warnings == ()
        assert _finds(index, "wombat")
        assert index.status().warnings == ()
        assert set(index.tracked_paths) == {clone, private}


def test_what_lies_in_a_folder_that_was_added_may_be_followed(clone: Path, private: Path) -> None:
    with rag_agent.open(clone) as index:
        index.configure(tracked_paths=(".", str(private)))  # a program's way of adding it
    _config(clone).write_text(
        json.dumps({"trackedPaths": [".", "../private/diary.md"]}), encoding="utf-8"
    )
    with rag_agent.open(clone) as index:
        assert index.refresh().warnings == ()
        assert _finds(index)


def test_a_part_of_what_settings_name_can_be_added(clone: Path, private: Path) -> None:
    (private / "more").mkdir()
    (private / "more/diary.md").write_text("# More\n\nthe numbat plan\n", encoding="utf-8")
    with rag_agent.open(clone) as index:
        index.sync(private / "more")
        assert _finds(index, "numbat")
        (warning,) = index.refresh().warnings
        assert warning.startswith(f"{private} is not followed")
        assert not _finds(index, "quokka")


def test_what_was_added_to_one_project_is_not_added_to_another(
    clone: Path, private: Path, tmp_path: Path
) -> None:
    with rag_agent.open(clone) as index:
        index.sync(private)
    shutil.copytree(clone, tmp_path / "other", ignore=shutil.ignore_patterns("*.db*"))
    with rag_agent.open(tmp_path / "other") as index:
        assert any(str(private) in one for one in index.sync(".").warnings)
        assert not _finds(index)


def test_a_link_in_a_project_leads_no_further_than_its_settings(
    tmp_path: Path, private: Path
) -> None:
    project = _project(tmp_path / "linked", [".", "notes"])
    try:
        (project / "notes").symlink_to(private, target_is_directory=True)
    except OSError:
        pytest.skip("no links may be made here")
    with rag_agent.open(project) as index:
        assert any(str(private) in one for one in index.refresh().warnings)
        assert not _finds(index)


def test_an_old_index_of_files_reaches_no_further_either(tmp_path: Path, private: Path) -> None:
    project = _project(tmp_path / "old", [])
    files = {str(path): {} for path in (project / "readme.md", private / "diary.md")}
    (project / ".pi/rag/index.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    with rag_agent.open(project) as index:
        assert any("diary.md is not followed" in one for one in index.refresh().warnings)
        assert not _finds(index)


def test_where_nothing_may_be_followed_a_refresh_says_so(tmp_path: Path, private: Path) -> None:
    project = _project(tmp_path / "bare", [str(private)])
    call = parse(["refresh"])
    with pytest.raises(StoreMissing, match="no tracked path may be followed"):
        call.verb.run(lambda: rag_agent.open(project), call.arguments, silent)


def test_of_many_paths_the_first_are_told(tmp_path: Path) -> None:
    project = _project(tmp_path / "many", [".", *(f"../p{number}" for number in range(99))])
    with rag_agent.open(project) as index:
        told = index.status().warnings
        assert len(told) == 6
        assert "94 more" in told[-1]


def test_the_users_own_index_follows_what_its_settings_name(home: Path, private: Path) -> None:
    _project(home, [str(private)])
    with rag_agent.open(home) as index:
        assert index.scope == "global"
        assert index.refresh().warnings == ()
        assert _finds(index)


@pytest.mark.parametrize("noted", ["", "[]", '{"x": 3}', "[" * 100_000, '{"x": [3]}'])
def test_a_damaged_note_allows_nothing_and_is_written_anew(
    clone: Path, private: Path, noted: str
) -> None:
    paths.data_folder().mkdir(parents=True)
    (paths.data_folder() / _NOTED).write_text(noted, encoding="utf-8")
    with rag_agent.open(clone) as index:
        index.sync(".")
        assert not _finds(index)
        index.sync(private)
        assert index.refresh().warnings == ()


def test_a_note_that_cannot_be_written_says_so(clone: Path, private: Path) -> None:
    paths.data_folder().parent.mkdir(parents=True, exist_ok=True)
    paths.data_folder().write_text("no folder", encoding="utf-8")
    with rag_agent.open(clone) as index, pytest.raises(ConfigError, match=_NOTED):
        index.sync(private)


def test_that_a_path_outside_of_the_project_is_followed_is_told_once(
    tmp_path: Path, private: Path
) -> None:
    with rag_agent.open(_project(tmp_path / "mine", ["."])) as index:
        assert index.sync(".").warnings == ()
        (told,) = index.sync(private).warnings
        assert told.startswith(f"{private} lies outside of the project and is followed from now on")
        assert index.sync(private).warnings == ()


def test_an_index_that_came_with_a_clone_reads_nothing_outside_of_it(
    tmp_path: Path, private: Path
) -> None:
    with rag_agent.open(_project(tmp_path / "made", ["."])) as index:
        index.sync(".")
        index.sync(private)
        assert _finds(index)
    (paths.data_folder() / _NOTED).unlink()
    (private / "diary.md").write_text("# Diary\n\nthe quokka and the wombat\n", encoding="utf-8")
    (private / "later.md").write_text("# Later\n\na quokka and a numbat\n", encoding="utf-8")
    with rag_agent.open(tmp_path / "made") as index:
        found = index.search("quokka wombat numbat")
        assert [hit.path for hit in found.hits if "diary" in hit.path or "later" in hit.path] == []
        assert any("outside of the project" in note for note in found.notes)
        assert "wombat" not in index.context("where are the quokka and the wombat?").text


def test_what_may_not_be_followed_any_more_is_not_forgotten(tmp_path: Path, private: Path) -> None:
    with rag_agent.open(_project(tmp_path / "mine", ["."])) as index:
        index.sync(private)
    (paths.data_folder() / _NOTED).unlink()  # as after the project was moved
    with rag_agent.open(tmp_path / "mine") as index:
        assert index.refresh().removed == 0
        assert not _finds(index)
        done = index.sync(private)
        assert (done.unchanged, done.added, done.embedded) == (1, 0, 0)
        assert _finds(index)


def test_files_of_a_folder_that_is_away_hide_none_that_is_there(
    tmp_path: Path, private: Path
) -> None:
    for number in range(30):
        (private / f"{number}.md").write_text(f"# Quokka {number}\n\nquokka\n", encoding="utf-8")
    project = _project(tmp_path / "mine", ["."])
    (project / "birds.md").write_text("# Birds\n\nno quokka, but a heron\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync(".")
        index.sync(private)
        shutil.move(private, tmp_path / "away")
        assert index.search("quokka", 3).hits[0].path == "birds.md"


def test_where_all_that_was_found_is_known_nothing_is_asked_again(
    tmp_path: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counting(*arguments: Any, **options: Any) -> SearchResults:
        asked.append(options["limit"])
        return search(*arguments, **options)

    with rag_agent.open(_project(tmp_path / "mine", ["."])) as index:
        index.sync(".")
        index.sync(private)
        shutil.move(private, tmp_path / "away")
        monkeypatch.setattr("rag_agent.index.search", counting)
        assert [hit.path for hit in index.search("quokka", 10).hits] == ["readme.md"]
        assert set(asked) == {10}
