"""One entry of a YAML file, written and removed as text: everything else stays to the byte.

PyYAML says where keys and values stand. What is added to a mapping in block style is a block below
its last value, in flow style one more member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

Keys = Sequence["str | int"]
_WIDEST = 10_000  # columns; values of ours stay on their lines
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\[\]{}]+")


class YamlError(ValueError):
    """The text does not parse; the message names line and column."""


def read(text: str) -> Any:
    """The value of a whole text; of an empty one an empty mapping.

    Raises:
        YamlError: it is no single document of plain values, or a mapping has a key twice.
    """
    _root(text)
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise _error(error) from error
    return {} if value is None else value


def set_value(text: str, keys: Keys, value: Any) -> str:
    """The text with a value under nested keys, replaced or added; missing mappings are made."""
    node, rest = _deepest(_root(text), keys)
    if node is not None and not rest:
        start = node.start_mark.index
        return text[:start] + json.dumps(value, ensure_ascii=False) + text[_end(text, node) :]
    for key in reversed(rest[1:]):
        value = {key: value}
    if node is None:
        return _with_block(text, len(text), "", {rest[0]: value})
    if isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index:
        # A key with nothing behind it.
        above, _ = _deepest(_root(text), keys[: -len(rest) - 1])
        assert above is not None
        indent = " " * (above.start_mark.column + 2)
        return _with_block(text, _line_end(text, node.start_mark.index), indent, {rest[0]: value})
    if not isinstance(node, yaml.MappingNode):
        raise YamlError(f"line {node.start_mark.line + 1}: {rest[0]!r} is to go into a mapping")
    if node.flow_style:
        end = node.end_mark.index - 1
        before = text[:end].rstrip()
        member = json.dumps({rest[0]: value}, ensure_ascii=False)[1:-1]
        if before.endswith(","):
            return f"{before} {member}," + text[len(before) :]
        return before + (", " if node.value else "") + member + text[end:]
    indent = " " * node.start_mark.column
    end = _line_end(text, _pair_end(text, *node.value[-1]))
    return _with_block(text, end, indent, {rest[0]: value})


def remove(text: str, keys: Keys) -> str:
    """The text without the entry that nested keys lead to."""
    root = _root(text)
    node, rest = _deepest(root, keys[:-1])
    if rest or not isinstance(node, yaml.MappingNode):
        return text
    names = [key.value for key, _ in node.value]
    if keys[-1] not in names:
        return text
    index = names.index(keys[-1])
    key, value = node.value[index]
    start, end = key.start_mark.index, _pair_end(text, key, value)
    if node.flow_style:
        after = text[end:].lstrip()
        if after.startswith(",") and index:
            start = text.index(",", _pair_end(text, *node.value[index - 1])) + 1
            end = len(text) - len(after) + 1
        elif index:
            start = _pair_end(text, *node.value[index - 1])
        elif len(names) > 1:
            end = node.value[1][0].start_mark.index
        return text[:start] + text[end:]
    start, end = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    if len(names) > 1 or node is root:
        return text[:start] + text[end:]
    # Nothing below its key would be null.
    above, _ = _deepest(root, keys[:-2])
    assert isinstance(above, yaml.MappingNode)
    named = next(key for key, value in above.value if value is node)
    colon = text.index(":", named.end_mark.index) + 1
    return text[:colon] + " {}" + text[colon:start] + text[end:]


def _root(text: str) -> yaml.Node | None:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _error(error) from error
    _check_keys(root)
    return root


def _check_keys(node: yaml.Node | None) -> None:
    """YAML forbids a key that stands twice; PyYAML takes the last."""
    pending = [node]
    seen = set()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:  # an alias may lead back to where it stands
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            names = set()
            for key, value in node.value:
                pending.append(value)
                name = (key.tag, str(key.value))
                if name in names:
                    line = key.start_mark.line + 1
                    raise YamlError(f"line {line}: the key {key.value!r} stands a second time")
                names.add(name)


def _deepest(root: yaml.Node | None, keys: Keys) -> tuple[yaml.Node | None, list[str]]:
    """The node that the first keys lead to, and the keys for which there is none yet."""
    node = root
    for place, key in enumerate(keys):
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        value = next((value for name, value in pairs if name.value == key), None)
        if value is None:
            return node, [str(key) for key in keys[place:]]
        node = value
    return node, []


def _end(text: str, node: yaml.Node) -> int:
    """Where the last character of a node ends; marks of blocks stand at what follows."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _pair_end(text, *last) if isinstance(last, tuple) else _end(text, last)
    return len(text[: node.end_mark.index].rstrip())


def _pair_end(text: str, key: yaml.Node, value: yaml.Node) -> int:
    if value.start_mark.index > key.start_mark.index:
        return max(_end(text, value), key.end_mark.index)
    # An alias has the marks of what it stands for, further up.
    alias = _ALIAS.match(text, key.end_mark.index)
    return alias.end() if alias else key.end_mark.index


def _with_block(text: str, position: int, indent: str, value: Mapping[str, Any]) -> str:
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    block = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDEST)
    lines = (f"{indent}{line}{newline}" for line in block.splitlines())
    before = text[:position]
    ended = "" if before.endswith("\n") or not before else newline
    return before + ended + "".join(lines) + text[position:]


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _error(error: Exception) -> YamlError:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return YamlError(" ".join(str(error).split()))
    problem = getattr(error, "problem", None) or "it cannot be read"
    return YamlError(f"line {mark.line + 1}, column {mark.column + 1}: {problem}")
