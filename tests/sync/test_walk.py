"""The walk: what is yielded, what is skipped and why, and that one file is judged alike."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_agent.errors import WalkError
from rag_agent.sync.walk import Candidate, WalkRules, admit, check_root, rules_from, walk
from rag_agent.types import Skipped

needs_posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX file system")


def _rules(
    extra: tuple[str, ...] = (), exclude: tuple[str, ...] = (), patterns: tuple[str, ...] = ()
) -> WalkRules:
    return rules_from(extra, exclude, patterns, 1_000, 5_000, environ={})


def _tree(root: Path, *paths: str, text: str = "") -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def _walk(
    root: Path, rules: WalkRules | None = None, under: str = ""
) -> tuple[list[str], dict[str, str]]:
    skipped: list[Skipped] = []
    found = [c.path for c in walk(root, rules or _rules(), skipped.append, under)]
    assert len({s.path for s in skipped}) == len(skipped)
    return found, {s.path: s.reason for s in skipped}


def test_a_candidate_knows_where_it_lies_and_its_state(tmp_path: Path) -> None:
    _tree(tmp_path, "src/a.py", text="x = 1\n")
    (found,) = walk(tmp_path, _rules(), lambda skipped: None)
    status = (tmp_path / "src" / "a.py").stat()
    assert found.path == "src/a.py"
    assert found.absolute == tmp_path.resolve() / "src" / "a.py"
    assert (found.size, found.mtime_ns) == (status.st_size, status.st_mtime_ns)


def test_files_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    _tree(tmp_path, "a/b.py", "a-b.py", "a.py", "a/b-c/d.py", "a/b/c.py", "B.py", "a0.py")
    found, _ = _walk(tmp_path)
    assert found == sorted(found)
    assert len(found) == 7


def test_every_file_that_is_left_out_has_a_reason(tmp_path: Path) -> None:
    _tree(tmp_path, "node_modules/a/i.js", "x.min.js", "package-lock.json")
    _tree(tmp_path, "clip.mp4", "data", ".env", "d/.ssh/config.py", "ex.py", "ig.py", "ok.py")
    _tree(tmp_path, "big.py", text="x" * 1_001)
    _tree(tmp_path, ".gitignore", text="ig.py\n")
    found, skipped = _walk(tmp_path, _rules(patterns=("ex.py",)))
    assert found == [".gitignore", "ok.py"]
    assert skipped == {
        ".env": "secret",
        "big.py": "too large",
        "d/.ssh/": "secret",
        "clip.mp4": "file type",
        "data": "file type",
        "ex.py": "excluded",
        "ig.py": "ignored",
        "node_modules/": "ignored",
        "package-lock.json": "generated",
        "x.min.js": "minified",
    }


def test_what_tools_make_anew_is_left_out_without_a_word(tmp_path: Path) -> None:
    _tree(tmp_path, ".git/HEAD", "a/.hg/x.md", ".pi/rag/rag.db", "b.py", "b/__pycache__/b.pyc")
    _tree(tmp_path, ".mypy_cache/x.json", ".venv/lib/site-packages/x.py", "env/pyvenv.cfg")
    _tree(tmp_path, "target/CACHEDIR.TAG", "target/x.rs", "lib/site-packages/x.py")
    _tree(tmp_path, ".gitignore", text="*_cache/\n__pycache__/\n")
    found, skipped = _walk(tmp_path)
    assert found == [".gitignore", "b.py"]
    assert skipped == {"lib/site-packages/": "ignored"}
    asked = admit(tmp_path, "b/__pycache__/b.pyc", _rules())
    assert asked == Skipped("b/__pycache__/b.pyc", "ignored", "compiled Python")


def test_hidden_folders_are_walked(tmp_path: Path) -> None:
    assert _walk(_tree(tmp_path, ".github/workflows/ci.yml"))[0] == [".github/workflows/ci.yml"]


def test_a_folder_that_is_brought_in_in_part_is_one_entry(tmp_path: Path) -> None:
    _tree(tmp_path, "node_modules/x/i.js", "node_modules/y/i.js", "node_modules/z.js")
    _tree(tmp_path, ".ragignore", text="!node_modules/x\n")
    found, skipped = _walk(tmp_path)
    assert found == [".ragignore", "node_modules/x/i.js"]
    assert skipped == {"node_modules/": "ignored"}


def test_secrets_cannot_be_brought_in(tmp_path: Path) -> None:
    _tree(tmp_path, ".env", "key.pem", ".ssh/id.py")
    _tree(tmp_path, ".ragignore", text="!.env\n!*.pem\n!.ssh/\n!.ssh/id.py\n")
    found, skipped = _walk(tmp_path, _rules(extra=(".env", "pem")))
    assert found == [".ragignore"]
    assert set(skipped.values()) == {"secret"}


@pytest.mark.parametrize(
    ("extra", "exclude", "found"),
    [
        ((), (), ["Makefile", "a.py", "b.md"]),
        (("xyz",), (), ["Makefile", "a.py", "b.md", "c.XYZ"]),
        ((".xyz", "*.qqq"), (), ["Makefile", "a.py", "b.md", "c.XYZ", "d.qqq"]),
        ((), ("py", "Makefile"), ["b.md"]),
        ((".xyz",), (".xyz", ".MD"), ["Makefile", "a.py"]),
    ],
)
def test_the_allowlist_can_be_widened_and_narrowed(
    tmp_path: Path, extra: tuple[str, ...], exclude: tuple[str, ...], found: list[str]
) -> None:
    _tree(tmp_path, "Makefile", "a.py", "b.md", "c.XYZ", "d.qqq")
    assert _walk(tmp_path, _rules(extra, exclude))[0] == found


def test_documents_may_be_larger_than_source(tmp_path: Path) -> None:
    _tree(tmp_path, "a.pdf", "a.py", text="x" * 2_000)
    _tree(tmp_path, "b.pdf", text="x" * 5_001)
    found, skipped = _walk(tmp_path)
    assert found == ["a.pdf"]
    assert skipped == {"a.py": "too large", "b.pdf": "too large"}


@needs_posix
def test_a_script_is_known_by_its_first_line(tmp_path: Path) -> None:
    _tree(tmp_path, "run", "no-bit", text="#!/usr/bin/env -S python3 -u\nprint()\n")
    _tree(tmp_path, "unknown", text="#!/usr/bin/env brainfuck\n")
    _tree(tmp_path, "program", text="\x7fELF")
    for name in ("run", "unknown", "program"):
        (tmp_path / name).chmod(0o755)
    found, skipped = _walk(tmp_path)
    assert found == ["run"]
    assert skipped == dict.fromkeys(("no-bit", "program", "unknown"), "file type")


# --- links, special files, names -----------------------------------------------------------


@needs_posix
def test_links_are_not_followed_and_say_why(tmp_path: Path) -> None:
    outside = _tree(tmp_path / "outside", "secret.md")
    root = _tree(tmp_path / "root", "a/b.md")
    (root / "dir-out").symlink_to(outside)
    (root / "out.md").symlink_to(outside / "secret.md")
    (root / "in.md").symlink_to("a/b.md")
    (root / "a" / "up").symlink_to("..")
    (root / "broken.md").symlink_to("nowhere")
    (root / "loop.md").symlink_to("loop.md")
    found, skipped = _walk(root)
    assert found == ["a/b.md"]
    assert skipped == {
        "a/up": "symlink",
        "broken.md": "broken symlink",
        "dir-out": "symlink outside",
        "in.md": "symlink",
        "loop.md": "broken symlink",
        "out.md": "symlink outside",
    }
    inside = admit(root, "dir-out/secret.md", _rules())
    assert inside == Skipped("dir-out/secret.md", "symlink outside", outside.resolve().as_posix())


@needs_posix
def test_a_neighbour_with_a_longer_name_is_outside(tmp_path: Path) -> None:
    _tree(tmp_path, "root/x.md", "root-2/a.md")
    (tmp_path / "root" / "l.md").symlink_to(tmp_path / "root-2" / "a.md")
    assert _walk(tmp_path / "root")[1] == {"l.md": "symlink outside"}


@needs_posix
def test_the_root_may_be_reached_by_a_link(tmp_path: Path) -> None:
    _tree(tmp_path / "real", "a.md")
    (tmp_path / "link").symlink_to("real")
    assert _walk(tmp_path / "link")[0] == ["a.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_what_is_no_regular_file_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.md")
        assert _walk(tmp_path) == (
            [],
            dict.fromkeys(("pipe.md", "socket.md"), "not a regular file"),
        )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8_is_reported_in_a_form_that_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).touch()
    (tmp_path / os.fsdecode(b"d\xe9")).mkdir()
    (tmp_path / os.fsdecode(b"d\xe9") / "a.md").touch()
    (tmp_path / "café.md").touch()
    found, skipped = _walk(tmp_path)
    assert found == ["café.md"]
    assert skipped == {"caf\\xe9.md": "file name", "d\\xe9/": "file name"}
    judged = admit(tmp_path, os.fsdecode(b"d\xe9/a.md"), _rules())
    assert isinstance(judged, Skipped)
    assert (judged.path, judged.reason) == ("d\\xe9/a.md", "file name")


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """A folder that any user may reach; those of pytest are the user's alone."""
    root = Path(tempfile.mkdtemp()).resolve()
    root.chmod(0o755)
    yield root
    for path in (root, *root.iterdir()):
        path.chmod(0o755)
    shutil.rmtree(root)


