from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.search.pointing import (
    gives_lines,
    lines_given,
    points_at_definition,
    points_at_file,
    strangeness,
)
from rag_agent.search.question import Question, read_question
from rag_agent.store import Store
from rag_agent.types import Definition


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(tmp_path_factory.mktemp("empty") / "rag.db")


def asked(store: Store, text: str) -> Question:
    return read_question(store, text)[0]


def named(store: Store, text: str, *names: str) -> float:
    definitions = [Definition(name, "function", 1, 9) for name in names]
    return points_at_definition(asked(store, text), definitions)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("where is find_candidates defined?", "find_candidates"),
        ("what does WriteLock do", "WriteLock"),
        ("what arguments does `match` take?", "match"),
        ("explain match()", "match"),
        ("__eq__", "__eq__"),
        ("wo ist stem_counts definiert?", "stem_counts"),
        ("stem_countsは何をしますか", "stem_counts"),
    ],
)
def test_a_question_for_nothing_but_a_name_points_at_its_definition(
    store: Store, text: str, name: str
) -> None:
    assert named(store, text, "other", name) == 1.0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("how are hits ranked by `rank` in the end?", "rank"),
        ("why does `Store.match` read so many passages?", "match"),
        ("does match(names) read every passage?", "match"),
        ("what calls lexical::count for each passage", "count"),
        ("where do we compare with __eq__ now?", "__eq__"),
        ("请解释函数stem_counts的作用 Store", "stem_counts"),
        ("where is search defined?", "search"),
        ("searchは何をしますか", "search"),
        ("fix the bug in Rank", "Rank"),
        ("who closes the Store after that?", "Store"),
        ("where is writelock defined?", "WriteLock"),
    ],
)
def test_a_name_among_other_words_or_as_a_plain_word_says_less(
    store: Store, text: str, name: str
) -> None:
    assert 0.0 < named(store, text, "other", name) < 1.0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("how are the hits of a search ranked?", "search"),
        ("Search is slow with many files", "Search"),
        ("where is find_candidates defined?", "find"),
        ("where are the writes?", "WriteLock"),
        ("open the file", "open"),
        ("```\nsearch results\n```\nthis is slow with files", "results"),
    ],
)
def test_a_word_that_happens_to_be_a_name_points_at_nothing(
    store: Store, text: str, name: str
) -> None:
    assert named(store, text, name) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "search/places.py",
        "what is in places.py?",
        "explain src/search/places.py:12 to me",
        "/home/someone/project/src/search/places.py fails",
        r"open search\places.py",
        "the docs (places.py, lines.py) are old",
        "Places.py.",
        "`./search/places.py`",
        "/usr/lib/python3.12/site-packages/search/places.py",
        r"C:\Python\Lib\site-packages\search\places.py",
    ],
)
def test_a_name_with_its_ending_points_at_the_file(store: Store, text: str) -> None:
    assert points_at_file(asked(store, text), "src/search/places.py") == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "where are places ranked?",
        "what is in test_places.py?",
        "other/places.py",
        "places.pyi",
        "places.py.orig",
        "my-places.py",
        "/usr/lib/python3.12/site-packages/other/places.py",
        "/opt/packages/search/places.py",
    ],
)
def test_the_name_of_another_file_does_not(store: Store, text: str) -> None:
    assert points_at_file(asked(store, text), "src/search/places.py") == 0.0


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("explain places.py:12", (12,)),
        ("src/search/places.py:12:5: error: x", (12,)),
        ("places.py:12-30 and places.py:40", (12, 40)),
        ("places.py:12.", (12,)),
        ('File "/srv/src/search/places.py", line 12, in rank\n  File "b.py", line 3', (12,)),
        ("at rank (src/search/places.py:12:18)", (12,)),
        ("\t/go/project/src/search/places.py:12 +0x5a5", (12,)),
        ("in C:\\project\\src\\search\\places.py:line 12", (12,)),
        ("Fatal error in places.py on line 12", (12,)),
        ("places.py: line 12: x: command not found", (12,)),
        ("places.py(12,5): error C2065", (12,)),
        ("blob/main/src/search/places.py#L12-L20", (12,)),
        ("what does `places.py` line 12 do", (12,)),
        ("places.py", ()),
        ("places.py has 12 lines", ()),
        ("places.py: 3 tests failed, 12:30", ()),
        ("places.py:1.5", ()),
        ("other/places.py:12", ()),
        ("test_places.py:12", ()),
    ],
)
def test_a_line_behind_the_name_of_a_file_is_a_line_of_it(
    store: Store, text: str, lines: tuple[int, ...]
) -> None:
    question = asked(store, text)
    assert lines_given(question, "src/search/places.py") == lines
    assert gives_lines(question) or not lines


@given(st.lists(st.sampled_from(["a.py", "src", "/", "\\", ".", "-", " ", "x", "./"]), max_size=12))
def test_a_name_is_found_as_by_one_pattern_for_the_whole_path(pieces: list[str]) -> None:
    text, whole = "".join(pieces), "/src/x/a.py"
    question = Question(text, {}, {}, ())
    # What it says in one line, and in minutes where a long text has no spaces.
    written = re.compile(r"(?<![\w.-])([\w./\\-]*[/\\])?a\.py(?![\w-]|\.\w)")
    plain = [
        "/" + f"{found.group(1) or ''}a.py".replace("\\", "/").removeprefix("./").lstrip("/")
        for found in written.finditer(text)
    ]
    expected = any(whole.endswith(each) or each.endswith(whole) for each in plain)
    assert points_at_file(question, whole[1:]) == float(expected)


def test_a_long_text_without_spaces_is_read_once() -> None:
    for text in ("src/hooks.py" * 100_000 + "x", "other/hooks.py/" * 70_000, "/" * 1_000_000):
        question = Question(text, {}, {}, ())
        assert points_at_file(question, "src/hooks.py") == 0.0


def test_a_file_without_an_ending_is_not_pointed_at(store: Store) -> None:
    assert points_at_file(asked(store, "how does make know? see Makefile"), "Makefile") == 0.0
    assert points_at_file(asked(store, "what does .env hold?"), ".env") == 0.0


def test_names_that_no_passage_holds_are_strange(store: Store) -> None:
    assert strangeness(asked(store, "where is open_store defined?")) == 1.0
    assert strangeness(asked(store, "where is the store opened?")) == 0.0


@given(st.text(max_size=80), st.text(max_size=20), st.text(max_size=30))
def test_any_text_can_be_asked_about_any_name_and_path(text: str, name: str, path: str) -> None:
    words = dict.fromkeys(text.split(), 1.0)
    question = Question(text, words, words, tuple(text.split()))
    assert 0.0 <= points_at_definition(question, [Definition(name, "type", 1, 2)]) <= 1.0
    assert points_at_file(question, path) in (0.0, 1.0)
    assert 0.0 <= strangeness(question) <= 1.0
