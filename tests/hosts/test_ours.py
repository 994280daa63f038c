"""What users and hosts change in our entries, and what of theirs only looks like ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.hosts.contents import has_edit, missing_containers, values, with_edit, without_edit
from rag_agent.hosts.ours import is_ours, merged
from rag_agent.hosts.types import Entry, Item

SERVER = {
    "type": "stdio",
    "command": "/new/rag-agent",
    "args": ["serve", "--for", "x"],
    "timeout": 30,
    "enabled": True,
    "tools": ["*"],
}
ENTRY = Entry(Path("/somewhere/a.json"), ("mcpServers", "rag"), SERVER)
GROUP = {"hooks": [{"type": "command", "command": "/new/rag-agent hook x", "timeout": 30}]}
ITEM = Item(Path("/somewhere/a.json"), ("hooks", "Prompt"), GROUP, " hook x")


def encoded(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ({"command": "rag-agent", "args": ["serve"]}, True),
        ({"command": "C:\\rag\\Scripts\\rag-agent.exe", "args": ["serve", "--for", "x"]}, True),
        ({"command": "/usr/bin/python3", "args": ["-m", "rag_agent", "serve"]}, True),
        ({"command": "uv", "args": ["run", "rag-agent", "serve"]}, True),
        ({"command": ["/opt/rag-agent", "serve", "--for", "opencode"], "enabled": False}, True),
        # A folder of that name, a name that is longer, and no server of ours at all.
        ({"command": "uv", "args": ["--directory", "/src/rag-agent", "run", "other"]}, False),
        ({"command": "/opt/my-rag-agent-fork", "args": ["serve"]}, False),
        ({"command": "other", "args": [], "env": {"NOTE": "rag-agent serve"}}, False),
        ({"url": "http://127.0.0.1/rag-agent"}, False),
        ("rag-agent serve", False),
        (None, False),
    ],
)
def test_an_entry_is_ours_by_what_it_starts(value: Any, ours: bool) -> None:
    assert is_ours(ENTRY, value) is ours


def test_an_entry_is_ours_by_a_key_that_is_our_name() -> None:
    assert is_ours(Entry(Path("a.json"), ("enabledPlugins", "rag-agent@local"), True), False)


def test_what_the_user_changed_in_our_entry_stays_and_is_up_to_date() -> None:
    theirs = SERVER | {"timeout": 90, "enabled": False, "tools": ["rag_query"], "env": {"A": "b"}}
    content = encoded({"mcpServers": {"rag": theirs}})
    assert has_edit(content, ENTRY) is True
    assert with_edit(content, ENTRY) == content


def test_an_update_changes_the_program_and_adds_what_is_new() -> None:
    old = {"env": {"PI_RAG_DIR": "/notes"}, "command": "/old/rag-agent", "args": ["serve"]}
    content = b'{"mcpServers": {\n  "rag": ' + json.dumps(old).encode() + b" // mine\n}}"
    assert has_edit(content, ENTRY) is None
    after = with_edit(content, ENTRY)
    assert values(after, ENTRY.path) == {
        "mcpServers": {"rag": {"env": {"PI_RAG_DIR": "/notes"}, **SERVER}}
    }
    assert b" // mine\n" in after
    assert has_edit(after, ENTRY) is True


_values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["command", "args", "env", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_values, _values)
def test_merging_again_changes_nothing(there: Any, ours: Any) -> None:
    once = merged(there, ours)
    assert merged(once, ours) == once
    assert merged(ours, ours) == ours


def test_hooks_that_the_user_keeps_in_our_group_stay() -> None:
    log = {"type": "command", "command": "log.sh"}
    old = {"type": "command", "command": "/old/rag-agent hook x", "timeout": 5}
    content = encoded({"hooks": {"Prompt": [{"matcher": "a", "hooks": [log, old, log]}]}})
    assert has_edit(content, ITEM) is None
    after = with_edit(content, ITEM)
    new = old | {"command": "/new/rag-agent hook x"}
    assert values(after, ITEM.path)["hooks"]["Prompt"] == [
        {"matcher": "a", "hooks": [log, new, log]}
    ]
    assert has_edit(after, ITEM) is True
    left = values(without_edit(after, ITEM), ITEM.path)
    assert left == {"hooks": {"Prompt": [{"matcher": "a", "hooks": [log, log]}]}}


def test_ours_twice_in_a_list_is_brought_up_to_date_and_removed_twice() -> None:
    old = {"hooks": [{"type": "command", "command": "/old/rag-agent hook x"}]}
    content = encoded({"hooks": {"Prompt": [old, {"hooks": []}, old]}})
    after = with_edit(content, ITEM)
    assert values(after, ITEM.path)["hooks"]["Prompt"] == [GROUP, {"hooks": []}, GROUP]
    left = values(without_edit(after, ITEM), ITEM.path)
    assert left == {"hooks": {"Prompt": [{"hooks": []}]}}


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {} // why\n}}',
        '{"mcpServers": {"a": {} // why\n}, /* b */ }',
        '{"mcpServers": { // first\n  "a": {} /* in\n two lines */ }}',
        '{"mcpServers": { /* none */ }}',
        '{"mcpServers": {\n\n  // none\n\n}}',
        '{"a": [1, 2,], "mcpServers": {"a": {},},}',
        '{"mcpServers":\n{"a": {\n}\n,\n"b": {}}}\n\n\n',
        '{"mcpServers":{"http://a":"//b","c":"/* d */"}}',
        '\ufeff{"mcpServers":\r\n{\r\n}\r\n}',
    ],
)
def test_comments_and_commas_of_any_taste_stay(text: str) -> None:
    path = Path("/somewhere/a.jsonc")
    edit = Entry(path, ENTRY.keys, SERVER)
    after = with_edit(text.encode(), edit)
    assert has_edit(after, edit) is True
    position = 0
    for character in filter(str.strip, text):  # nothing but additions
        position = after.decode().index(character, position) + 1
    left = without_edit(after, edit, missing_containers(text.encode(), edit))
    assert values(left, path) == values(text.encode(), path)
    assert "".join(left.decode().split()) == "".join(text.split())


# Documents as people write them: any spacing, comments and commas.

_gap = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // note\n", " /* note */ ", "\n\n    "])
_leaf = st.sampled_from(["1", "null", '"@@"', '"a // b"', "[]", "{}", '[1, "@@"]'])


@st.composite
def _objects(draw: st.DrawFn, depth: int = 0) -> str:
    names = draw(st.lists(st.sampled_from(["mcpServers", "a", "b", "c"]), unique=True, max_size=3))
    members = []
    for name in names:
        is_object = name == "mcpServers" or (depth < 2 and draw(st.booleans()))
        value = draw(_objects(depth + 1)) if is_object else draw(_leaf)
        members.append(f'{draw(_gap)}"{name}"{draw(_gap)}:{draw(_gap)}{value}{draw(_gap)}')
    trailing = "," + draw(_gap) if members and draw(st.booleans()) else ""
    return "{" + ",".join(members) + trailing + ("" if members else draw(_gap)) + "}"


@given(_gap, _objects(), _gap)
def test_what_the_user_edits_between_set_up_and_removal_is_all_that_is_left(
    before: str, document: str, after: str
) -> None:
    text = before + document + after
    path = Path("/somewhere/a.jsonc")
    edit = Entry(path, ENTRY.keys, SERVER)
    made = missing_containers(text.encode(), edit)
    installed = with_edit(text.encode(), edit)
    assert has_edit(installed, edit) is True
    edited = installed.replace(b'"@@"', b'"edited // by the user"')
    left = without_edit(edited, edit, made).decode()
    wanted = text.replace('"@@"', '"edited // by the user"')
    assert values(left.encode(), path) == values(wanted.encode(), path)
    # The white space of an object that was empty is all that may differ.
    assert "".join(left.split()) == "".join(wanted.split())