@contextmanager
def _as_a_user_with_few_rights() -> Iterator[None]:
    """Root may read everything, so it becomes nobody for a while; others have few rights."""
    root = os.geteuid() == 0
    os.seteuid(65_534 if root else os.geteuid())
    try:
        yield
    finally:
        os.seteuid(0 if root else os.geteuid())


@needs_posix
def test_an_unreadable_folder_is_reported_with_its_slash_and_the_rest_walked(
    open_tree: Path,
) -> None:
    _tree(open_tree, "a/x.py", "shut/a.py", "shut/b/c.py", "z.py")
    (open_tree / "shut").chmod(0)
    with _as_a_user_with_few_rights():
        whole = _walk(open_tree)
        parts = [_walk(open_tree, under=part) for part in ("shut", "shut/b", "shut/a.py")]
        judged = admit(open_tree, "shut/a.py", _rules())
    assert whole == (["a/x.py", "z.py"], {"shut/": "unreadable"})
    # Whatever of it is asked for, nothing of it is known.
    assert parts == [([], {"shut/": "unreadable"})] * 3
    assert judged == Skipped("shut/", "unreadable", "Permission denied")


@needs_posix
def test_files_in_a_folder_that_may_only_be_listed_are_reported(open_tree: Path) -> None:
    _tree(open_tree, "names/a.py", "names/b/c.py")
    (open_tree / "names").chmod(0o444)
    with _as_a_user_with_few_rights():
        walked = _walk(open_tree)
    assert walked == ([], {"names/a.py": "unreadable", "names/b/": "unreadable"})


