"""JSON as people keep it, changed in one place: comments and everything else stay to the byte.

Comments (``//`` and ``/* */``) and trailing commas are read, as VS Code, Zed and opencode do. The
scanner knows where each value stands; an edit inserts or removes text there and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Keys = Sequence["str | int"]
"""The way to a value: keys of objects, and numbers of items in arrays."""

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null')
_DEEPEST = 200  # levels; configurations have ten


class JsonError(ValueError):
    """The text does not parse; the message names line and column."""


@dataclass(slots=True)
class Element:
    """A member of an object or an item of an array; ``comma`` is where the comma after it stands.

    ``start`` is where its key begins, or the item itself; ``key`` is None for items.
    """

    start: int
    key: str | None
    node: Node
    comma: int | None = None


@dataclass(slots=True)
class Node:
    """A value from ``start`` to ``end`` of the text."""

    start: int
    end: int
    kind: str  # "object", "array" or "scalar"
    scalar: Any = None
    elements: list[Element] = field(default_factory=list)

    @property
    def value(self) -> Any:
        """The value as Python has it."""
        if self.kind == "object":
            return {e.key: e.node.value for e in self.elements}
        if self.kind == "array":
            return [e.node.value for e in self.elements]
        return self.scalar

    def position(self, key: str | int) -> int | None:
        """Which element has that key (of an object) or number (of an array); None if none has."""
        if isinstance(key, int):
            return key if self.kind == "array" and key < len(self.elements) else None
        if self.kind != "object":
            return None
        return next((i for i, e in enumerate(self.elements) if e.key == key), None)


def read(text: str) -> Node:
    """The value of a whole text.

    Raises:
        JsonError: it is no JSON with comments, or an object has a key twice.
    """
    node, position = _Scanner(text).value(_skip(text, 0), 0)
    position = _skip(text, position)
    if position < len(text):
        raise _error(text, position, "something follows after the end")
    return node


def set_value(text: str, keys: Keys, value: Any) -> str:
    """The text with a value under nested keys, replaced or added; missing objects are made."""
    node, rest = _deepest(text, read(text), keys)
    if not rest:
        return text[: node.start] + _written(text, node.start, value) + text[node.end :]
    for key in reversed(rest[1:]):
        value = {key: value}
    return _added(text, node, json.dumps(rest[0], ensure_ascii=False) + ": ", value)


def append(text: str, keys: Keys, value: Any) -> str:
    """The text with one more item in the array under nested keys, which is made if need be."""
    node, rest = _deepest(text, read(text), keys)
    if rest:
        return set_value(text, keys, [value])
    if node.kind != "array":
        raise _error(text, node.start, f"{keys[-1]!r} is to be a list, and this is none")
    return _added(text, node, "", value)


def remove(text: str, keys: Keys) -> str:
    """The text without the member or item that nested keys lead to."""
    node, rest = _deepest(text, read(text), keys[:-1])
    index = None if rest else node.position(keys[-1])
    return text if index is None else _without(text, node, index)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, position: int, depth: int) -> tuple[Node, int]:
        text = self._text
        if depth > _DEEPEST:
            raise _error(text, position, "nested too deeply")
        if text[position : position + 1] in ("{", "["):
            return self._container(position, depth)
        found = _SCALAR.match(text, position)
        if found is None:
            raise _error(text, position, "a value is expected")
        scalar = _loaded(text, position, found[0])
        return Node(position, found.end(), "scalar", scalar), found.end()

    def _container(self, start: int, depth: int) -> tuple[Node, int]:
        text = self._text
        is_object = text[start] == "{"
        close = "}" if is_object else "]"
        node = Node(start, start, "object" if is_object else "array")
        position = _skip(text, start + 1)
        while text[position : position + 1] != close:
            if node.elements and node.elements[-1].comma is None:
                raise _error(text, position, f"',' or {close!r} is expected")
            begin, key = position, None
            if is_object:
                key, position = self._key(position, node)
            value, position = self.value(position, depth + 1)
            element = Element(begin, key, value)
            node.elements.append(element)
            position = _skip(text, position)
            if text[position : position + 1] == ",":
                element.comma = position
                position = _skip(text, position + 1)
        node.end = position + 1
        return node, node.end

    def _key(self, position: int, node: Node) -> tuple[str, int]:
        text = self._text
        found = _SCALAR.match(text, position)
        if found is None or text[position] != '"':
            raise _error(text, position, "a key in double quotes is expected")
        key = _loaded(text, position, found[0])
        if node.position(key) is not None:
            raise _error(text, position, f"the key {key!r} stands here a second time")
        position = _skip(text, found.end())
        if text[position : position + 1] != ":":
            raise _error(text, position, "':' is expected")
        return key, _skip(text, position + 1)


def _loaded(text: str, position: int, scalar: str) -> Any:
    try:
        return json.loads(scalar)
    except ValueError as error:  # an escape that there is not, a number of thousands of digits
        raise _error(text, position, f"{scalar[:40]} is no JSON value") from error


def _deepest(text: str, node: Node, keys: Keys) -> tuple[Node, list[str]]:
    """The node that the first keys lead to, and the keys for which there is none yet."""
    for place, key in enumerate(keys):
        index = node.position(key)
        if index is None:
            if node.kind != "object":
                raise _error(text, node.start, f"{key!r} is looked for here; this is no object")
            return node, [str(key) for key in keys[place:]]
        node = node.elements[index].node
    return node, []


def _added(text: str, node: Node, label: str, value: Any) -> str:
    """The text with one more element at the end of a container."""
    close = node.end - 1
    if not node.elements:
        inside = text[node.start + 1 : close]
        # Comments stay above what is added.
        end = node.start + 1 + (len(inside.rstrip()) if inside.strip() else 0)
        indent = _indent_of_line(text, node.start) + _unit(text)
        new = f"{_newline(text)}{indent}{label}{_dumped(text, value, indent)}"
        return text[:end] + new + _newline(text) + _indent_of_line(text, node.start) + text[close:]
    last = node.elements[-1]
    end = close - (len(text[:close]) - len(text[:close].rstrip()))
    # What follows a line comment needs a line of its own, else it is part of the comment.
    own_line = "\n" in text[node.start : node.elements[0].start] + text[last.node.end : end]
    if own_line or "//" in text[last.node.end : end]:
        indent = _indent_of_line(text, last.start)
        new = f"{_newline(text)}{indent}{label}{_dumped(text, value, indent)}"
    else:
        new = f" {label}{json.dumps(value, ensure_ascii=False)}"
    if last.comma is None:
        return text[: last.node.end] + "," + text[last.node.end : end] + new + text[end:]
    return text[:end] + new + "," + text[end:]


def _without(text: str, node: Node, index: int) -> str:
    """The text without one element of a container: the inverse of ``_added``."""
    element = node.elements[index]
    end = element.node.end if element.comma is None else element.comma + 1
    start = element.start
    before = text[:start].rstrip(" \t")
    if before.endswith("\n"):
        start = len(before) - (2 if before.endswith("\r\n") else 1)
    elif index or element.comma is None:
        start = len(before)
    else:  # the first of several on one line: the space after its comma goes with it
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    if len(node.elements) == 1:
        # Nothing but what was written around it: an empty container again.
        inner = text[node.start + 1 : start] + text[end : node.end - 1]
        if not inner.strip():
            return text[: node.start + 1] + text[node.end - 1 :]
    shortened = text[:start] + text[end:]
    previous = node.elements[index - 1] if index else None
    if element.comma is None and previous is not None and previous.comma is not None:
        comma = previous.comma
        shortened = shortened[:comma] + shortened[comma + 1 :]
    return shortened


def _written(text: str, position: int, value: Any) -> str:
    return _dumped(text, value, _indent_of_line(text, position))


def _dumped(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _unit(text: str) -> str:
    """One step of indentation as the file has it, two spaces where it has none."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else "  "


def _indent_of_line(text: str, position: int) -> str:
    begin = text.rfind("\n", 0, position) + 1
    line = text[begin:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _error(text: str, position: int, why: str) -> JsonError:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return JsonError(f"line {line}, column {column}: {why}")
