"""Ignore rules: git's are compared with git itself, ours are stated one by one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_agent.sync.gitconfig import user_ignores
from rag_agent.sync.walk import WalkRules, rules_from, walk
from rag_agent.types import Skipped

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def _rules(*exclude: str, home: Path | None = None) -> WalkRules:
    environ = {} if home is None else {"HOME": str(home), "GIT_CONFIG_SYSTEM": os.devnull}
    return rules_from([], [], exclude, 2_000_000, 64_000_000, environ=environ)


def _tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return root


def _walked(root: Path, rules: WalkRules | None = None) -> list[str]:
    return [found.path for found in walk(root, rules or _rules(), lambda skipped: None)]


def _git(root: Path, *arguments: str, **environ: str) -> str:
    clean = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", "-C", str(root), *arguments],
        env={**clean, "GIT_CONFIG_NOSYSTEM": "1", **environ},
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout


def _listed_by_git(root: Path, **environ: str) -> list[str]:
    listed = _git(root, "ls-files", "--others", "--exclude-standard", "-z", **environ)
    return sorted(path for path in listed.split("\0") if path)


# --- git's rules, compared with git ---------------------------------------------------------

_NASTY: list[tuple[str, dict[str, str]]] = [
    ("a plain name in any folder", {".gitignore": "a.py\n"}),
    ("anchored at the folder of the file", {".gitignore": "/a.py\n"}),
    ("a folder only", {".gitignore": "lib/\n"}),
    ("a middle slash anchors", {".gitignore": "src/a.py\n"}),
    ("later lines win", {".gitignore": "*.py\n!a.py\n"}),
    ("earlier negation loses", {".gitignore": "!a.py\n*.py\n"}),
    ("deeper files win", {".gitignore": "*.py\n", "src/.gitignore": "!b.py\n"}),
    ("deeper files ignore more", {"src/.gitignore": "*.py\n!/a.py\n"}),
    ("nothing comes out of an ignored folder", {".gitignore": "src/\n!src/a.py\n"}),
    ("but out of an emptied one", {".gitignore": "src/*\n!src/a.py\n"}),
    ("ignored folder with own negation", {".gitignore": "src\n", "src/.gitignore": "!a.py\n"}),
    ("only these", {".gitignore": "*\n!*/\n!*.md\n!.gitignore\n"}),
    ("two stars in front", {".gitignore": "**/lib/a.py\n"}),
    ("two stars behind", {".gitignore": "src/**\n"}),
    ("two stars between", {".gitignore": "src/**/a.py\n"}),
    ("two stars in a name are one", {".gitignore": "s**c/a.py\n"}),
    ("a star stays in its folder", {".gitignore": "src/*/a.py\n"}),
    ("classes", {".gitignore": "[ab].py\n[!r]*.md\n"}),
    ("an open class matches nothing", {".gitignore": "[ab.py\n"}),
    ("a class with its own bracket", {".gitignore": "[]a].py\n"}),
    ("backwards ranges hold nothing", {".gitignore": "[c-a].py\n"}),
    ("an escaped hash and mark", {".gitignore": "\\#x.py\n\\!y.py\n"}),
    ("comments", {".gitignore": "#x.py\n # a.py\n"}),
    ("trailing blanks go", {".gitignore": "a.py  \n"}),
    ("unless escaped", {".gitignore": "a.py\\ \n"}),
    ("CRLF", {".gitignore": "a.py\r\nlib/\r\n"}),
    ("a byte order mark", {".gitignore": "\ufeffa.py\n"}),
    ("other line separators are text", {".gitignore": "a.py\u2028b.py\x0bx\n"}),
    ("no newline at the end", {".gitignore": "a.py"}),
    ("slash alone", {".gitignore": "/\n//\n!\n"}),
    ("a trailing backslash", {".gitignore": "a.py\\\n"}),
    ("a question mark", {".gitignore": "?.py\nsrc?a.py\n"}),
    ("info/exclude loses to .gitignore", {".git/info/exclude": "*.py\n", ".gitignore": "!a.py\n"}),
    ("info/exclude alone", {".git/info/exclude": "/src/lib\n"}),
    ("git's own data and hidden folders", {".github/a.py": "", ".gitignore": "lib\n"}),
]
_FILES = (
    "a.py b.py r.md #x.py !y.py src/a.py src/b.py src/r.md src/lib/a.py src/lib/b.py lib/a.py"
    " lib/lib/r.md other/src/a.py other/s/c/a.py"
).split()


@needs_git
@pytest.mark.parametrize(("claim", "files"), _NASTY, ids=[claim for claim, _ in _NASTY])
def test_what_git_ignores_is_left_out_and_nothing_else(
    tmp_path: Path, claim: str, files: dict[str, str]
) -> None:
    _git(tmp_path, "init", "-q")
    _tree(tmp_path, {**dict.fromkeys(_FILES, ""), **files})
    assert _walked(tmp_path) == _listed_by_git(tmp_path)


# Where pathspec departs from git and we follow it; the last column is what git ignores.
_DEPARTURES = [
    ("named classes are plain ones", "[[:alpha:]].py", "a.py", True),
    ("a backwards range takes the line with it", "[b-a].py", "b.py", True),
    ("a slash in a class takes the line with it", "[a/].py", "a.py", True),
    ("a trailing tab goes, as blanks do", "a.py\t", "a.py", False),
    ("more than two stars are one", "other/***/a.py", "other/s/c/a.py", True),
    ("a negated class matches a slash", "src/lib[!x]a.py", "src/lib/a.py", False),
    ("all folders below a folder are the folder", "src/**/", "src/a.py", False),
    # As gitignore(5) says of "other consecutive asterisks"; git compares the text before first.
    ("two stars behind text are one", "other**/a.py", "other/src/a.py", True),
]


@needs_git
@pytest.mark.parametrize(("claim", "line", "path", "by_git"), _DEPARTURES)
def test_known_departures_from_git(
    tmp_path: Path, claim: str, line: str, path: str, by_git: bool
) -> None:
    _git(tmp_path, "init", "-q")
    _tree(tmp_path, {**dict.fromkeys(_FILES, ""), ".gitignore": f"{line}\n"})
    assert (path not in _listed_by_git(tmp_path)) is by_git
    assert (path not in _walked(tmp_path)) is not by_git


_NAMES = st.sampled_from("a b ab .a b.a a.b -a ] [a".split())
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_PIECES = "a b ab * ** ? / [ab] [!a] [a-c] \\a \\* .a *.a **/ /** ! [[:alpha:]] []a] [b-a] [a/] -"
_LINES = st.lists(st.sampled_from(_PIECES.split()), min_size=1, max_size=5).map("".join)
_IGNORE_FILES = st.dictionaries(
    st.sampled_from(["", "a/", "b/", "ab/a/"]),
    st.lists(_LINES.filter(lambda line: not _departs(line)), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


def _departs(line: str) -> bool:
    """Whether the line may be one of the known departures."""
    if re.search(r"\[(?:!|\[:|b-a|[^\]]*/)|\*{3}|/\*\*/$", line):
        return True
    head, stars, _ = line.removeprefix("!").partition("**")
    return bool(stars) and bool(head) and not head.endswith("/")


@needs_git
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=st.sets(_PATHS, min_size=3, max_size=20), ignores=_IGNORE_FILES)
def test_any_tree_with_any_patterns_is_walked_as_git_lists_it(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], ignores: dict[str, list[str]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    _git(root, "init", "-q")
    files = {f"{path}/file.py": "" for path in paths}
    _tree(root, {**files, **{f"{d}.gitignore": "\n".join(ls) for d, ls in ignores.items()}})
    assert _walked(root) == _listed_by_git(root)


# --- rules outside the tree ----------------------------------------------------------------


@needs_git
def test_the_users_global_excludes_count_in_repositories_only(tmp_path: Path) -> None:
    home = _tree(tmp_path / "home", {".config/git/ignore": "notes.md\n"})
    repository = _tree(tmp_path / "r", {"notes.md": "", "a.py": ""})
    _git(repository, "init", "-q")
    plain = _tree(tmp_path / "plain", {"notes.md": "", "a.py": ""})
    assert _walked(repository, _rules(home=home)) == ["a.py"]
    assert _walked(plain, _rules(home=home)) == ["a.py", "notes.md"]


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\texcludesfile = ~/my ignores # mine\n",
        '[core]\nexcludesFile="~/my ignores"\n',
        "[user]\nname = x\n[CORE] excludesfile = first\n[core]\nexcludesfile = ~/my ignores\n",
        "[include]\npath = other\n",
        "[core]\nexcludesfile = ~/my\\\n ignores\n",
    ],
)
def test_core_excludes_file_is_read_as_git_reads_it(tmp_path: Path, config: str) -> None:
    _tree(
        tmp_path,
        {
            ".gitconfig": config,
            "other": "[core]\nexcludesfile = ~/my ignores\n",
            "my ignores": "x.py\n!y.py",
        },
    )
    environ = {"HOME": str(tmp_path), "GIT_CONFIG_SYSTEM": os.devnull}
    assert user_ignores(environ) == ("x.py", "!y.py")


def test_an_include_loop_in_git_configuration_ends(tmp_path: Path) -> None:
    _tree(tmp_path, {".gitconfig": "[include]\npath = .gitconfig\n"})
    assert user_ignores({"HOME": str(tmp_path), "GIT_CONFIG_SYSTEM": os.devnull}) == ("",)


@needs_git
def test_rules_of_the_repository_above_the_root_count(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    _tree(tmp_path, {".gitignore": "*.log.md\n/p/sub/b.py\n", "p/.gitignore": "c.py\n"})
    _tree(tmp_path, dict.fromkeys(["p/sub/a.py", "p/sub/b.py", "p/sub/c.py", "p/sub/x.log.md"], ""))
    assert _walked(tmp_path / "p" / "sub") == ["a.py"]


def test_a_root_that_is_ignored_itself_was_asked_for(tmp_path: Path) -> None:
    _tree(tmp_path, {".git/HEAD": "", ".gitignore": "*\n", "out/a.py": "", "out/b/c.py": ""})
    assert _walked(tmp_path / "out") == ["a.py", "b/c.py"]


def test_rules_above_a_folder_without_repository_do_not_count(tmp_path: Path) -> None:
    _tree(
        tmp_path, {".gitignore": "*.py\n", "p/a.py": "", "p/b/.gitignore": "c.py", "p/b/c.py": ""}
    )
    assert _walked(tmp_path / "p") == ["a.py", "b/.gitignore"]


@needs_git
def test_a_worktree_uses_the_excludes_of_its_repository(tmp_path: Path) -> None:
    main = _tree(tmp_path / "main", {"a.py": "", "b.py": ""})
    _git(main, "init", "-q")
    _git(main, "add", ".")
    _git(main, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x")
    _git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    _tree(main, {".git/info/exclude": "b.py\n"})
    assert (tmp_path / "tree" / ".git").is_file()
    assert _walked(tmp_path / "tree") == ["a.py"]


def _with_worktree(folder: Path, inside: str) -> Path:
    """A repository with one file, checked out once more at ``inside``."""
    _tree(folder, {"a.py": "x = 1\n"})
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", ".")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    _git(folder, "worktree", "add", "-q", "-b", "side", inside)
    return folder


@needs_git
def test_a_worktree_inside_its_repository_is_left_out_and_says_so(tmp_path: Path) -> None:
    main = _with_worktree(tmp_path / "main", ".claude/worktrees/side")
    skipped: list[Skipped] = []
    assert [found.path for found in walk(main, _rules(), skipped.append)] == ["a.py"]
    assert skipped == [
        Skipped(".claude/worktrees/side/", "ignored", "a worktree of this repository")
    ]


@needs_git
def test_a_worktree_can_be_indexed_itself_and_brought_in(tmp_path: Path) -> None:
    main = _with_worktree(tmp_path / "main", "trees/side")
    assert _walked(main / "trees/side") == ["a.py"]
    _tree(main, {".ragignore": "!trees/side/\n"})
    assert _walked(main) == [".ragignore", "a.py", "trees/side/a.py"]


@needs_git
def test_a_worktree_in_a_worktree_is_a_copy_of_that(tmp_path: Path) -> None:
    main = _with_worktree(tmp_path / "main", "../side")
    _git(tmp_path / "side", "worktree", "add", "-q", "-b", "inner", "inner")
    assert _walked(main) == ["a.py"]
    assert _walked(tmp_path / "side") == ["a.py"]


@needs_git
def test_worktrees_beside_each_other_are_walked(tmp_path: Path) -> None:
    _with_worktree(tmp_path / "main", "../side")
    assert _walked(tmp_path) == ["main/a.py", "side/a.py"]


def test_a_submodule_is_walked_by_its_own_rules(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            ".git/HEAD": "",
            ".git/modules/sub/info/exclude": "c.py\n",
            ".gitignore": "b.py\n",
            "b.py": "",
            "sub/.git": "gitdir: ../.git/modules/sub\n",
            "sub/a.py": "",
            "sub/b.py": "",
            "sub/c.py": "",
        },
    )
    assert _walked(tmp_path) == [".gitignore", "sub/a.py", "sub/b.py"]


def test_an_ignored_submodule_is_left_out(tmp_path: Path) -> None:
    _tree(tmp_path, {".git/HEAD": "", ".gitignore": "sub/\n", "sub/.git": "", "sub/a.py": ""})
    assert _walked(tmp_path) == [".gitignore"]


# --- .ragignore, excludePatterns, folders of no use ----------------------------------------

_PROJECT = dict.fromkeys(
    "a.py b.py build/a.py build/b.py build/api/c.py build/api/d.md node_modules/x/i.js"
    " node_modules/y/i.js node_modules/x/node_modules/z/i.js docs/g.md docs/h.md".split(),
    "",
)


@pytest.mark.parametrize(
    ("claim", "files", "expected"),
    [
        ("a pattern leaves out more", {".ragignore": "docs/\nb.py\n"}, "a.py"),
        ("one file of an ignored folder", {".ragignore": "!build/api/c.py\n"},
         "a.py b.py build/api/c.py docs/g.md docs/h.md"),
        ("wildcards on the way", {".ragignore": "!b*/*/*.md\n"},
         "a.py b.py build/api/d.md docs/g.md docs/h.md"),
        ("two stars on the way", {".ragignore": "!build/**/*.md\n"},
         "a.py b.py build/api/d.md docs/g.md docs/h.md"),
        ("a folder with all that is in it", {".ragignore": "!build/\n"},
         "a.py b.py build/a.py build/api/c.py build/api/d.md build/b.py docs/g.md docs/h.md"),
        ("and less of it by a later line", {".ragignore": "!build/\n/build/*.py\n"},
         "a.py b.py build/api/c.py build/api/d.md docs/g.md docs/h.md"),
        ("git's patterns do not hold inside", {".ragignore": "!build\n", "build/.gitignore": "*"},
         "a.py b.py build/.gitignore build/a.py build/api/c.py build/api/d.md build/b.py docs/g.md"
         " docs/h.md"),
        ("one package, not its packages", {".ragignore": "!node_modules/x\n"},
         "a.py b.py docs/g.md docs/h.md node_modules/x/i.js"),
        ("a bare name opens no ignored folder", {".ragignore": "!c.py\n!*.js\n"},
         "a.py b.py docs/g.md docs/h.md"),
        ("everything names nothing", {".ragignore": "*\n!*/\n!*.md\n!a.py\n"},
         "a.py docs/g.md docs/h.md"),
        ("deeper files win", {".ragignore": "*.md\n", "docs/.ragignore": "!g.md\n"},
         "a.py b.py docs/.ragignore docs/g.md"),
        ("a file that git ignores", {".gitignore": "build/\nb.py\n", ".ragignore": "!b.py\n"},
         "a.py b.py docs/g.md docs/h.md"),
        ("git's own data cannot come in", {".git/x.py": "", ".ragignore": "!.git/\n!.git/x.py\n"},
         "a.py b.py docs/g.md docs/h.md"),
        ("the index cannot come in", {".pi/rag/x.md": "", ".pi/p.md": "", ".ragignore": "!.pi/\n"},
         ".pi/p.md a.py b.py docs/g.md docs/h.md"),
    ],
)  # fmt: skip
def test_ragignore(tmp_path: Path, claim: str, files: dict[str, str], expected: str) -> None:
    _tree(tmp_path, {".git/HEAD": "", ".gitignore": "build/\n", **_PROJECT, **files})
    walked = _walked(tmp_path)
    assert [path for path in walked if path not in (".gitignore", ".ragignore")] == expected.split()


def test_ragignore_of_the_repository_counts_below_it(tmp_path: Path) -> None:
    _tree(tmp_path, {".git/HEAD": "", ".gitignore": "x.md\n", ".ragignore": "!x.md\ny.md\n"})
    _tree(tmp_path, {"p/x.md": "", "p/y.md": "", "p/z.md": ""})
    assert _walked(tmp_path / "p") == ["x.md", "z.md"]


def test_exclude_patterns_win_over_ragignore(tmp_path: Path) -> None:
    _tree(tmp_path, {**_PROJECT, ".ragignore": "!build/api/c.py\n!a.py\n"})
    assert _walked(tmp_path, _rules("/build/", "a.py", "*.md", "!g.md", ".ragignore")) == [
        "b.py",
        "docs/g.md",
    ]


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "CACHEDIR.TAG", "conda-meta/history"])
def test_environments_and_caches_are_left_out_by_what_they_hold(
    tmp_path: Path, marker: str
) -> None:
    _tree(tmp_path, {f"env/{marker}": "", "env/lib/a.py": "", "venv/a.py": "", "b.py": ""})
    assert _walked(tmp_path) == ["b.py", "venv/a.py"]
    _tree(tmp_path, {".ragignore": "!env/lib/\n"})
    assert _walked(tmp_path) == [".ragignore", "b.py", "env/lib/a.py", "venv/a.py"]


def test_packages_in_a_library_folder_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    packages = "opt/lib/python3/site-packages"
    _tree(tmp_path, {f"{packages}/x/a.py": "", f"{packages}/y/a.py": "", "b.py": ""})
    _tree(tmp_path, {"usr/dist-packages/z.py": ""})
    assert _walked(tmp_path) == ["b.py"]
    assert _walked(tmp_path / packages) == ["x/a.py", "y/a.py"]
    assert _walked(tmp_path / packages / "x") == ["a.py"]
    _tree(tmp_path, {".ragignore": f"!{packages}/x/\n"})
    assert _walked(tmp_path) == [".ragignore", "b.py", f"{packages}/x/a.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_an_ignore_file_that_is_no_file_is_not_opened(tmp_path: Path) -> None:
    _tree(tmp_path, {"a.py": "", "sub/.ragignore/x.py": ""})
    os.mkfifo(tmp_path / ".gitignore")
    assert _walked(tmp_path) == ["a.py", "sub/.ragignore/x.py"]
