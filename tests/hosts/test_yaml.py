"""Entries of ours in YAML files of other people."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.errors import HostError
from rag_agent.hosts.contents import has_edit, missing_containers, values, with_edit, without_edit
from rag_agent.hosts.types import Entry

SERVER = {"cmd": "/new/rag-agent", "args": ["serve", "--for", "goose"], "timeout": 300}
EDIT = Entry(Path("/somewhere/config.yaml"), ("extensions", "rag"), SERVER)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "extensions:\n  rag: # mine\n    cmd: /old/rag-agent   # x\n    args:\n"
            "      - serve\n      # to be\n    timeout: 5\n    envs:\n      A: b\n  b: {}\nc: 1\n",
            'extensions:\n  rag: # mine\n    cmd: "/new/rag-agent"   # x\n    args:\n'
            '      ["serve", "--for", "goose"]\n      # to be\n    timeout: 5\n    envs:\n'
            "      A: b\n  b: {}\nc: 1\n",
        ),
        (
            "extensions: {rag: {cmd: rag-agent, args: [serve]}, b: {}} # x\n",
            'extensions: {rag: {cmd: "/new/rag-agent", args: ["serve", "--for", "goose"], '
            '"timeout": 300}, b: {}} # x\n',
        ),
    ],
)
def test_an_update_keeps_comments_and_what_the_user_chose(before: str, after: str) -> None:
    assert has_edit(before.encode(), EDIT) is None
    changed = with_edit(before.encode(), EDIT)
    assert changed.decode() == after
    assert has_edit(changed, EDIT) is True
    left = values(without_edit(changed, EDIT), EDIT.path)
    assert left["extensions"] == {"b": {}}


def test_the_last_entry_below_a_key_leaves_an_empty_mapping_and_not_null() -> None:
    text = "extensions: # all of them\n  rag:\n    cmd: rag-agent\n    args: [serve]\nb: 1\n"
    left = without_edit(text.encode(), EDIT).decode()
    assert left == "extensions: {} # all of them\nb: 1\n"
    assert without_edit(text.encode(), EDIT, [("extensions",)]).decode() == "b: 1\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: b: c\n", "line 1, column 5"),
        ("a: [1\nb: 2\n", "line 2"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' stands a second time"),
        ("a: 1\n---\nb: 2\n", "line 2"),
        ("a: !!python/name:os.system\n", "line 1"),
        ("- a\n", "no object"),
        ("text\n", "no object"),
        ("a: \x01\n", "left alone"),
        ("extensions: [a]\n", "line 1: 'rag' is to go into a mapping"),
        ("extensions: null\n", "line 1: 'rag' is to go into a mapping"),
        ("b: 1\nextensions: text\n", "line 2: 'rag' is to go into a mapping"),
        ("extensions:\n  rag:\n    cmd: other\n", "is there already and none of ours"),
    ],
)
def test_what_does_not_parse_or_fit_is_left_alone_and_named(text: str, says: str) -> None:
    with pytest.raises(HostError, match="left alone") as raised:
        with_edit(text.encode(), EDIT)
    assert says in str(raised.value)
    assert "config.yaml" in str(raised.value)


_values = st.sampled_from(
    [
        "",
        " # none",
        " 1",
        ' "a # b"',
        " {}",
        " [x, 'y']",
        " !!str 1",
        " |\n{i}  two\n{i}  # lines",
        " # why\n{i}  k: v",
        "\n{i}- one\n{i}- two: 3",
        "\n{i}  k: v # c\n\n{i}  l: [1,\n{i}   2]",
        "\n{i}  # first\n{i}  m: n",
    ]
)
_between = st.sampled_from(["", "", "\n", "# note\n", "{i}# note\n\n"])


@st.composite
def _blocks(draw: st.DrawFn, indent: str = "") -> str:
    lines = []
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=3)):
        text = draw(_between) + "{i}" + name + ":" + draw(_values) + "\n"
        lines.append(text.replace("{i}", indent))
    return "".join(lines)


@st.composite
def _documents(draw: st.DrawFn) -> str:
    before, after = draw(_blocks()), draw(_between).replace("{i}", "")
    step = draw(st.sampled_from(["  ", "    "]))
    section = draw(
        st.just("")
        | st.just("extensions: {}\n")
        | st.just("extensions: {x: &a {y: 1}, z: *a, } # z\n")
        | st.just("extensions:\n  x: &a\n    y: 1\n  z: *a # as x\n")
        | _blocks(step).map(lambda block: "extensions:\n" + block)
    )
    text = draw(st.sampled_from([before + section, section + before])) + after
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(_documents())
def test_any_yaml_keeps_its_bytes(text: str) -> None:
    before = text.encode()
    after = with_edit(before, EDIT)
    assert has_edit(after, EDIT) is True
    assert with_edit(after, EDIT) == after
    assert without_edit(after, EDIT, missing_containers(before, EDIT)) == before
    remaining = iter(after.decode())
    assert all(character in remaining for character in text)  # nothing but additions


def test_a_key_with_nothing_behind_it_takes_our_entry() -> None:
    text = "a: 1\nextensions: # none yet\nb: 2\n"
    after = with_edit(text.encode(), EDIT).decode()
    assert after.startswith("a: 1\nextensions: # none yet\n  rag:\n    cmd: /new/rag-agent\n")
    assert after.endswith("    timeout: 300\nb: 2\n")