@needs_posix
def test_a_root_that_may_not_be_entered_is_an_error_and_no_empty_tree(open_tree: Path) -> None:
    _tree(open_tree, "shut/a.py", "shut/b/c.py")
    (open_tree / "shut").chmod(0)
    with _as_a_user_with_few_rights():
        for under in ("", "a.py", "b"):
            with pytest.raises(WalkError, match="cannot be walked"):
                list(walk(open_tree / "shut", _rules(), lambda skipped: None, under))


@needs_posix
def test_a_folder_whose_path_is_too_long_is_reported_with_its_slash(tmp_path: Path) -> None:
    _tree(tmp_path, "a.py")
    name = "d" * 200
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):  # 5,000 bytes; systems take 1,024 or 4,096
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    found, skipped = _walk(tmp_path)
    shutil.rmtree(tmp_path / name)
    assert found == ["a.py"]
    ((path, reason),) = skipped.items()
    assert path.endswith(f"{name}/")
    assert reason == "unreadable"


def test_a_folder_that_vanishes_meanwhile_is_no_fault(tmp_path: Path) -> None:
    _tree(tmp_path, "a.py", "b/c.py", "d.py")
    walking = walk(tmp_path, _rules(), lambda skipped: pytest.fail(str(skipped)))
    assert next(walking).path == "a.py"
    (tmp_path / "b" / "c.py").unlink()
    (tmp_path / "b").rmdir()
    (tmp_path / "d.py").unlink()
    assert list(walking) == []


