"""Any JSON with comments, commas and line ends as people leave them keeps all of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_agent.hosts.contents import has_edit, missing_containers, values, with_edit, without_edit
from rag_agent.hosts.types import Entry, Item

_BOM = "\ufeff".encode()
PATH = Path("/somewhere/settings.jsonc")
ENTRY = Entry(
    PATH, ("servers", "rag"), {"command": "/opt/rag-agent", "args": ["serve", "--for", "x"]}
)
ITEM = Item(
    PATH, ("hooks", "Prompt"), {"hooks": [{"command": "rag-agent hook x"}]}, "rag-agent hook x"
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[^\s",]', re.DOTALL)

_gaps = st.sampled_from(
    ["", "", "", " ", "\n", "\n\t", "  \n    ", " // one, {\n", "/* two ] */", '\n// "three"\n\n']
)
_words = st.sampled_from(["servers", "hooks", "Prompt", "a", "b c", 'q"', "\\", "é//", "/*", ""])
_scalars = st.sampled_from(
    ['"x"', '"// no"', '"/* no */"', '"\\u00e9\\n"', "-1.5e3", "true", "null"]
)


@st.composite
def _value(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.sampled_from(["object", "array", "scalar"])) if depth else "scalar"
    if kind == "scalar":
        return draw(_scalars)
    return draw(_object(depth - 1) if kind == "object" else _array(depth - 1))


@st.composite
def _object(draw: st.DrawFn, depth: int) -> str:
    keys = draw(st.lists(_words, max_size=3, unique=True))
    members = [
        f"{json.dumps(key, ensure_ascii=False)}{draw(_gaps)}:{draw(_gaps)}{draw(_value(depth))}"
        for key in keys
    ]
    return draw(_container("{", members, "}"))


@st.composite
def _array(draw: st.DrawFn, depth: int) -> str:
    items = [draw(_value(depth)) for _ in range(draw(st.integers(0, 3)))]
    return draw(_container("[", items, "]"))


@st.composite
def _container(draw: st.DrawFn, opening: str, elements: list[str], closing: str) -> str:
    parts = [opening, draw(_gaps)]
    for number, element in enumerate(elements):
        parts += [element, draw(_gaps)]
        if number < len(elements) - 1 or draw(st.booleans()):
            parts += [",", draw(_gaps)]
    return "".join([*parts, closing])


@st.composite
def _documents(draw: st.DrawFn) -> bytes:
    text = draw(_gaps) + draw(_object(3)) + draw(_gaps)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "").encode() + text.encode()


def _fits(content: bytes, edit: Entry | Item) -> bool:
    value: Any = values(content, PATH)
    for key in edit.keys[:-1]:
        value = value.get(key, {})
        if not isinstance(value, dict):
            return False
    last = value.get(edit.keys[-1])
    return last is None or (isinstance(edit, Item) and isinstance(last, list))


def _tokens(content: bytes) -> list[str]:
    """All but white space and commas, comments too."""
    return _TOKEN.findall(content.decode("utf-8-sig"))


def _is_subsequence(some: list[str], all_of_them: list[str]) -> bool:
    rest = iter(all_of_them)
    return all(token in rest for token in some)


def _bare_line_ends(content: bytes) -> int:
    return content.count(b"\n") - content.count(b"\r\n")


@pytest.mark.parametrize("edit", [ENTRY, ITEM], ids=["entry", "item"])
@given(content=_documents())
def test_all_that_stands_in_it_stays_with_ours_and_without_it_again(
    edit: Entry | Item, content: bytes
) -> None:
    assume(_fits(content, edit))
    made = missing_containers(content, edit)
    after = with_edit(content, edit)
    assert has_edit(after, edit) is True
    assert with_edit(after, edit) == after
    assert _is_subsequence(_tokens(content), _tokens(after))
    assert after.startswith(_BOM) == content.startswith(_BOM)
    assert b"\r\n" not in content or _bare_line_ends(after) == 0
    assert b"\r\n" not in after or b"\r\n" in content
    back = without_edit(after, edit, made)
    assert _tokens(back) == _tokens(content)
    assert values(back, PATH) == values(content, PATH)
