from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import rag_agent
from rag_agent.commands.health import to_come
from rag_agent.errors import ConfigError, StoreCorrupt, WalkError
from rag_agent.extract import extract
from rag_agent.index import Index
from rag_agent.progress import Progress
from rag_agent.sync import freshness
from rag_agent.sync.lock import WriteLock

FORMATS = Path(__file__).resolve().parent.parent / "fixtures" / "formats"
PARSER = '''\
def parse_query(text):
    """Turn a query string such as a=1&b=2 into a dictionary."""
    pairs = (part.partition("=") for part in text.split("&"))
    return {name: value for name, _, value in pairs}
'''
MAILER = '''\
def send_mail(recipient, subject):
    """Deliver a message over SMTP."""
    connection = open_connection()
    connection.deliver(recipient, subject)
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A cache of its own: what other tests have embedded must not count here.
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "parser.py").write_text(PARSER, encoding="utf-8")
    (folder / "mailer.py").write_text(MAILER, encoding="utf-8")
    return folder


def first(index: Index, query: str) -> tuple[str, int, int]:
    hit = index.search(query).hits[0]
    return hit.path, hit.chunk.start, hit.chunk.end


def test_a_copy_stands_in_for_a_file_that_is_gone_and_is_named_only_while_it_is_one(
    project: Path,
) -> None:
    for name in "abcdef":
        (project / name).mkdir()
        shutil.copy(project / "parser.py", project / name / "parser.py")
    (project / "parser.py").unlink()
    with rag_agent.open(project) as index:
        index.sync()
        best = index.search("parse query").hits[0]
        paths = [best.path, *best.copies]
        assert sorted(paths) == [f"{name}/parser.py" for name in "abcdef"]
        (project / paths[0]).unlink()
        (project / paths[1]).unlink()
        (project / paths[2]).write_text("changed = 1\n", encoding="utf-8")
        with WriteLock(index.folder):  # nothing can be synced now
            best = index.search("parse query").hits[0]
            assert [best.path, *best.copies] == paths[3:]
            assert not best.stale
        hurried = index.search("parse query", hurried=True).hits[0]
        assert [hurried.path, *hurried.copies] == paths[3:]
        best = index.search("parse query").hits[0]
        assert [best.path, *best.copies] == paths[3:]
        assert sorted(found.path for found in index.find("*/parser.py")) == sorted(paths[2:])


def test_a_project_gets_its_own_store_at_the_first_sync_and_not_before(project: Path) -> None:
    with rag_agent.open(project) as index:
        results = index.search("anything")
        assert results.hits == ()
        assert "rag-agent index" in results.notes[0]
        assert not (project / ".pi").exists()
        report = index.sync()
        assert (report.added, report.pending) == (2, 0)
        assert (project / ".pi/rag/rag.db").is_file()
        assert (project / ".pi/rag/.gitignore").read_text(encoding="utf-8").strip() == "*"
        assert index.scope == "project"


def test_a_question_finds_the_file_that_answers_it(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        results = index.search("read a URL's parameters into a dict")
        assert results.mode == "hybrid"
        assert results.hits[0].path == "parser.py"
        assert results.hits[0].chunk.start == 1


def test_a_folder_below_the_project_uses_the_projects_store(project: Path) -> None:
    (project / "deep/er").mkdir(parents=True)
    with rag_agent.open(project) as index:
        index.sync()
    with rag_agent.open(project / "deep/er") as index:
        assert first(index, "parse_query")[0] == "parser.py"


def test_a_hit_has_the_lines_the_file_has_now(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        assert first(index, "deliver a message") == ("mailer.py", 1, 4)
        moved = "# one\n# two\n# three\n\n\n" + MAILER
        (project / "mailer.py").write_text(moved, encoding="utf-8")
        (hit, *_) = index.search("deliver a message").hits
        lines = moved.split("\n")[hit.chunk.start - 1 : hit.chunk.end]
        assert hit.chunk.text == "\n".join(lines)
        assert not hit.stale


def test_a_removed_file_is_no_hit(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        (project / "mailer.py").unlink()
        assert "mailer.py" not in [hit.path for hit in index.search("deliver a message")]
        assert index.find("mailer.py") == []


def test_while_another_process_writes_a_moved_hit_is_relocated_and_a_lost_one_left_out(
    project: Path,
) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        (project / "mailer.py").write_text("\n\n\n" + MAILER, encoding="utf-8")
        (project / "parser.py").write_text("nothing = 'like before'\n", encoding="utf-8")
        with WriteLock(index.folder):
            results = index.search("deliver a message parse_query")
        assert [(h.path, h.chunk.start, h.stale) for h in results] == [("mailer.py", 4, True)]
        assert any("left out" in note for note in results.notes)


def test_a_hit_that_has_become_another_chunk_keeps_the_path_it_is_shown_by(
    tmp_path: Path,
) -> None:
    lines = "\n".join(f"harbour line {number} of the gate" for number in range(12))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# A\n\n{lines}\n", encoding="utf-8")
        lines = "words of another kind"
    (tmp_path / "project").mkdir()
    with rag_agent.open(tmp_path / "project") as index:
        for name in ("one", "two"):
            index.sync(tmp_path / name, vectors=False)
        grown = tmp_path / "one" / "a.md"
        grown.write_text(grown.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
        with WriteLock(index.folder):
            hit = index.search("harbour gate").hits[0]
        assert hit.stale
        assert hit.chunk.text.endswith("more")
        assert hit.chunk.path == hit.path == grown.as_posix()


def test_a_copy_of_the_tree_elsewhere_embeds_nothing(project: Path, tmp_path: Path) -> None:
    with rag_agent.open(project) as index:
        first_time = index.sync()
    copy = tmp_path / "elsewhere/project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".pi"))
    with rag_agent.open(copy) as index:
        second_time = index.sync()
        assert first(index, "deliver a message")[0] == "mailer.py"
    assert second_time.embedded == 0
    assert second_time.reused == first_time.embedded + first_time.reused > 0


def test_a_moved_project_takes_its_store_along(project: Path, tmp_path: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
    moved = project.rename(tmp_path / "renamed")
    with rag_agent.open(moved) as index:
        assert first(index, "deliver a message")[0] == "mailer.py"
        report = index.sync()
        assert (report.added, report.unchanged, report.removed) == (0, 2, 0)
        assert [r.removed for r in [index.sync()]] == [0]


def test_after_another_branch_is_checked_out_results_are_those_of_a_fresh_index(
    project: Path, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)

    for number in range(6):
        path = project / f"stable_{number}.py"
        path.write_text(f"def stable_{number}():\n    return {number}\n", encoding="utf-8")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    (project / "parser.py").write_text(PARSER.replace("dictionary", "mapping"), encoding="utf-8")
    (project / "queue.py").write_text("def enqueue(job):\n    jobs.append(job)\n", encoding="utf-8")
    (project / "mailer.py").unlink()
    git("add", "-A")
    git("commit", "-qm", "two")
    git("checkout", "-q", "main")
    with rag_agent.open(project) as index:
        index.sync()
        git("checkout", "-q", "other")
        report = index.sync()
        assert (report.embedded, report.reused) == (2, 0)  # parser.py and queue.py
        switched = [
            (h.path, h.chunk.text, round(h.score, 6)) for h in index.search("enqueue a job")
        ]
        paths = {d.path for d in index.find("*")}
        git("checkout", "-q", "main")
        assert index.sync().embedded == 0
    git("checkout", "-q", "other")
    fresh = tmp_path / "fresh"
    shutil.copytree(project, fresh, ignore=shutil.ignore_patterns(".pi", ".git"))
    with rag_agent.open(fresh) as index:
        index.sync()
        assert paths == {d.path for d in index.find("*")}
        assert switched == [
            (h.path, h.chunk.text, round(h.score, 6)) for h in index.search("enqueue a job")
        ]


def test_a_larger_folder_takes_the_place_of_what_it_contains(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src/deep.py").write_text("deep = 1\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync(project / "src")
        assert [d.path for d in index.find("*")] == ["deep.py"]
        index.sync(project)
        assert [d.path for d in index.find("*")] == ["mailer.py", "parser.py", "src/deep.py"]
        (project / "src/deep.py").write_text("deep = 2\n", encoding="utf-8")
        report = index.sync(project / "src")
        assert (report.changed, report.removed) == (1, 0)
        assert len(index.config.tracked_paths) == 1


@pytest.mark.parametrize("tracked", [[".", "src"], ["src", "."], ["src", "src/deep.py", "."]])
def test_a_path_that_settings_name_inside_another_counts_once(
    tracked: list[str], project: Path
) -> None:
    (project / "src").mkdir()
    (project / "src/deep.py").write_text("deep = 1\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.configure(tracked_paths=tracked)
        assert index.tracked_paths == (project,)
        assert index.sync(vectors=False).added == 3
        assert [d.path for d in index.find("*")] == ["mailer.py", "parser.py", "src/deep.py"]
        again = index.sync(vectors=False)
        assert (again.unchanged, again.chunks) == (3, 0)


def test_links_in_a_circle_among_the_tracked_paths_are_told_and_stop_nothing(
    project: Path,
) -> None:
    (project / "one").symlink_to("two")
    (project / "two").symlink_to("one")
    with rag_agent.open(project) as index:
        index.configure(tracked_paths=["parser.py", "one/x"])
        report = index.sync(vectors=False)
        assert report.added == 1
        assert [warning for warning in report.warnings if str(project / "one/x") in warning]
        assert index.status().documents == 1


def test_of_two_tracked_folders_the_one_outside_the_project_has_absolute_paths(
    project: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "parser.py").write_text("# the other parser\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync()
        index.sync(notes)
        assert {d.root.path for d in index.find("parser.py")} == {str(project), str(notes)}
        assert {h.path for h in index.search("parser")} >= {
            (notes / "parser.py").as_posix(),
            "parser.py",
        }
        assert [d.path for d in index.find("notes/*")] == []
        assert len(index.find("pars*")) == 2


def test_a_single_file_can_be_tracked(project: Path) -> None:
    with rag_agent.open(project) as index:
        assert index.sync(project / "mailer.py").added == 1
        assert first(index, "deliver a message")[0] == "mailer.py"
        assert index.sync().unchanged == 1
        (project / "mailer.py").write_text("# moved\n\n" + MAILER, encoding="utf-8")
        assert first(index, "deliver a message")[2] == 6


@pytest.mark.parametrize("by", ["sync", "search"])
def test_a_tracked_file_may_become_a_folder_and_a_folder_a_file(project: Path, by: str) -> None:
    place, inside = project / "notes.md", project / "notes.md" / "gate.md"
    with rag_agent.open(project) as index:
        index.sync(project / "mailer.py")

        def shown() -> str:
            if by == "sync":
                index.sync(place)
            index.search("harbour gate")  # which takes in what it finds to be new or gone
            return first(index, "harbour gate")[0]

        place.write_text("# Gate\n\nThe harbour gate opens at dawn.\n", encoding="utf-8")
        index.sync(place)
        assert shown() == "notes.md"
        place.unlink()
        place.mkdir()
        inside.write_text("# Gate\n\nThe harbour gate opens at dusk.\n", encoding="utf-8")
        assert shown() == "notes.md/gate.md"
        inside.unlink()
        place.rmdir()
        place.write_text("# Gate\n\nThe harbour gate is closed.\n", encoding="utf-8")
        index.sync(place)  # a search looks for what is new in folders alone
        assert shown() == "notes.md"


def test_paths_that_are_not_there_or_too_large_to_mean_are_refused(tmp_path: Path) -> None:
    with rag_agent.open(tmp_path) as index:
        with pytest.raises(WalkError, match="nowhere"):
            index.sync(tmp_path / "nowhere")
        with pytest.raises(WalkError, match="--force"):
            index.sync(Path.home())
        assert index.config.tracked_paths == ()


def test_an_unmounted_folder_keeps_its_index_while_the_others_are_synced(
    project: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "song.md").write_text("# A song\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync()
        index.sync(disk)
        disk.rename(tmp_path / "away")
        report = index.sync()
        assert any("disk" in warning and "kept" in warning for warning in report.warnings)
        assert len(index.find("song.md")) == 1


@pytest.fixture
def emptied(project: Path, tmp_path: Path) -> Path:
    """A tracked folder of the project's index that has nothing in it any more."""
    disk = tmp_path / "disk"
    (disk / "songs").mkdir(parents=True)
    (disk / "songs/one.md").write_text("# An okapi sings\n", encoding="utf-8")
    (disk / "two.md").write_text("# An okapi whistles\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        index.sync(disk, vectors=False)
    shutil.rmtree(disk)
    disk.mkdir()
    return disk


@pytest.mark.parametrize("named", [None, ""])
def test_a_folder_that_became_empty_keeps_its_index_and_how_to_forget_it_is_told(
    project: Path, emptied: Path, named: str | None
) -> None:
    with rag_agent.open(project) as index:
        report = index.sync(None if named is None else emptied / named, vectors=False)
        assert report.removed == 0
        (warning,) = (warning for warning in report.warnings if str(emptied) in warning)
        assert "rag-agent clear" in warning
        assert "trackedPaths" in warning
        assert [hit.path for hit in index.search("okapi") if "disk" in hit.path] == []
        assert len(index.find("*.md")) == 2


def test_a_folder_that_was_really_emptied_is_forgotten_as_the_warning_says(
    project: Path, emptied: Path
) -> None:
    with rag_agent.open(project) as index:
        index.clear()
        assert index.sync(vectors=False).warnings == ()
        assert [d.path for d in index.find("*")] == ["mailer.py", "parser.py"]
    with rag_agent.open(project) as index:
        (emptied / "three.md").write_text("# An okapi hums\n", encoding="utf-8")
        index.sync(vectors=False)
        (emptied / "three.md").unlink()
        index.configure(tracked_paths=["."])
        assert index.sync(vectors=False).removed == 1


def test_a_folder_that_holds_anything_is_not_taken_for_an_empty_one(
    project: Path, emptied: Path
) -> None:
    (emptied / "picture.bin").write_bytes(b"\x00")
    with rag_agent.open(project) as index:
        report = index.sync(vectors=False)
        assert (report.removed, report.warnings) == (2, ())


def test_without_a_model_words_are_searched_and_the_reason_is_told(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.configure(embedding_model="no/such-model")
        report = index.sync()
        assert (report.added, report.embedded) == (2, 0)
        results = index.search("deliver a message")
        assert (results.mode, results.hits[0].path) == ("lexical", "mailer.py")
        assert any("no/such-model" in note for note in results.notes)
        assert "no/such-model" in index.status().model_problem
        assert [c.name for c in index.doctor() if not c.ok] == ["embedding model"]


def test_words_are_searchable_before_vectors_and_the_reader_is_told(project: Path) -> None:
    with rag_agent.open(project) as index:
        report = index.sync(vectors=False)
        assert report.pending == 2
        results = index.search("deliver a message")
        assert results.hits[0].path == "mailer.py"
        assert any("nothing is embedded" in note for note in results.notes)
        assert index.embed().computed + index.embed().reused <= 2
        assert index.status().pending == 0


def test_an_index_with_cards_alone_tells_so(project: Path) -> None:
    class Interrupted(Exception):
        pass

    with rag_agent.open(project) as index:
        index.sync(vectors=False)

        def report(progress: Progress) -> None:
            if index.status().cards == 2:
                raise Interrupted

        with pytest.raises(Interrupted):
            index.embed(report)
        status = index.status()
        assert (status.cards, status.vectors, status.pending) == (2, 0, 2)
        assert to_come(status) == "2 to come; meanwhile 2 files found by a summary of each"
        index.embed()
        assert to_come(index.status()) == "0 to come"


def test_a_second_sync_embeds_nothing(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        report = index.sync()
    assert (report.embedded, report.reused, report.added, report.changed) == (0, 0, 0, 0)


def test_rebuilding_keeps_the_vectors_of_unchanged_text_unless_forced(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        kept = index.rebuild()
        assert (kept.embedded, kept.reused, kept.unchanged) == (0, 0, 2)
        forced = index.rebuild(force=True)
        assert (forced.embedded, forced.reused, forced.unchanged) == (2, 0, 2)


def test_clearing_keeps_settings_and_tracked_paths(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.configure(rag_top_k=7)
        index.sync()
        index.clear()
        status = index.status()
        assert (status.documents, status.tracked_paths) == (0, (str(project),))
        assert index.config.rag_top_k == 7
        assert index.sync().added == 2


def test_a_corrupt_index_is_reported_and_moved_aside_only_when_asked(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
    database = project / ".pi/rag/rag.db"
    data = bytearray(database.read_bytes())
    data[100:60_000] = os.urandom(59_900)
    database.write_bytes(data)
    with rag_agent.open(project) as index:
        with pytest.raises(StoreCorrupt, match="rebuild --force"):
            index.search("deliver a message")
        assert database.read_bytes() == data
        report = index.rebuild(force=True)
        assert first(index, "deliver a message")[0] == "mailer.py"
    (aside,) = database.parent.glob("rag.db.corrupt-*")
    assert aside.read_bytes() == data
    assert any(aside.name in warning for warning in report.warnings)


def test_a_broken_config_stops_the_sync_and_stays_as_it_is(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        config = index.folder / "config.json"
        config.write_text('{"ragAlpha": "high"}', encoding="utf-8")
        with pytest.raises(ConfigError, match="ragAlpha"):
            index.sync()
        assert config.read_text(encoding="utf-8") == '{"ragAlpha": "high"}'


def test_progress_is_told_by_stage(project: Path) -> None:
    stages: list[Progress] = []
    with rag_agent.open(project) as index:
        index.sync(report=stages.append)
    assert list(dict.fromkeys(p.stage for p in stages)) == ["scan", "extract", "embed"]
    assert all(p.done <= p.total for p in stages if p.total is not None)


def test_status_tells_what_the_data_say(project: Path) -> None:
    (project / "photo.py").write_bytes(bytes(range(256)))
    with rag_agent.open(project) as index:
        index.sync()
        status = index.status()
        assert (status.documents, status.chunks, status.vectors) == (2, 2, 2)
        assert status.languages == {"python": 2}
        assert status.skipped_by_reason["binary"] == 1
        assert "photo.py" in [s.path for s in status.skipped]
        assert status.last_sync.endswith("+00:00")
        assert status.running == ()
        with WriteLock(index.folder):
            assert [a.pid for a in index.status().running] == [os.getpid()]


def test_what_would_be_injected_is_packed_within_the_budget(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        context = index.context("how does send_mail deliver a message over SMTP?", budget=400)
        assert "mailer.py:1-4" in context.text
        assert 0 < context.tokens <= 400
        silent = index.context("thanks, that works")
        assert (silent.text, silent.tokens, silent.hits) == ("", 0, ())
        assert silent.reasons


def test_a_project_reached_through_a_link_is_the_same_project(
    project: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project, target_is_directory=True)
    with rag_agent.open(project) as index:
        index.sync()
    with rag_agent.open(link) as index:
        report = index.sync(link)
        assert (report.added, report.removed, report.unchanged) == (0, 0, 2)
        assert index.tracked_paths == (project.resolve(),)


def test_the_store_of_a_project_named_by_the_environment_still_belongs_to_the_project(
    project: Path, tmp_path: Path
) -> None:
    with rag_agent.open(project) as index:
        index.sync()
    environ = {"PI_RAG_DIR": str(project / ".pi/rag")}
    with rag_agent.open(tmp_path, environ=environ) as index:
        assert index.tracked_paths == (project,)
        report = index.sync()
        assert (report.added, report.removed, report.unchanged) == (0, 0, 2)


def test_settings_that_name_the_home_folder_do_not_get_it_indexed(
    project: Path, home: Path
) -> None:
    (home / "private.md").write_text("# A diary\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.configure(tracked_paths=(str(home), str(project)))
        report = index.sync()
        assert report.added == 2
        assert any(str(home) in warning for warning in report.warnings)
        assert index.find("private") == []


def test_a_missing_folder_neither_breaks_searches_nor_loses_its_index(
    project: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "smtp.md").write_text("# How to deliver a message\n", encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync()
        index.sync(disk)
        disk.rename(tmp_path / "away")
        results = index.search("deliver a message")
        assert [hit.path for hit in results if "smtp" in hit.path] == []
        assert results.hits[0].path == "mailer.py"
        index.rebuild(force=True)
        (tmp_path / "away").rename(disk)
        assert [h.path for h in index.search("deliver a message") if "smtp" in h.path] != []


@pytest.mark.parametrize("query", ["???", '"', "*", "-", "\U0001f433", "\x00", "a" * 100_000])
def test_a_question_without_words_is_answered_or_politely_not(project: Path, query: str) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        assert index.status().vectors == 2
        index.search(query)  # by meaning, or nothing: but no error


def test_an_old_index_json_stays_until_the_new_index_holds_its_files(
    project: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "recipe.md").write_text("# How to bake bread\n", encoding="utf-8")
    legacy = project / ".pi/rag/index.json"
    legacy.parent.mkdir(parents=True)
    legacy.write_text(json.dumps({"files": {str(old / "recipe.md"): {}}}), encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync(project)
        assert index.find("recipe") == []
        index.sync()  # which is not enough, as the file lies outside of the project
        assert legacy.exists()
        index.sync(old)
        index.sync()
        assert len(index.find("recipe")) == 1
        assert not legacy.exists()


def test_an_index_that_is_replaced_while_it_is_open_is_the_new_one(project: Path) -> None:
    with rag_agent.open(project) as index, rag_agent.open(project) as other:
        index.sync()
        assert index.search("query string dictionary").hits
        shutil.rmtree(project / ".pi")
        (project / "added.py").write_text("def brand_new_helper():\n    pass\n", encoding="utf-8")
        other.sync()
        assert index.find("added.py")
        assert index.status().documents == other.status().documents


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="locks are listed on Linux")
def test_asking_whose_database_it_is_does_not_take_sqlites_locks_away(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync()
        index.search("query string")
        inode = (project / ".pi" / "rag" / "rag.db").stat().st_ino
        mine = f" {os.getpid()} "
        before = [
            row
            for row in Path("/proc/locks").read_text().splitlines()
            if mine in row and f":{inode} " in row
        ]
        index.status()
        index.search("dictionary")
        after = [
            row
            for row in Path("/proc/locks").read_text().splitlines()
            if mine in row and f":{inode} " in row
        ]
    assert before
    assert len(after) == len(before)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux lists open files")
def test_an_index_that_is_closed_keeps_no_file_open(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copy(FORMATS / "survey.pdf", project)
    with rag_agent.open(project) as index:
        index.sync()
        assert {"rag.db", "embeddings.db"} <= {path.name for path in _open_below(tmp_path)}
    assert _open_below(tmp_path) == set()
    assert index.search("parse a query string").hits  # and all is opened again
    index.close()
    assert _open_below(tmp_path) == set()


def _open_below(folder: Path) -> set[Path]:
    handles = list(Path("/proc/self/fd").iterdir())
    targets = {handle.readlink() for handle in handles if handle.is_symlink()}
    return {path for path in targets if path.is_relative_to(folder)}


def _note(folder: Path, name: str, tag: str) -> None:
    text = f"---\ntags: [{tag}]\n---\nHow the harbour pump is sealed, {name}.\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _tagged(index: Index, tag: str) -> set[str]:
    return {hit.path for hit in index.search("harbour pump", where=f"tag:{tag}")}


def test_a_filter_knows_of_an_edit_at_the_next_search(project: Path) -> None:
    for name, tag in (("one", "sea"), ("two", "sea"), ("three", "land")):
        _note(project, name, tag)
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        assert _tagged(index, "sea") == {"one.md", "two.md"}
        # Neither is a hit of the search that asks for its new tag.
        _note(project, "one", "land")
        assert _tagged(index, "land") == {"one.md", "three.md"}
        assert _tagged(index, "sea") == {"two.md"}
        (project / "two.md").unlink()
        assert _tagged(index, "sea") == set()
        _note(project, "three", "air")
        assert _tagged(index, "air") == {"three.md"}


def test_a_touched_file_is_no_edit_for_a_filter(project: Path) -> None:
    for name in ("one", "two"):
        _note(project, name, "sea")
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        os.utime(project / "one.md", ns=(1, 1))
        before = index.status().last_sync
        assert _tagged(index, "sea") == {"one.md", "two.md"}
        assert index.status().last_sync == before


def _with_word(index: Index, word: str) -> set[str]:
    return {hit.path for hit in index.search(word) if hit.evidence.coverage > 0}


def test_an_edit_is_found_behind_any_number_of_files_that_a_checkout_only_touched(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        note = project / f"n{number:02}.md"
        note.write_text(f"# note {number}\n\nwords {number:02}\n", encoding="utf-8")
        os.utime(note, ns=(1, 1))
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        for note in project.glob("n*.md"):
            os.utime(note, ns=(2, 2))
        (project / "n99.md").write_text("# note 99\n\nokapi 99\n", encoding="utf-8")
        os.utime(project / "n99.md", ns=(2, 2))
        assert _with_word(index, "okapi") == {"n99.md"}
        # However little a look may read, what it has read it does not read again.
        for note in project.glob("n*.md"):
            os.utime(note, ns=(3, 3))
        (project / "n98.md").write_text("# note 98\n\nokapi 98\n", encoding="utf-8")
        os.utime(project / "n98.md", ns=(3, 3))
        monkeypatch.setattr(freshness, "_MOST_READ", 1_000)
        looks = [_with_word(index, "okapi") for _ in range(20)]
        assert (looks[0], looks[-1]) == ({"n99.md"}, {"n98.md", "n99.md"})


def test_a_file_that_was_only_touched_is_read_once(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        os.utime(project / "parser.py", ns=(1, 1))
        index.search("parse")
        assert {d.path: d.source.mtime_ns for d in index.find("parser.py")} == {"parser.py": 1}


@pytest.mark.parametrize("where", ["", "path:*.py kind:code", "name:okapi"])
def test_a_word_that_an_edit_brought_in_is_found_at_the_next_search(
    project: Path, where: str
) -> None:
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        assert not index.search("okapi", where=where)
        (project / "parser.py").write_text("def okapi():\n    return 1\n", encoding="utf-8")
        found = index.search("okapi", where=where)
        assert [hit.path for hit in found if hit.evidence.coverage > 0] == ["parser.py"]


_PAGE = """\
<html><head><title>Seals</title><meta name="author" content="Béla Bartók">
<meta name="description" content="All about moving water uphill">
<meta name="keywords" content="Quay, pumps"><meta name="date" content="2019-05-01"></head>
<body><h1>Seals</h1><p>They are rings made of rubber.</p></body></html>
"""


def test_what_a_page_says_of_itself_helps_to_find_it_and_is_never_shown(project: Path) -> None:
    (project / "seals.html").write_text(_PAGE, encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync()
        (hit,) = index.search("raising a liquid to a greater height", limit=1, where="ext:html")
        described = hit.evidence.cosine
        for text in (hit.chunk.text, hit.chunk.heading):
            assert "uphill" not in text
            assert "Bart" not in text
        plain = _PAGE.replace("All about moving water uphill", "")
        (project / "seals.html").write_text(plain, encoding="utf-8")
        index.sync()
        (hit,) = index.search("raising a liquid to a greater height", limit=1, where="ext:html")
        assert described is not None
        assert hit.evidence.cosine is not None
        assert described > hit.evidence.cosine + 0.05


@pytest.mark.parametrize(
    "where",
    ["author:bartok", "tag:quay", "year:2019", "created:2019-05", "title:seals", "modified:>7d"],
)
def test_what_a_page_says_of_itself_is_known_to_filters(where: str, project: Path) -> None:
    (project / "seals.html").write_text(_PAGE, encoding="utf-8")
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        found = {hit.path for hit in index.search("rings of rubber", where=where)}
        assert "seals.html" in found
        without = {hit.path for hit in index.search("rings of rubber", where=f"-{where}")}
        assert "seals.html" not in without


def test_a_page_of_a_pdf_is_searched_alone(project: Path) -> None:
    shutil.copy(FORMATS / "survey.pdf", project / "survey.pdf")
    begins = extract((FORMATS / "survey.pdf").read_bytes(), "survey.pdf").pages
    with rag_agent.open(project) as index:
        index.sync()
        for page in (1, 2, 3):
            found = index.search("hydrographic survey", where=f"page:{page}")
            assert [hit.path for hit in found] == ["survey.pdf"]
            for chunk in (found.hits[0].chunk, *found.hits[0].more):
                assert chunk.start < begins[page]
                assert chunk.end >= begins[page - 1]
        nothing = index.search("hydrographic survey", where="page:99")
        assert "page here: 1 to 5" in nothing.notes[0]
