from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_agent.errors import WalkError
from rag_agent.extract import extract
from rag_agent.extract.registry import EXTRACTORS, Registration
from rag_agent.progress import Progress, silent
from rag_agent.store import Store
from rag_agent.sync import sync as syncing
from rag_agent.sync.sync import finish, sync_documents, sync_file
from rag_agent.sync.walk import WalkRules, rules_from
from rag_agent.types import Document, Root, SyncReport

OLD = 1_700_000_000_123_456_789  # a time of modification that no clock's tick can be near


class Tree:
    """A folder of files and the index of it."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self.store = store
        self.root: Root = store.add_root(str(folder))
        self.rules: WalkRules = rules_from((), (), (), 2_000_000, 64_000_000)

    def write(self, path: str, content: str | bytes, mtime_ns: int = OLD) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(file, ns=(mtime_ns, mtime_ns))
        return file

    def sync(
        self, report: Callable[[Progress], None] = silent, under: str = "", anew: bool = False
    ) -> SyncReport:
        done = sync_documents(self.store, self.root, self.rules, report, under=under, anew=anew)
        finish(self.store, complete=not under)
        return done

    def content(self) -> dict[str, list[tuple[int, int, str]]]:
        """What is indexed: chunks of each path."""
        return {
            path: [
                (c.chunk.start, c.chunk.end, c.chunk.text)
                for c in self.store.chunks_of(document.id)
            ]
            for path, document in self.store.documents(self.root).items()
        }


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    folder = tmp_path / "project"
    folder.mkdir()
    with Store.open(tmp_path / "rag.db") as store:
        yield Tree(folder, store)


def counted(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.unchanged


def test_new_changed_removed_and_unchanged_files_are_told_apart(tree: Tree) -> None:
    for name in ("a.py", "b.py", "c.py"):
        tree.write(name, f"def of_{name[0]}():\n    return 1\n")
    assert counted(tree.sync()) == (3, 0, 0, 0)
    tree.write("b.py", "def of_b():\n    return 22\n", OLD + 1)
    (tree.folder / "c.py").unlink()
    tree.write("d.py", "def of_d():\n    return 4\n")
    assert counted(tree.sync()) == (1, 1, 1, 1)
    assert {p: c[0][2] for p, c in tree.content().items()} == {
        "a.py": "def of_a():\n    return 1",
        "b.py": "def of_b():\n    return 22",
        "d.py": "def of_d():\n    return 4",
    }


def test_a_file_of_the_same_size_and_time_is_not_read(tree: Tree) -> None:
    tree.write("a.py", "x = 'before'\n")
    tree.sync()
    tree.write("a.py", "x = 'after!'\n")  # what only reading could tell
    assert counted(tree.sync()) == (0, 0, 0, 1)
    assert tree.content()["a.py"][0][2] == "x = 'before'"


def test_a_file_with_a_new_time_and_the_same_bytes_is_only_touched(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    tree.sync()
    ids = [c.id for c in tree.store.chunks_of(tree.store.documents(tree.root)["a.py"].id)]
    tree.write("a.py", "x = 1\n", OLD + 5)
    assert counted(tree.sync()) == (0, 0, 0, 1)
    stored = tree.store.documents(tree.root)["a.py"]
    assert stored.source.mtime_ns == OLD + 5
    assert [c.id for c in tree.store.chunks_of(stored.id)] == ids


def test_a_file_written_twice_within_a_tick_of_the_clock_is_not_missed(tree: Tree) -> None:
    file = tree.folder / "a.py"
    file.write_text("x = 'before'\n", encoding="utf-8")
    stat = file.stat()
    tree.sync()
    file.write_text("x = 'after!'\n", encoding="utf-8")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    # The race is only there where the first sync read the file within the tick.
    young = tree.store.documents(tree.root)["a.py"].source.mtime_ns < 0
    tree.sync()
    assert (tree.content()["a.py"][0][2] == "x = 'after!'") == young


def test_a_rejected_file_written_again_within_a_tick_of_the_clock_is_not_missed(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 7_000_000_000_123_456_789
    monkeypatch.setattr(time, "time_ns", lambda: now)  # the clock stands still
    tree.write("data.json", b"\x00\x01\x02binary\x00" * 20, now)
    assert [s.reason for s in tree.sync().skipped] == ["binary"]
    tree.write("data.json", b'{"valid": "now"}'.ljust(200), now)
    assert counted(tree.sync()) == (1, 0, 0, 0)


def test_a_file_that_is_written_in_place_while_it_is_read_is_read_again(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tree.write("a.py", "x = 0\n")
    inode = file.stat().st_ino
    ask, writes = os.fstat, 0

    def written_before_it_is_asked(handle: int) -> os.stat_result:
        nonlocal writes
        if ask(handle).st_ino == inode and writes < 9:
            writes += 1
            tree.write("a.py", f"x = {writes}\n", OLD + writes)
        return ask(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", written_before_it_is_asked)
        tree.sync()
    assert writes
    tree.sync()
    assert tree.content()["a.py"][0][2] == f"x = {writes}"


def test_a_file_that_grew_since_it_was_listed_is_not_read_past_the_limit(tree: Tree) -> None:
    tree.write("a.log", "a line\n")

    def grow(progress: Progress) -> None:
        if progress.stage == "extract" and progress.item == "a.log":
            tree.write("a.log", "a line\n" * 400_000, OLD + 1)

    report = tree.sync(grow)
    assert [(s.path, s.reason, s.detail) for s in report.skipped] == [
        ("a.log", "too large", "has grown over 2.0 MB")
    ]
    assert tree.content() == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_a_file_is_neither_read_nor_waited_for(tree: Tree) -> None:
    file = tree.write("a.py", "x = 1\n")
    tree.sync()
    tree.write("a.py", "x = 2\n", OLD + 1)
    # Whoever would wait for a writer gets one, so that this ends in any case.
    writer = threading.Thread(target=lambda: os.close(os.open(file, os.O_WRONLY)))

    def replace_by_pipe(progress: Progress) -> None:
        if progress.stage == "extract" and progress.item == "a.py":
            file.unlink()
            os.mkfifo(file)
            writer.start()

    report = tree.sync(replace_by_pipe)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    writer.join()
    os.close(reader)
    assert [(s.path, s.reason, s.detail) for s in report.skipped] == [
        ("a.py", "unreadable", "not a regular file")
    ]
    assert tree.content()["a.py"][0][2] == "x = 1"


def test_a_rejected_file_is_reported_each_time_and_read_once(tree: Tree) -> None:
    tree.write("data.json", b"\x00\x01\x02binary\x00" * 20)
    first = tree.sync()
    assert [(s.path, s.reason) for s in first.skipped] == [("data.json", "binary")]
    tree.write("data.json", b'{"valid": "now, but with the old size and time"}'.ljust(200))
    assert [s.reason for s in tree.sync().skipped] == ["binary"]
    tree.write("data.json", b'{"valid": "and with a new time"}', OLD + 1)
    assert counted(tree.sync()) == (1, 0, 0, 0)
    assert tree.store.skipped() == []


def test_a_file_that_became_unusable_is_forgotten_and_reported(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    tree.sync()
    tree.write("a.py", bytes(range(256)) * 4, OLD + 1)
    report = tree.sync()
    assert report.removed == 1
    assert [(s.path, s.reason) for s in tree.store.skipped()] == [("a.py", "binary")]
    assert tree.content() == {}


def test_a_file_that_vanishes_while_the_sync_runs_is_no_error(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    tree.write("b.py", "y = 1\n")

    def remove(progress: Progress) -> None:
        if progress.stage == "extract" and progress.item == "b.py":
            (tree.folder / "b.py").unlink()

    report = tree.sync(remove)
    assert (counted(report), report.skipped) == ((1, 0, 0, 0), ())


def test_a_file_that_cannot_be_read_keeps_what_is_indexed_of_it(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    tree.sync()
    tree.write("a.py", "x = 2\n", OLD + 1)

    def replace_by_folder(progress: Progress) -> None:
        if progress.stage == "extract" and progress.item == "a.py":
            (tree.folder / "a.py").unlink()
            (tree.folder / "a.py").mkdir()

    report = tree.sync(replace_by_folder)
    assert [(s.path, s.reason) for s in report.skipped] == [("a.py", "unreadable")]
    assert tree.content()["a.py"][0][2] == "x = 1"


def test_an_interrupted_sync_keeps_what_it_did_and_the_next_one_goes_on(tree: Tree) -> None:
    for number in range(9):
        tree.write(f"m{number}.py", f"value_{number} = {number}\n")

    def stop(progress: Progress) -> None:
        if progress.stage == "extract" and progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree.sync(stop)
    assert len(tree.content()) == 4
    assert counted(tree.sync()) == (5, 0, 0, 4)
    assert len(tree.content()) == 9


def test_a_missing_root_forgets_nothing(tree: Tree, tmp_path: Path) -> None:
    tree.write("a.py", "x = 1\n")
    tree.sync()
    tree.folder.rename(tmp_path / "unmounted")
    with pytest.raises(WalkError):
        tree.sync()
    assert list(tree.content()) == ["a.py"]


def test_a_new_version_of_the_chunker_cuts_unchanged_files_again(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("a.py", "x = 'before'\n")
    tree.sync()
    tree.write("a.py", "x = 'after!'\n")  # same size and time: only the version can tell
    monkeypatch.setattr(syncing, "PIPELINE", "of tomorrow")
    assert counted(tree.sync()) == (0, 1, 0, 0)
    assert counted(tree.sync()) == (0, 0, 0, 1)


def test_an_interrupted_sync_under_a_new_version_is_not_taken_for_complete(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("a/one.py", "x = 1\n")
    tree.write("b/two.py", "y = 'before'\n")
    tree.sync()
    monkeypatch.setattr(syncing, "PIPELINE", "of tomorrow")
    tree.sync(under="a")
    tree.write("b/two.py", "y = 'after!'\n")
    assert counted(tree.sync()) == (0, 1, 0, 1)


def test_a_narrowed_sync_leaves_the_rest_alone(tree: Tree) -> None:
    tree.write("a/one.py", "x = 1\n")
    tree.write("b/two.py", "y = 1\n")
    tree.sync()
    (tree.folder / "a/one.py").unlink()
    (tree.folder / "b/two.py").unlink()
    assert counted(tree.sync(under="a")) == (0, 0, 1, 0)
    assert list(tree.content()) == ["b/two.py"]


def test_secrets_in_a_file_are_neither_stored_nor_unmentioned(tree: Tree) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    tree.write("deploy.py", f"import os\nTOKEN = '{token}'\nprint(TOKEN)\n")
    report = tree.sync()
    (chunk,) = tree.content()["deploy.py"]
    assert token not in chunk[2]
    assert chunk[:2] == (1, 3)
    assert any("deploy.py" in w and "secret" in w for w in report.warnings)


def test_a_single_file_can_be_synced_by_the_same_rules(tree: Tree) -> None:
    tree.write("a.py", "x = 1\n")
    tree.write(".env", "KEY=1\n")
    assert sync_file(tree.store, tree.root, "a.py", tree.rules)
    assert not sync_file(tree.store, tree.root, ".env", tree.rules)
    tree.write("a.py", "x = 2\n", OLD + 1)
    assert sync_file(tree.store, tree.root, "a.py", tree.rules)
    assert tree.content()["a.py"][0][2] == "x = 2"
    (tree.folder / "a.py").unlink()
    assert not sync_file(tree.store, tree.root, "a.py", tree.rules)
    assert tree.content() == {}


def test_an_empty_file_is_known_and_has_no_chunks(tree: Tree) -> None:
    tree.write("empty.py", "")
    assert counted(tree.sync()) == (1, 0, 0, 0)
    assert tree.content() == {"empty.py": []}
    assert counted(tree.sync()) == (0, 0, 0, 1)


def test_a_file_whose_library_is_missing_is_read_once_it_is_installed(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_library(data: bytes, path: str) -> Document:
        import a_library_that_nobody_has  # noqa: F401

        return Document(path, "prose", "")

    tree.write("notice.eml", "Subject: fog\n\nhorn\n")
    with monkeypatch.context() as patch:
        extract(b"", "a.py")  # the registry is full
        patch.setitem(EXTRACTORS, "eml", Registration(without_library, isolated=False))
        assert [s.reason for s in tree.sync().skipped] == ["library missing"]
    report = tree.sync()
    assert (report.added, report.skipped) == (1, ())


def test_a_name_that_is_not_valid_utf8_is_skipped_with_its_reason(tree: Tree) -> None:
    tree.write("fine.py", "x = 1\n")
    try:
        (tree.folder / os.fsdecode(b"caf\xe9.py")).write_text("y = 1\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    report = tree.sync()
    assert counted(report) == (1, 0, 0, 0)
    assert [s.reason for s in report.skipped] == ["file name"]


def test_secrets_in_front_matter_and_titles_are_removed_too(tree: Tree) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    tree.write("note.md", f"---\nowner: {token}\n---\n# Deploy with {token}\n\nSteps.\n")
    tree.sync()
    stored = tree.store.documents(tree.root)["note.md"]
    assert stored.title.startswith("Deploy with")
    assert token not in stored.title
    assert token.encode() not in tree.store.path.read_bytes()


def test_a_secret_that_a_parser_complains_of_is_in_no_warning(tree: Tree) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    tree.write("note.md", f"---\nowner: *{token}\n---\n# Deploy\n")  # an alias of nothing
    (warning,) = (one for one in tree.sync().warnings if "front matter" in one)
    assert token not in warning
    assert not any(token in one for one in tree.store.warnings())


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "seteuid"), reason="needs POSIX users")
def test_what_cannot_be_looked_at_is_not_forgotten(tree: Tree, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a user who may not look")
    tree.write("shut/inside.py", "x = 1\n")
    tree.write("open.py", "y = 1\n")
    tree.sync()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and "pytest" in folder.as_posix():
            folder.chmod(0o777)
    for file in tmp_path.glob("rag.db*"):
        file.chmod(0o666)
    (tree.folder / "shut").chmod(0)
    os.seteuid(65534)
    try:
        report = tree.sync()
        assert not sync_file(tree.store, tree.root, "shut/inside.py", tree.rules)
    finally:
        os.seteuid(0)
    assert (report.removed, report.unchanged) == (0, 1)
    assert set(tree.content()) == {"open.py", "shut/inside.py"}