@needs_posix
def test_a_tree_deeper_than_the_stack_is_walked(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 10
    folders = [f"{tmp_path}/{'a/' * level}" for level in range(1, depth + 1)]
    for folder in folders:
        Path(folder).mkdir()
    file = Path(folders[-1], "f.py")
    file.touch()
    walked = _walk(tmp_path)
    file.unlink()  # what pytest would remove it with is recursive
    for folder in reversed(folders):
        Path(folder).rmdir()
    assert walked == (["a/" * depth + "f.py"], {})


# --- roots ---------------------------------------------------------------------------------


def test_a_root_that_is_missing_is_an_error_and_no_empty_tree(tmp_path: Path) -> None:
    with pytest.raises(WalkError, match="cannot be walked"):
        list(walk(tmp_path / "gone", _rules(), lambda skipped: None))
    with pytest.raises(WalkError, match="cannot be walked"):
        admit(tmp_path / "gone", "a.py", _rules())


def test_an_empty_folder_has_no_files(tmp_path: Path) -> None:
    assert _walk(tmp_path) == ([], {})


def test_a_root_may_be_a_file_that_ignore_rules_do_not_touch(tmp_path: Path) -> None:
    _tree(tmp_path, ".gitignore", text="*\n")
    root = _tree(tmp_path, "notes.md") / "notes.md"
    assert _walk(root) == (["notes.md"], {})
    assert isinstance(admit(root, "notes.md", _rules()), Candidate)
    assert admit(root, "other.md", _rules()) == Skipped("other.md", "missing")


def test_a_root_that_is_a_secret_file_is_not_read(tmp_path: Path) -> None:
    assert _walk(_tree(tmp_path, ".env") / ".env") == ([], {".env": "secret"})


@pytest.mark.parametrize("under", ["src", "src/", "./src"])
def test_a_part_of_the_tree_is_walked_by_the_same_rules(tmp_path: Path, under: str) -> None:
    _tree(tmp_path, "a.py", "src/b.py", "src/c.py", "src/d/e.py", "srcx/f.py")
    _tree(tmp_path, ".gitignore", text="c.py\n")
    assert _walk(tmp_path, under=under) == (["src/b.py", "src/d/e.py"], {"src/c.py": "ignored"})


def test_a_part_may_be_one_file_or_missing_or_ignored(tmp_path: Path) -> None:
    _tree(tmp_path, "a.py", "out/b.py", "out/c/d.py")
    _tree(tmp_path, ".gitignore", text="out/\n")
    assert _walk(tmp_path, under="a.py") == (["a.py"], {})
    assert _walk(tmp_path, under="gone/x.py") == ([], {})
    assert _walk(tmp_path, under="out/c") == ([], {"out/c": "ignored"})


@pytest.mark.parametrize("path", ["../a.py", "a/../../b.py", "", "."])
def test_a_path_out_of_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(WalkError, match="not a path below"):
        admit(tmp_path, path, _rules())


def test_home_and_what_lies_above_are_refused_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _tree(tmp_path / "users" / "me", "code/a.py")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for wide in (home, home.parent, Path(tmp_path.anchor), home / "code" / ".."):
        with pytest.raises(WalkError, match="--force"):
            check_root(wide)
        assert check_root(wide, force=True) == wide.resolve()
    assert check_root(home / "code") == (home / "code").resolve()
    assert check_root(Path("~/code/a.py")) == (home / "code" / "a.py").resolve()


def test_a_missing_root_and_a_folder_of_keys_are_refused_even_when_forced(tmp_path: Path) -> None:
    with pytest.raises(WalkError, match="does not exist"):
        check_root(tmp_path / "gone", force=True)
    _tree(tmp_path, ".ssh/a/b.md")
    with pytest.raises(WalkError, match="never indexed"):
        check_root(tmp_path / ".ssh" / "a", force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="where these folders are")
@pytest.mark.parametrize("path", ["/proc", "/proc/self/status", "/sys", "/sys/kernel", "/dev"])
def test_what_the_system_makes_up_is_refused_even_when_forced(path: str) -> None:
    with pytest.raises(WalkError, match="made up by the system"):
        check_root(Path(path), force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="where these folders are")
@pytest.mark.parametrize("path", ["proc/self/status", "sys/kernel", "dev/zero"])
def test_what_the_system_makes_up_is_left_out_of_a_whole_disk(path: str) -> None:
    left = Skipped(path, "not a regular file", "made up by the system")
    assert admit(Path("/"), path, _rules()) == left
    assert _walk(Path("/"), under=path) == ([], {path: "not a regular file"})


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no folder in memory here")
def test_a_folder_in_memory_is_one_like_others() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        assert check_root(Path(folder)) == Path(folder).resolve()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
def test_a_device_is_refused_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "endless.md").symlink_to("/dev/zero")
    with pytest.raises(WalkError, match="made up by the system"):
        check_root(tmp_path / "endless.md", force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(WalkError, match="a pipe"):
        check_root(tmp_path / "pipe.md", force=True)


@pytest.mark.parametrize(
    "path",
    ["a\0b", "\0", "lone\ud800", "caf\udce9", "~no-such-user-anywhere/x", "n" * 5_000, "a.py/b"],
)
def test_a_path_that_names_nothing_is_refused_in_words_that_can_be_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(_tree(tmp_path, "a.py"))
    with pytest.raises(WalkError) as raised:
        check_root(Path(path))
    assert str(raised.value).encode()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_folder_whose_name_cannot_be_stored_is_refused_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).mkdir()
    (tmp_path / "link").symlink_to(os.fsdecode(b"caf\xe9"))
    with pytest.raises(WalkError, match="not UTF-8"):
        check_root(tmp_path / "link")


