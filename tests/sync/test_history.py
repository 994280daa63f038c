"""Histories of real repositories, made by git in the test."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag_agent
from rag_agent.progress import Progress, silent
from rag_agent.store import Store, voters
from rag_agent.store.commits import MOST_FILES
from rag_agent.sync import history
from rag_agent.sync.gitlog import Git, GitProblem, find_git
from rag_agent.sync.history import spoken, sync_history
from rag_agent.sync.roots import sync_roots
from rag_agent.sync.walk import rules_from
from rag_agent.tokens import words

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

_FIRST = 1_700_000_000  # seconds; each commit is a minute after the one before
_RULES = rules_from((), (), (), 2_000_000, 64_000_000)


class Project:
    """A folder with a repository in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._minutes = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, given: bytes = b"") -> str:
        """What a git command answers."""
        who = {"NAME": "Someone", "EMAIL": "someone@example.org"}
        when = f"{_FIRST + 60 * self._minutes} +0000"
        environment = dict(os.environ, GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when)
        for role in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{role}_{name}": value for name, value in who.items()}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            input=given,
            capture_output=True,
            check=True,
            env=environment,
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, path: str, text: str = "x = 1\n") -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, message: str | bytes, *paths: str, amend: bool = False) -> str:
        """Change files and commit them; the hash."""
        self._minutes += 1
        for path in paths:
            self.write(path, f"x = {self._minutes}\n")
        self.git("add", "-A", "--", *(paths or (".",)))
        text = message if isinstance(message, bytes) else message.encode()
        more = ("--amend",) if amend else ()
        self.git(
            "commit", "-q", "-F", "-", "--allow-empty", "--allow-empty-message", *more, given=text
        )
        return self.git("rev-parse", "HEAD")


class Indexed:
    """An index of folders, brought up to date by the parts of a sync that matter here."""

    def __init__(self, store: Store, *roots: Path) -> None:
        self.store = store
        self._roots = [root.resolve() for root in roots]

    def sync(self, **options: object) -> None:
        sync_roots(self.store, self._roots, self._roots, _RULES, silent)
        sync_history(self.store, silent, **options)  # type: ignore[arg-type]
        assert self.store.check() == []

    def votes(self, question: str) -> dict[str, float]:
        found = self.store.history_votes(words(question))
        documents = self.store.documents_by_id(list(found))
        return {documents[identifier].path: vote for identifier, vote in found.items()}

    @property
    def problems(self) -> list[str]:
        return self.store.commits.problems()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "rag.db") as opened:
        yield opened


