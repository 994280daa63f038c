"""Entries in other people's configurations: set, set again, taken out."""

from __future__ import annotations

import contextlib
import copy
import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.errors import HostError
from rag_agent.hosts import jsonc, toml
from rag_agent.hosts.contents import (
    decoded,
    has_edit,
    missing_containers,
    values,
    with_edit,
    without_edit,
)
from rag_agent.hosts.types import Entry, Item

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "hosts"
JSON = sorted(path.name for path in FIXTURES.glob("*.json*"))
TOML = sorted(path.name for path in FIXTURES.glob("*.toml"))
YAML = sorted(path.name for path in FIXTURES.glob("*.yaml"))
SERVER = {"command": "/opt/bin/rag-agent", "args": ["serve", "--for", "x"]}
HOOK = {"hooks": [{"type": "command", "command": "rag-agent hook x"}]}
MARK = "rag-agent hook x"


def entry(name: str, *keys: str) -> Entry:
    sections = {".toml": "mcp_servers", ".yaml": "extensions"}
    default = (sections.get(Path(name).suffix, "mcpServers"), "rag")
    return Entry(Path("/somewhere") / name, keys or default, SERVER)


def item(name: str) -> Item:
    return Item(Path("/somewhere") / name, ("hooks", "UserPromptSubmit"), HOOK, MARK)


def outside(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """What a configuration says but for one entry, and for what is empty without it."""
    rest = copy.deepcopy(value)
    inner = rest
    for key in keys[:-1]:
        inner = inner.get(key, {})
    inner.pop(keys[-1], None)
    if not rest.get(keys[0]):
        rest.pop(keys[0], None)
    return rest


@pytest.mark.parametrize("name", [*JSON, *TOML, *YAML])
def test_an_entry_is_added_and_all_else_stays(name: str) -> None:
    before, edit = (FIXTURES / name).read_bytes(), entry(name)
    after = with_edit(before, edit)
    assert has_edit(after, edit)
    said, says = values(before, edit.path), values(after, edit.path)
    assert outside(says, edit.keys) == outside(said, edit.keys)
    # To the byte: something is added in one place, and a comma after what stood last.
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert {kind for kind, *_ in changes} <= {"equal", "insert"}


@pytest.mark.parametrize("name", [*JSON, *TOML, *YAML])
def test_setting_it_twice_changes_nothing(name: str) -> None:
    once = with_edit((FIXTURES / name).read_bytes(), entry(name))
    assert with_edit(once, entry(name)) == once


# Of these only the journal knows whether they ended or were spaced like that before.
UNKNOWABLE = (
    "spaced-object.json",
    "empty.json",
    "codex-no-end.toml",
    "codex-windows.toml",
    "goose-comment.yaml",
)


@pytest.mark.parametrize("name", [name for name in [*JSON, *TOML, *YAML] if name not in UNKNOWABLE])
def test_taking_it_out_gives_the_bytes_back(name: str) -> None:
    before, edit = (FIXTURES / name).read_bytes(), entry(name)
    made = missing_containers(before, edit)
    assert without_edit(with_edit(before, edit), edit, made) == before


@pytest.mark.parametrize("name", JSON)
def test_an_item_of_a_list_is_added_once_and_taken_out(name: str) -> None:
    before, edit = (FIXTURES / name).read_bytes(), item(name)
    made = missing_containers(before, edit)
    after = with_edit(before, edit)
    assert has_edit(after, edit)
    assert with_edit(after, edit) == after
    others = [
        each for each in values(after, edit.path)["hooks"]["UserPromptSubmit"] if each != HOOK
    ]
    assert others == values(before, edit.path).get("hooks", {}).get("UserPromptSubmit", [])
    assert values(without_edit(after, edit, made), edit.path) == values(before, edit.path)


@pytest.mark.parametrize("name", ["cursor.json", "zed.jsonc", "windows.json", "codex.toml"])
def test_an_entry_of_another_program_path_is_brought_up_to_date(name: str) -> None:
    before, edit = (FIXTURES / name).read_bytes(), entry(name)
    old = with_edit(before, Entry(edit.path, edit.keys, {**SERVER, "command": "/old/rag-agent"}))
    assert has_edit(old, edit) is None
    new = with_edit(old, edit)
    assert has_edit(new, edit) is True
    assert without_edit(new, edit, missing_containers(before, edit)) == before


@pytest.mark.parametrize("name", ["a.json", "a.toml"])
def test_an_entry_of_the_same_name_that_is_not_ours_is_neither_replaced_nor_removed(
    name: str,
) -> None:
    edit = entry(name)
    theirs = {"mcpServers": {"rag": {"command": "other"}}}
    text = json.dumps(theirs) if name == "a.json" else '[mcp_servers.rag]\ncommand = "other"\n'
    with pytest.raises(HostError, match=r"rag is there already and none of ours: .*other"):
        with_edit(text.encode(), edit)
    assert without_edit(text.encode(), edit) == text.encode()
    assert has_edit(text.encode(), edit) is False


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b'{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7: ':' is expected"),
        ("a.json", b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: ',' or '}' is expected"),
        ("a.json", b'{"a": tru}', "line 1, column 7: a value is expected"),
        ("a.json", b'{"a": 1', "is expected"),
        ("a.json", b'{\n "a\\x": 1}', 'line 2, column 2: "a\\x" is no JSON value'),
        ("a.json", b'{"mcpServers": null}', "no object"),
        ("a.json", b"{'a': 1}", "line 1, column 2: a key in double quotes"),
        ("a.json", b'{"a": 1} x', "something follows after the end"),
        ("a.json", b'{"a": /* never closed', "a value is expected"),
        ("a.json", b'{"mcpServers": {"a": 1, "a": 2}}', "'a' stands here a second time"),
        ("a.json", b"[1, 2]", "holds no object"),
        ("a.json", b'{"mcpServers": []}', "no object"),
        ("a.json", b'{"mcpServers": "text"}', "no object"),
        ("a.json", b'{"a": "\xff"}', "is not UTF-8"),
        ("a.json", b"[" * 5000, "nested too deeply"),
        ("a.toml", b"a = 1\nb = = 2\n", "line 2"),
        ("a.toml", b"[a]\n[a]\n", "a"),
        ("a.toml", b'mcp_servers = { a = { command = "x" } }\n', "by hand"),
        ("a.toml", b"mcp_servers = 1\n", "no object or table"),
    ],
)
def test_what_does_not_parse_or_fit_is_left_alone_and_named(
    name: str, content: bytes, says: str
) -> None:
    with pytest.raises(HostError) as raised:
        with_edit(content, entry(name))
    message = str(raised.value)
    assert says in message
    assert f"/somewhere/{name}" in message.replace("\\", "/")
    assert "left alone" in message