# --- one judge ------------------------------------------------------------------------------

_NAMES = "a.py b.md .env build node_modules x.min.js c.png .github pyvenv.cfg venv".split()
_PATHS = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4).map("/".join)
_PATTERNS = st.lists(
    st.sampled_from(
        "*.py !*.py build/ !build/ !build/a.py !build/**/b.md /venv !venv/ * !*/ !*.md"
        " !node_modules/build a.py !a.py **/a.py build/* !node_modules/*/a.py".split()
    ),
    max_size=4,
).map("\n".join)


@settings(max_examples=60)
@given(
    paths=st.sets(_PATHS, max_size=25),
    files=st.dictionaries(
        st.sampled_from([".gitignore", ".ragignore", "build/.gitignore", "build/.ragignore"]),
        _PATTERNS,
        max_size=3,
    ),
    exclude=st.sampled_from([(), ("build/a.py",), ("*.md", "!b.md"), ("/venv/",)]),
    repositories=st.sets(st.sampled_from([".git", "build/.git"])),
)
def test_the_walk_yields_exactly_what_is_admitted(
    tmp_path_factory: pytest.TempPathFactory,
    paths: set[str],
    files: dict[str, str],
    exclude: tuple[str, ...],
    repositories: set[str],
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for path in sorted([*paths, *files, *repositories], reverse=True):
        target = root / path
        # A name may be wanted as a folder and as a file; the longer path was made first.
        if not target.exists() and not any(above.is_file() for above in target.parents):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(files.get(path, ""), encoding="utf-8")
    rules = _rules(patterns=exclude)
    skipped: list[Skipped] = []
    walked = list(walk(root, rules, skipped.append))
    everything = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    judged = {path: admit(root, path, rules) for path in everything}
    assert walked == [found for found in judged.values() if isinstance(found, Candidate)]
    # Each of the others is accounted for, itself or by a folder above it, but for environments.
    reported = {skip.path for skip in skipped}
    left = {
        path
        for path, found in judged.items()
        if isinstance(found, Skipped) and not found.detail.startswith("a virtual environment")
    }
    unaccounted = [
        path
        for path in left - reported
        if not any(path.startswith(folder) for folder in reported if folder.endswith("/"))
    ]
    assert unaccounted == []
    # A part of the tree is walked as it is within the whole.
    part = [found.path for found in walk(root, rules, lambda skip: None, under="build")]
    assert part == [c.path for c in walked if c.path == "build" or c.path.startswith("build/")]
