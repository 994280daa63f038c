"""Patterns for one entry: the same answers as pathspec's for whole paths, and in good time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from rag_agent.patterns import Patterns, lines_of

_PIECES = "a b ab * ** ? / [ab] [a-c] \\\\a .a *.a **/ /** ! - # [a".split()
_LINES = st.lists(
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join), max_size=5
)
_PATHS = st.lists(st.sampled_from("a b ab aab .a b.a a.b -a #".split()), min_size=1, max_size=4)


def _matched(patterns: Patterns, path: str, folder: bool = False) -> str | None:
    found = patterns.last(path, path.rpartition("/")[2], folder)
    return None if found is None else found.text


def _left_out_on_the_way(lines: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the file, or first a folder above it, is ignored, asked as a walk does."""
    patterns = Patterns(lines)
    for end, name in enumerate(parts, start=1):
        found = patterns.last("/".join(parts[:end]), name, folder=end < len(parts))
        if found is not None and not found.negated:
            return True
    return False


def _usable(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    # The one place where it asks for what lies in a folder, and means the folder with it.
    return not re.search(r"/\*\*/?$", line)


@given(lines=_LINES, parts=_PATHS)
def test_a_walk_leaves_out_what_pathspec_matches(lines: list[str], parts: list[str]) -> None:
    # Without "!": of what lies in an ignored folder pathspec brings some back, and git nothing.
    usable = [line.lstrip("!") for line in lines if _usable(line.lstrip("!"))]
    by_pathspec = GitIgnoreSpec.from_lines(usable).match_file("/".join(parts))
    assert _left_out_on_the_way(usable, parts) is by_pathspec


@pytest.mark.parametrize(
    ("line", "matching", "others"),
    [
        ("*.py", "a.py s/a.py .py", "a.pyc py"),
        ("a.py", "a.py s/a.py", "aa.py s/a.py/x"),
        ("/a.py", "a.py", "s/a.py"),
        ("s/*.py", "s/a.py", "s/t/a.py t/s/a.py s"),
        ("s/**", "s/a s/t/a", "s"),
        ("**/s/a.py", "s/a.py t/s/a.py", "a.py"),
        ("*a*b*c", "abc xaxbxc s/aabbcc", "acb abcd"),
        ("s/**/t/**/a", "s/t/a s/x/t/y/a s/t/t/a", "s/a s/tt/a s/xt/t"),
    ],
)
def test_a_pattern_matches_the_entry_itself(line: str, matching: str, others: str) -> None:
    patterns = Patterns([line])
    assert [path for path in matching.split() if _matched(patterns, path) is None] == []
    assert [path for path in others.split() if _matched(patterns, path) is not None] == []


def test_a_pattern_for_folders_matches_no_file_and_nothing_inside() -> None:
    patterns = Patterns(["build/", "s/*/"])
    assert _matched(patterns, "x/build", folder=True) == "build/"
    assert _matched(patterns, "build") is None
    assert _matched(patterns, "build/x", folder=True) is None
    assert _matched(patterns, "s/x", folder=True) == "s/*/"
    assert _matched(patterns, "s/x/y", folder=True) is None


def test_the_last_line_decides_however_it_is_found() -> None:
    lines = ["*", "!*.py", "a.py", "!?.py", "*.py", "!a.*"]
    for end, expected in enumerate(lines, start=1):
        assert _matched(Patterns(lines[:end]), "s/a.py") == expected


def test_case_counts_unless_it_is_ignored() -> None:
    lines = ["Build/", "*.PY", "/S/[A-C]?z"]
    for path, folder in (("bUILD", True), ("x.py", False), ("s/bXZ", False)):
        assert _matched(Patterns(lines), path, folder) is None
        assert _matched(Patterns(lines, ignore_case=True), path, folder) is not None


def test_lines_that_say_nothing_are_no_patterns() -> None:
    assert not Patterns(["", "  ", "# note", "!", "/", "[a", "a\\"])


def test_a_class_of_classes_is_no_warning() -> None:
    assert _matched(Patterns(["[[:alpha:]&&].py"]), "x.py") is None


@pytest.mark.parametrize(
    ("line", "ways"),
    [
        ("!build/api/*.py", "build build/api"),
        ("!/build/api/", "build"),
        ("!b*/*/c.md", "build build/api"),
        ("!build/**/c.md", "build build/api build/api/deep"),
        ("!build/**", "build build/api build/api/deep"),
        ("!build/", ""),
        ("!c.md", ""),
        ("!**/c.md", ""),
        ("build/api/c.md", ""),
    ],
)
def test_a_negated_pattern_names_the_way_down(line: str, ways: str) -> None:
    patterns = Patterns([line])
    folders = ["build", "build/api", "build/api/deep", "other", "other/build"]
    assert [folder for folder in folders if patterns.reaching_below(folder)] == ways.split()


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * 30 + "b*", "a/" * 200 + "a" * 250),
        ("*[ab]" * 30 + "z?", "ab" * 125),
        ("**/a/" * 30 + "b*", "a/" * 200 + "c"),
        ("x/**/a*b*c*/**/d?*e*/**/*z?", "x/" + "abc/de/" * 300 + "y"),
    ],
)
def test_a_hostile_pattern_takes_no_exponential_time(line: str, path: str) -> None:
    assert _matched(Patterns([line]), path) is None


_HANG_GUARD = 60.0  # seconds; what is waited for takes less than one
_MATCH_IN_CHILD = """
import sys
from rag_agent.patterns import Patterns
path = sys.argv[2]
print(Patterns([sys.argv[1]]).last(path, path.rpartition("/")[2], folder=False) is not None)
"""


@pytest.mark.parametrize(
    "line",
    [
        "********** build",
        "*" * 30 + "z",
        "**a" * 20 + "b",
        "a**" * 20 + "b",
        "s/" + "**a" * 20 + "b/c",
        "*" * 5_000 + "z",
        "***/" * 20 + "z",
        "**/" + "**a" * 20 + "b/**/" + "a***" * 20 + "b",
    ],
)
def test_many_stars_in_a_row_finish(line: str) -> None:
    # In a process of its own: an expression that backtracks holds every thread of this one.
    path = "s/" + "a" * 250 + "/" + "a" * 250
    command = [sys.executable, "-c", _MATCH_IN_CHILD, line, path]
    done = subprocess.run(command, capture_output=True, check=True, timeout=_HANG_GUARD, text=True)
    assert done.stdout == "False\n"


@given(
    pieces=st.lists(st.sampled_from(["*", "**", "***", "a", "b", "?"]), min_size=1, max_size=7),
    name=st.text("abc", min_size=1, max_size=8),
)
def test_stars_in_a_row_match_what_one_star_does(pieces: list[str], name: str) -> None:
    # fnmatch knows no folders, and needs none for one name.
    line = "".join(pieces)
    matches = fnmatchcase(name, re.sub(r"\*+", "*", line))
    assert (_matched(Patterns([line]), name) is not None) is matches
    assert (_matched(Patterns([f"/s/{line}/x"]), f"s/{name}/x") is not None) is matches


def test_lines_are_cut_at_line_feeds_only() -> None:
    assert lines_of(b"\xef\xbb\xbfa\r\nb\x0bc\n\xe9") == ["a", "b\x0bc", "\udce9"]