@pytest.fixture
def indexed(store: Store, project: Project) -> Indexed:
    return Indexed(store, project.folder)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that were started, by name."""
    names: list[str] = []
    start = Git._start

    def noted(self: Git, arguments: tuple[str, ...], *rest: object) -> object:
        names.append(arguments[0])
        return start(self, arguments, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "_start", noted)
    return names


# What commits say


def test_a_commits_message_points_to_the_file_it_changed(
    project: Project, indexed: Indexed
) -> None:
    project.commit("Retry webhooks with backoff", "hooks.py")
    project.commit("Parse query strings", "urls.py")
    indexed.sync()
    assert indexed.votes("webhook backoff") == {"hooks.py": 1.0}
    assert indexed.store.counts().commits == 2


def test_what_is_not_committed_points_nowhere(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "urls.py")
    project.write("new.py")
    indexed.sync()
    assert indexed.votes("parse query strings new") == {"urls.py": 1.0}


def test_what_lies_after_head_does_not_count(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "urls.py")
    project.commit("Fix overflow", "urls.py")
    project.git("checkout", "-q", "HEAD~1")
    indexed.sync()
    assert indexed.votes("overflow") == {}


def test_merges_do_not_count(project: Project, indexed: Indexed) -> None:
    project.commit("Begin", "a.py")
    project.git("checkout", "-q", "-b", "side")
    project.commit("Widen gears", "b.py")
    project.git("checkout", "-q", "main")
    project.commit("Tighten bolts", "c.py")
    project.git("merge", "-q", "side", "-m", "Merge gears")
    indexed.sync()
    assert indexed.votes("merge gears") == {"b.py": 1.0}
    assert indexed.store.counts().commits == 3


def test_a_commit_of_twenty_one_files_is_skipped(project: Project, indexed: Indexed) -> None:
    project.commit("Reformat sources", *(f"{n}.py" for n in range(MOST_FILES + 1)))
    project.commit("Reformat docs", *(f"{n}.md" for n in range(MOST_FILES)))
    indexed.sync()
    assert set(indexed.votes("reformat sources")) == {f"{n}.md" for n in range(MOST_FILES)}


def test_a_renamed_file_is_not_followed(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "old.py")
    project.git("mv", "old.py", "new.py")
    project.commit("Move along")
    indexed.sync()
    assert indexed.votes("parse query") == {}
    assert indexed.votes("move along") == {"new.py": 1.0}


@pytest.mark.parametrize("path", ["a folder/a file.py", "über/größe.py", "日本/語.py", "-n.py"])
def test_any_name_of_a_file_is_understood(project: Project, indexed: Indexed, path: str) -> None:
    project.commit("Parse query strings", path)
    indexed.sync()
    assert indexed.votes("parse query") == {path: 1.0}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
@pytest.mark.parametrize("path", ["a\nb.py", "\nb.py", 'quo"te\t.py', "back\\slash.py"])
def test_names_that_hold_control_characters_are_understood(
    project: Project, indexed: Indexed, path: str
) -> None:
    project.commit("Parse query strings", path, "ordinary.py")
    indexed.sync()
    documents = indexed.store.documents(indexed.store.roots()[0])
    # Whatever of these names the index takes, git's answer is cut at the right places.
    assert set(indexed.votes("parse query")) == {"ordinary.py", path} & set(documents)
    assert "ordinary.py" in documents


@pytest.mark.parametrize(
    "message",
    [
        'zebra" OR a*:^ NEAR(b c) {words} : -x',
        "zebra' ; DROP TABLE history_commits; --",
        b"zebra \xff\xfe\x80 \xc3",
        "zebra " + "long " * 200_000,
        "zebra " + "x" * 1_000_000,
        "zebra\n\n" + "\n" * 10_000 + "end",
        "zebra \x01\x02\x1b[31m\r %s {0} ${HOME}",
        "zebra 🦓 \u202e\ufeff",
    ],
    ids=["fts", "sql", "not utf-8", "long", "one word", "empty lines", "control", "odd"],
)
def test_a_hostile_message_is_only_words(
    project: Project, indexed: Indexed, message: str | bytes
) -> None:
    project.commit(message, "a.py")
    project.commit("Parse query strings", "b.py")
    indexed.sync()
    assert indexed.votes("zebra") == {"a.py": 1.0}
    assert indexed.votes("parse query") == {"b.py": 1.0}


def test_a_message_with_a_nul_ends_there(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "b.py")
    tree = project.git("write-tree")
    project.write("a.py")
    project.git("add", "a.py")
    header = "author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\n"
    parent = project.git("rev-parse", "HEAD")
    tree = project.git("write-tree")
    raw = f"tree {tree}\nparent {parent}\n{header}zebra \0 a.py\0\0{parent}\0".encode()
    name = project.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=raw)
    project.git("update-ref", "HEAD", name)
    project.commit("Sort flags", "c.py")
    indexed.sync()
    assert indexed.votes("zebra") == {"a.py": 1.0}
    assert indexed.votes("parse query") == {"b.py": 1.0}
    assert indexed.votes("sort flags") == {"c.py": 1.0}


def test_a_commit_without_a_message_has_no_voice(project: Project, indexed: Indexed) -> None:
    project.commit("", "a.py")
    project.commit("Parse query strings", "b.py")
    indexed.sync()
    assert indexed.votes("parse query") == {"b.py": 1.0}


def test_a_message_in_another_encoding_is_understood(project: Project, indexed: Indexed) -> None:
    project.git("config", "i18n.commitEncoding", "ISO-8859-1")
    project.commit("Überlauf beheben".encode("latin-1"), "a.py")
    indexed.sync()
    assert indexed.votes("überlauf") == {"a.py": 1.0}


SPOKEN = [
    ("subject alone", "Parse flags\n", "Parse flags"),
    ("prefix stays", "fix(router): parse flags", "fix(router): parse flags"),
    ("body", "Parse flags\n\nThey were dropped.\n", "Parse flags\nThey were dropped."),
    (
        "trailers go",
        "Parse flags\n\nDropped.\n\nSigned-off-by: A <a@b>\nCloses: #3\n",
        "Parse flags\nDropped.",
    ),
    ("trailers alone", "Parse flags\n\nSigned-off-by: A <a@b>", "Parse flags"),
    (
        "cherry-picked",
        "Parse flags\n\nDropped.\n\n(cherry picked from commit 1234)",
        "Parse flags\nDropped.",
    ),
    ("a colon in prose", "Parse\n\nNote: a\nplain sentence", "Parse\nNote: a\nplain sentence"),
    ("nothing", "", ""),
]


@pytest.mark.parametrize(
    ("message", "expected"), [row[1:] for row in SPOKEN], ids=[row[0] for row in SPOKEN]
)
def test_subject_and_the_beginning_of_the_body_are_indexed(message: str, expected: str) -> None:
    assert spoken(message).strip() == expected


def test_no_more_than_300_characters_of_a_body_are_indexed() -> None:
    assert spoken("Subject\n\n" + "b" * 1000).count("b") == 300 + "Subject".count("b")


def test_a_secret_in_a_message_is_not_indexed() -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    assert token not in spoken(f"Remove the token {token} from the tests")


@pytest.mark.parametrize("before", [270, 299, 8_170])
def test_a_secret_is_not_indexed_where_a_message_is_cut(before: int) -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    line = "MIIEpAIBAAKCAQEA7bq1cV0mXkW9s8Yt3n5pQ2rZ4uJ6hL0oE1aC8dF7gB9iK2mN\n"
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    for secret in (token, f"{begin}\n{line * 20}{end}"):
        text = spoken(f"Fix\n\n{'x' * (before - 1)} {secret}\n\n  {end}")
        assert token[:8] not in text
        assert line[:8] not in text
        subject = spoken(f"{'x' * before} {secret}")
        assert token[:8] not in subject
        assert line[:8] not in subject


# Where repositories lie


def test_a_root_inside_a_repository_has_its_own_paths(project: Project, store: Store) -> None:
    project.commit("Parse query strings", "src/app/urls.py", "docs/urls.py")
    project.commit("Sort query strings", "src/application.py")
    indexed = Indexed(store, project.folder / "src" / "app")
    indexed.sync()
    assert indexed.votes("query strings") == {"urls.py": 1.0}
    assert store.counts().commits == 1


def test_a_root_that_is_a_file_has_its_commits(project: Project, store: Store) -> None:
    project.commit("Parse query strings", "src/urls.py", "src/other.py")
    indexed = Indexed(store, project.folder / "src" / "urls.py")
    indexed.sync()
    assert indexed.votes("query strings") == {"urls.py": 1.0}


def test_two_roots_in_one_repository_have_both_their_commits(
    project: Project, store: Store
) -> None:
    project.commit("Parse query strings", "a/urls.py")
    project.commit("Sort query strings", "b/urls.py")
    indexed = Indexed(store, project.folder / "a", project.folder / "b")
    indexed.sync()
    assert len(store.history_votes(words("query strings"))) == 2


def test_repositories_below_a_root_are_read_as_well(tmp_path: Path, store: Store) -> None:
    Project(tmp_path / "work" / "one").commit("Parse query strings", "src/urls.py")
    Project(tmp_path / "work" / "deep" / "two").commit("Widen gears", "gears.py")
    indexed = Indexed(store, tmp_path / "work")
    indexed.sync()
    assert indexed.votes("query strings") == {"one/src/urls.py": 1.0}
    assert indexed.votes("gears") == {"deep/two/gears.py": 1.0}


def test_a_repository_that_was_removed_is_forgotten(tmp_path: Path, store: Store) -> None:
    one = Project(tmp_path / "work" / "one")
    one.commit("Parse query strings", "urls.py")
    indexed = Indexed(store, tmp_path / "work")
    indexed.sync()
    (one.folder / ".git").rename(tmp_path / "elsewhere")
    indexed.sync()
    assert indexed.votes("query strings") == {}
    assert store.commits.repositories() == {}


def test_a_worktree_has_the_history_of_its_head(
    project: Project, store: Store, tmp_path: Path
) -> None:
    project.commit("Parse query strings", "urls.py")
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    project.commit("Sort query strings", "urls.py")
    assert (tmp_path / "side" / ".git").is_file()
    indexed = Indexed(store, tmp_path / "side")
    indexed.sync()
    assert indexed.votes("parse query") == {"urls.py": 1.0}
    assert indexed.votes("sort") == {}


def test_a_submodule_has_its_own_history(project: Project, tmp_path: Path, store: Store) -> None:
    Project(tmp_path / "library").commit("Widen gears", "gears.py")
    project.commit("Begin", "a.py")
    source = str(tmp_path / "library")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "lib")
    project.commit("Take the library in")
    assert (project.folder / "lib" / ".git").is_file()
    indexed = Indexed(store, project.folder)
    indexed.sync()
    assert indexed.votes("gears") == {"lib/gears.py": 1.0}


def test_a_shallow_clone_has_the_history_it_has(
    project: Project, tmp_path: Path, store: Store
) -> None:
    for number in range(30):
        project.commit(f"Add part {number}", f"{number}.py")
    project.commit("Widen gears", "1.py")
    clone = tmp_path / "clone"
    url = project.folder.as_uri()
    project.git("clone", "-q", "--depth=3", url, str(clone))
    indexed = Indexed(store, clone)
    indexed.sync()
    assert indexed.votes("widen gears") == {"1.py": 1.0}
    # The commit at which it is cut seems to add all files; it is one of more than twenty.
    assert store.counts().commits == 2
    project.git("-C", str(clone), "fetch", "-q", "--unshallow")
    indexed.sync()
    assert store.counts().commits == 31
    assert set(indexed.votes("part 28")) >= {"28.py"}
    assert indexed.problems == []


# Incremental


def test_a_second_sync_only_asks_for_head(
    project: Project, indexed: Indexed, started: list[str]
) -> None:
    project.commit("Parse query strings", "urls.py")
    indexed.sync()
    assert started == ["rev-parse", "rev-list", "diff-tree"]
    started.clear()
    indexed.sync()
    assert started == ["rev-parse"]


def test_only_commits_that_are_not_known_are_read(
    project: Project, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit("Parse query strings", "urls.py")
    indexed.sync()
    asked: list[str] = []
    read = Git.read
    monkeypatch.setattr(Git, "read", lambda git, names: read(git, asked.extend(names) or names))
    fresh = project.commit("Sort query strings", "urls.py")
    indexed.sync()
    assert asked == [fresh]


def _only_commit(project: Project) -> None:
    project.commit("Widen gears", "gears.py")


def _amend(project: Project) -> None:
    project.commit("Tighten bolts instead", "bolts.py", amend=True)


def _switch(project: Project) -> None:
    project.git("checkout", "-q", "-b", "side", "HEAD~2")
    project.commit("Widen gears", "a.py")


def _reset(project: Project) -> None:
    project.git("reset", "-q", "--hard", "HEAD~2")


def _merge(project: Project) -> None:
    project.git("checkout", "-q", "-b", "side", "HEAD~2")
    project.commit("Widen gears", "gears.py")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "side", "-m", "Merge side")


def _rebase(project: Project) -> None:
    project.git("checkout", "-q", "-b", "side", "HEAD~2")
    project.commit("Widen gears", "gears.py")
    project.git("rebase", "-q", "main")


def _orphan(project: Project) -> None:
    project.git("checkout", "-q", "--orphan", "fresh")
    project.commit("Begin anew", "a.py")


def _remove(project: Project) -> None:
    project.git("rm", "-q", "a.py")
    project.commit("Remove what nobody used")


CHANGES: list[Callable[[Project], None]] = [
    _only_commit,
    _amend,
    _switch,
    _reset,
    _merge,
    _rebase,
    _orphan,
    _remove,
]


def _begin(project: Project) -> None:
    project.commit("Begin the parser", "a.py", "b.py")
    project.commit("Parse query strings", "a.py")
    project.commit("Sort flags", "b.py", "bolts.py")
    project.commit("Parse and sort flags", "b.py")


def _same_as_fresh(indexed: Indexed, project: Project, folder: Path) -> None:
    with Store.open(folder) as store:
        fresh = Indexed(store, project.folder)
        fresh.sync()
        for question in ("parse flags", "gears", "bolts", "begin", "merge side sort", "nobody"):
            assert indexed.votes(question) == pytest.approx(fresh.votes(question))
        here = indexed.store.commits.repositories()[""]
        there = store.commits.repositories()[""]
        assert indexed.store.commits.hashes(here) == store.commits.hashes(there)
        assert indexed.store.counts().commits == store.counts().commits
        assert (here.state, here.problem) == (there.state, there.problem)


@pytest.mark.parametrize("newest", [5_000, 3])
@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__[1:] for change in CHANGES])
def test_the_result_is_that_of_a_new_index(
    project: Project,
    indexed: Indexed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Project], None],
    newest: int,
) -> None:
    monkeypatch.setattr(history, "_NEWEST", newest)
    _begin(project)
    indexed.sync()
    change(project)
    indexed.sync()
    _same_as_fresh(indexed, project, tmp_path / "fresh.db")
    project.git("checkout", "-q", "-f", "main")
    indexed.sync()
    _same_as_fresh(indexed, project, tmp_path / "again.db")


@settings(max_examples=8)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("commit amend back branch merge".split()), st.booleans()),
        max_size=8,
    )
)
def test_whatever_happens_to_a_branch_the_result_is_that_of_a_new_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    project = Project(folder / "project")
    _begin(project)
    with Store.open(folder / "rag.db") as store:
        indexed = Indexed(store, project.folder)
        for number, (step, syncs) in enumerate(steps):
            file = f"{number % 3}.py"
            if step in ("commit", "amend"):
                project.commit(f"Parse part {number}", file, amend=step == "amend")
            elif step == "back":
                project.git("reset", "-q", "--hard", project.git("rev-list", "HEAD").split()[-1])
            elif step == "branch":
                project.git("checkout", "-q", "-b", f"side{number}")
                project.commit(f"Sort part {number}", f"side{number}.py")
            else:
                project.git(
                    *("merge", "-q", "-s", "ours", "--allow-unrelated-histories", "main"),
                    *("-m", "Merge it"),
                )
            if syncs:
                indexed.sync()
        indexed.sync()
        _same_as_fresh(indexed, project, folder / "fresh.db")


def test_an_interrupted_sync_goes_on(
    project: Project, indexed: Indexed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_BATCH", 1)
    _begin(project)
    indexed.sync()
    project.commit("Tighten bolts", "bolts.py")
    _begin(project)

    def stop(progress: Progress) -> None:
        if progress.item == "git log" and progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync_history(indexed.store, stop)
    (repository,) = indexed.store.commits.repositories().values()
    assert len(indexed.store.commits.hashes(repository)) == 4 + 2
    indexed.sync()
    _same_as_fresh(indexed, project, tmp_path / "fresh.db")


def test_a_file_that_is_indexed_later_is_pointed_to(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "urls.py")
    project.write(".ragignore", "urls.py\n")
    indexed.sync()
    assert indexed.votes("query strings") == {}
    (project.folder / ".ragignore").unlink()
    indexed.sync()
    assert indexed.votes("query strings") == {"urls.py": 1.0}


def test_a_folder_of_many_repositories_has_fewer_commits_of_each(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_IN_ALL", 6)
    for name in ("one", "two"):
        project = Project(tmp_path / "work" / name)
        for number in range(5):
            project.commit(f"Part {number}", f"{number}.py")
    Indexed(store, tmp_path / "work").sync()
    assert store.counts().commits == 6


# Without git, without commits


def test_without_git_nothing_happens_and_what_is_known_stays(
    project: Project, indexed: Indexed, caplog: pytest.LogCaptureFixture
) -> None:
    project.commit("Parse query strings", "urls.py")
    indexed.sync()
    with caplog.at_level(logging.INFO):
        indexed.sync(find=lambda: None)
    assert "there is no git" in caplog.text
    assert indexed.votes("query strings") == {"urls.py": 1.0}


def test_a_folder_that_is_no_repository_has_no_history(
    tmp_path: Path, store: Store, started: list[str]
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("x = 1\n", encoding="utf-8")
    Indexed(store, tmp_path / "plain").sync()
    assert started == []
    assert store.commits.repositories() == {}


def test_a_repository_without_commits_has_no_history(project: Project, indexed: Indexed) -> None:
    project.write("a.py")
    indexed.sync()
    assert indexed.store.counts().commits == 0
    assert indexed.problems == []
    project.commit("Parse query strings", "a.py")
    indexed.sync()
    assert indexed.votes("query strings") == {"a.py": 1.0}


def test_a_bare_repository_has_no_history(
    project: Project, tmp_path: Path, store: Store, started: list[str]
) -> None:
    project.commit("Parse query strings", "a.py")
    project.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    (tmp_path / "bare.git" / "notes.md").write_text("# Notes\n", encoding="utf-8")
    Indexed(store, tmp_path / "bare.git").sync()
    assert started == []


def test_a_git_folder_that_is_no_repository_is_told_in_one_line(
    project: Project, indexed: Indexed, caplog: pytest.LogCaptureFixture
) -> None:
    project.commit("Parse query strings", "a.py")
    (project.folder / ".git" / "HEAD").write_text("nonsense\n", encoding="utf-8")
    indexed.sync()
    (problem,) = indexed.problems
    assert "cannot be read: fatal: " in problem
    assert "\n" not in problem
    assert caplog.text.count("cannot be read") == 1
    (project.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    indexed.sync()
    assert indexed.problems == []
    assert indexed.votes("query strings") == {"a.py": 1.0}


def test_a_broken_repository_keeps_what_is_known(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "a.py")
    indexed.sync()
    (project.folder / ".git" / "config").write_text("[broken\n", encoding="utf-8")
    indexed.sync()
    assert len(indexed.problems) == 1
    assert indexed.votes("query strings") == {"a.py": 1.0}


def test_commits_that_are_lost_cost_only_themselves(project: Project, indexed: Indexed) -> None:
    project.commit("Parse query strings", "a.py")
    lost = project.git("rev-parse", "HEAD^{tree}")
    project.commit("Widen gears", "b.py")
    project.commit("Sort flags", "c.py")
    project.commit("Tighten bolts", "d.py")
    file = project.folder / ".git" / "objects" / lost[:2] / lost[2:]
    file.chmod(stat.S_IWRITE | stat.S_IREAD)
    file.unlink()
    indexed.sync()
    assert indexed.votes("tighten bolts") == {"d.py": 1.0}
    assert indexed.votes("widen gears") == {}
    assert len(indexed.problems) == 1


@pytest.mark.skipif(os.name == "nt", reason="a colon is in no name there")
def test_nothing_above_it_is_taken_for_it_where_a_path_has_a_colon_either(
    tmp_path: Path, store: Store
) -> None:
    above = Project(tmp_path / "c:d" / "above")  # git reads a list of folders, parted by colons
    above.commit("Parse query strings", "inner/a.py")
    (above.folder / "inner" / ".git").mkdir()
    indexed = Indexed(store, above.folder / "inner")
    indexed.sync()
    assert indexed.votes("query strings") == {}
    (problem,) = indexed.problems
    assert problem.endswith("inner/.git is no repository")
    own = Project(tmp_path / "c:d" / "own")
    own.commit("Widen gears", "b.py")
    indexed = Indexed(store, own.folder)
    indexed.sync()
    assert indexed.votes("gears") == {"b.py": 1.0}


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for git")
def test_a_git_that_was_stopped_once_is_asked_again(
    project: Project, indexed: Indexed, tmp_path: Path
) -> None:
    project.commit("Parse query strings", "a.py")
    stopped = tmp_path / "stopped"
    stopping = tmp_path / "git"
    real = find_git()
    stopping.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *diff-tree*) [ -e "{stopped}" ] || '
        f'{{ : > "{stopped}"; kill -9 $$; }};; esac\n'
        f'exec "{real}" "$@"\n',
        encoding="utf-8",
    )
    stopping.chmod(0o755)
    indexed.sync(find=lambda: str(stopping))
    (problem,) = indexed.problems
    assert "git ended with code -9" in problem
    indexed.sync(find=lambda: str(stopping))
    assert indexed.problems == []
    assert indexed.votes("query strings") == {"a.py": 1.0}


def test_a_repository_that_was_mended_is_read_when_everything_is_read_anew(
    project: Project, indexed: Indexed
) -> None:
    project.commit("Parse query strings", "a.py")
    tree = project.git("rev-parse", "HEAD^{tree}")
    file = project.folder / ".git" / "objects" / tree[:2] / tree[2:]
    away = file.with_name("away")
    file.rename(away)
    indexed.sync()
    assert len(indexed.problems) == 1
    away.rename(file)
    indexed.sync()
    assert len(indexed.problems) == 1
    indexed.sync(anew=True)
    assert indexed.problems == []
    assert indexed.votes("query strings") == {"a.py": 1.0}


def test_nothing_above_the_repository_is_taken_for_it(project: Project, store: Store) -> None:
    project.commit("Parse query strings", "inner/a.py")
    (project.folder / "inner" / ".git").mkdir()
    indexed = Indexed(store, project.folder / "inner")
    indexed.sync()
    assert indexed.votes("query strings") == {}
    assert len(indexed.problems) == 1


def test_the_callers_repository_is_not_taken_for_ours(
    project: Project, indexed: Indexed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit("Parse query strings", "a.py")
    other = Project(tmp_path / "other")
    other.commit("Widen gears", "a.py")
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    indexed.sync()
    assert indexed.votes("gears") == {}
    assert indexed.votes("query strings") == {"a.py": 1.0}


# Nothing of the repository's is run


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_nothing_that_a_repository_names_is_run(
    project: Project, indexed: Indexed, tmp_path: Path
) -> None:
    project.commit("Parse query strings", "a.py", "b.bin")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> '{ran}'\n", encoding="utf-8")
    program.chmod(0o755)
    (project.folder / ".gitattributes").write_text("* diff=evil filter=evil\n", encoding="utf-8")
    project.commit("Widen gears", ".gitattributes", "a.py")
    for key, value in {
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "pager.log": str(program),
        "core.editor": str(program),
        "core.sshCommand": str(program),
        "core.alternateRefsCommand": str(program),
        "core.hooksPath": str(tmp_path),
        "credential.helper": str(program),
        "diff.external": str(program),
        "diff.evil.command": str(program),
        "diff.evil.textconv": str(program),
        "diff.orderFile": str(program),
        "diff.relative": "true",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "filter.evil.smudge": str(program),
        "filter.evil.clean": str(program),
        "filter.evil.process": str(program),
        "log.showSignature": "true",
        "log.follow": "true",
        "log.showRoot": "false",
        "gpg.program": str(program),
        "alias.log": f"!{program}",
        "alias.rev-parse": f"!{program}",
        "alias.rev-list": f"!{program}",
        "alias.diff-tree": f"!{program}",
        "color.ui": "always",
        "format.pretty": "oneline",
        "core.quotePath": "true",
    }.items():
        project.git("config", key, value)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        shutil.copy(program, project.folder / ".git" / "hooks" / hook)
    _sign_as_bad(project)
    ran.unlink(missing_ok=True)  # what making the test ran
    indexed.sync()
    assert indexed.problems == []
    assert indexed.votes("query strings")["a.py"] == 1.0
    assert "a.py" in indexed.votes("gears")
    assert not ran.exists()


def _sign_as_bad(project: Project) -> None:
    """A commit with a signature, which ``log.showSignature`` would have checked."""
    raw = (
        f"tree {project.git('rev-parse', 'HEAD^{tree}')}\nparent {project.git('rev-parse', 'HEAD')}"
        "\nauthor A <a@b> 1800000000 +0000\ncommitter A <a@b> 1800000000 +0000\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\nSigned\n"
    )
    name = project.git("hash-object", "-t", "commit", "-w", "--stdin", given=raw.encode())
    project.git("update-ref", "refs/heads/main", name)


def test_what_a_partial_clone_lacks_is_not_fetched(
    project: Project, tmp_path: Path, store: Store
) -> None:
    project.git("config", "uploadpack.allowFilter", "true")
    project.commit("Parse query strings", "a.py")
    project.commit("Widen gears", "b.py")
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--filter=tree:0", project.folder.as_uri(), str(clone))
    before = _objects(clone)
    indexed = Indexed(store, clone)
    indexed.sync()
    assert _objects(clone) == before
    assert len(indexed.problems) == 1


def test_a_clone_without_old_contents_has_its_history(
    project: Project, tmp_path: Path, store: Store
) -> None:
    project.git("config", "uploadpack.allowFilter", "true")
    project.commit("Parse query strings", "a.py")
    project.commit("Widen gears", "a.py")
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--filter=blob:none", project.folder.as_uri(), str(clone))
    before = _objects(clone)
    indexed = Indexed(store, clone)
    indexed.sync()
    assert _objects(clone) == before
    assert indexed.votes("query strings") == {"a.py": 1.0}


def _objects(folder: Path) -> set[str]:
    objects = folder / ".git" / "objects"
    return {path.relative_to(objects).as_posix() for path in objects.rglob("*") if path.is_file()}


def test_a_repository_of_another_person_is_told_in_one_line(
    project: Project, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit("Parse query strings", "a.py")
    # What git's own tests use: every repository counts as another person's.
    program = find_git()
    assert program is not None
    git = Git(program, str(project.folder.resolve()), dict(os.environ))
    git._environment["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    with pytest.raises(GitProblem, match=r"^fatal: detected dubious ownership[^\n]*$"):
        git.head()


def test_a_git_that_hangs_is_given_up(
    project: Project, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_agent.sync.gitlog._SHORT", 0.0)
    project.commit("Parse query strings", "a.py")
    indexed.sync()
    (problem,) = indexed.problems
    assert "git rev-parse gave no answer in 0 s" in problem


def test_a_program_called_git_in_the_current_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "git"
    stranger.write_text("#!/bin/sh\n", encoding="utf-8")
    stranger.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "bin")))
    assert find_git() is None


# In an index


def test_the_setting_off_forgets_all_at_the_next_sync(project: Project) -> None:
    project.commit("Parse query strings", "urls.py")
    with rag_agent.open(project.folder) as index:
        index.sync(vectors=False)
        assert index.status().commits == 1
        index.configure(rag_history=False)
        index.sync(vectors=False)
        assert index.status().commits == 0
        assert [c.detail for c in index.doctor() if c.name == "git history"] == ["switched off"]
        index.configure(rag_history=True)
        index.sync(vectors=False)
        assert index.status().commits == 1
        assert [c.detail for c in index.doctor() if c.name == "git history"] == ["1 commits read"]


def test_doctor_says_which_repository_cannot_be_read(project: Project) -> None:
    project.commit("Parse query strings", "urls.py")
    (project.folder / ".git" / "config").write_text("[broken\n", encoding="utf-8")
    with rag_agent.open(project.folder) as index:
        index.sync(vectors=False)
        (check,) = [check for check in index.doctor() if check.name == "git history"]
    assert not check.ok
    assert str(project.folder.resolve()) in check.detail
    assert "ragHistory" in check.advice


# The copy


def test_a_sync_leaves_a_copy_of_the_history_that_is_of_use(
    project: Project, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voters, "SMALLEST", 2)
    for number in range(4):
        project.commit(f"Retry webhooks, part {number}", "retry.py")
    indexed.sync()
    assert voters._current(indexed.store._database) is not None
    project.commit("Parse addresses", "parse.py")
    indexed.sync()
    assert voters._current(indexed.store._database) is not None
    assert indexed.votes("parse addresses") == {"parse.py": 1.0}
    indexed.sync(enabled=False)
    assert not voters.path_for(indexed.store._database).exists()