def test_a_byte_order_mark_and_windows_line_ends_stay() -> None:
    before = (FIXTURES / "windows.json").read_bytes()
    after = with_edit(before, entry("windows.json", "servers", "rag"))
    assert decoded(after, Path("x")).bom
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")


def test_the_indentation_is_that_of_the_file() -> None:
    tabs = with_edit(
        (FIXTURES / "zed.jsonc").read_bytes(), entry("z.jsonc", "context_servers", "rag")
    )
    assert b'\n\t\t"rag": {\n\t\t\t"command": ' in tabs
    four = with_edit((FIXTURES / "windows.json").read_bytes(), entry("w.json", "servers", "rag"))
    assert b'\r\n        "rag": {\r\n            "command": ' in four
    line = with_edit((FIXTURES / "one-line.json").read_bytes(), entry("one-line.json"))
    assert b"\n" not in line


def test_comments_stay_where_they_are() -> None:
    text = (
        '{\n  "mcpServers": {\n    "a": {"command": "x"} // about a\n    // and about all\n  }\n}\n'
    )
    after = with_edit(text.encode(), entry("a.jsonc")).decode()
    assert '"a": {"command": "x"}, // about a\n    // and about all\n    "rag": {' in after


# Any document

_words = st.text(max_size=6)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=12,
)  # fmt: skip
_documents = st.dictionaries(_words, _json, max_size=4).filter(
    lambda d: (
        isinstance(d.get("mcpServers", {}), dict)
        and "rag" not in d.get("mcpServers", {})
        and isinstance(d.get("hooks", {}), dict)
        and isinstance(d.get("hooks", {}).get("UserPromptSubmit", []), list)
    )
)


@given(_documents, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_any_json_keeps_what_it_says_and_gets_it_back(
    document: dict[str, Any], indent: int | str | None, windows: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
    before = (text.replace("\n", "\r\n") if windows else text).encode("utf-8", "surrogatepass")
    if "\ud800" <= max(text) <= "\udfff":
        return
    for edit in (entry("a.json"), item("a.json")):
        made = missing_containers(before, edit)
        after = with_edit(before, edit)
        assert has_edit(after, edit)
        back = without_edit(after, edit, made)
        assert values(back, edit.path) == values(before, edit.path)
        assert without_edit(with_edit(back, edit), edit, made) == back


_rows = st.lists(
    st.sampled_from(
        ["", "# note", "a{n} = 1  # why", "[t{n}]", "[mcp_servers.s{n}]", '"q {n}" = [1,', "# end]"]
    ),
    max_size=8,
)


@given(_rows, st.booleans())
def test_any_toml_keeps_its_bytes(rows: list[str], windows: bool) -> None:
    lines = [row.format(n=number) for number, row in enumerate(rows)]
    text = ("\r\n" if windows else "\n").join(lines)
    try:
        toml.read(text)
    except ValueError:
        return
    edit = entry("a.toml")
    after = with_edit(text.encode(), edit)
    assert has_edit(after, edit)
    assert values(without_edit(after, edit), edit.path) == values(text.encode(), edit.path)
    assert after.startswith(text.encode())


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in ("a.json", "a.toml"):
        with contextlib.suppress(HostError):
            assert isinstance(values(text.encode("utf-8", "replace"), Path(name)), dict)


@given(_documents)
def test_reading_agrees_with_the_standard_library(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    assert jsonc.read(text).value == json.loads(text)
