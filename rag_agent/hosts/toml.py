"""One table of a TOML file, written and removed as text: everything else stays to the byte.

tomlkit says what a text means. Where its statements stand, a scanner of our own says: what tomlkit
writes back is not always what it read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError

Keys = Sequence[str]

# What may hold a line end, a bracket or a # that means nothing; longer quotes first.
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


class TomlError(ValueError):
    """The text does not parse; the message names the line."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with its line end; what is blank or a comment is a line.

    ``keys`` are the whole way to the table or value. ``value`` is where the value stands.
    """

    start: int
    end: int
    kind: Literal["table", "tables", "value", "blank"]
    keys: tuple[str, ...] = ()
    value: tuple[int, int] = (0, 0)


def read(text: str) -> dict[str, Any]:
    """The values of a whole text.

    Raises:
        TomlError: it is no TOML.
    """
    try:
        return tomlkit.parse(text).unwrap()
    except (TOMLKitError, RecursionError) as error:
        raise TomlError(str(error)) from error


def set_table(text: str, keys: Keys, value: Mapping[str, Any]) -> str:
    """The text with a table under nested keys, which is appended if there is none.

    Of a table that is there, values that differ are replaced and missing ones added.
    """
    there: Any = read(text)
    for key in keys:
        there = there.get(key) if isinstance(there, dict) else None
    statements = _statements(text)
    inline = _only(statements, "value", keys)
    if inline is not None:
        start, end = inline.value
        return text[:start] + _written(value) + text[end:]
    if _only(statements, "table", keys) is None:
        return _appended(text, keys, value)
    for key, new in value.items():
        if isinstance(there, dict) and there.get(key) == new:
            continue
        text = _with_value(text, (*keys, key), _written(new))
    return text


def remove_table(text: str, keys: Keys) -> str:
    """The text without the table under nested keys, what is below it, and a blank line before."""
    statements = _statements(text)
    for first, last in reversed(_spans(statements, tuple(keys))):
        start, end = statements[first].start, statements[last].end
        if first and statements[first].kind == "table":
            before = statements[first - 1]
            if not text[before.start : before.end].strip():
                start = before.start
        text = text[:start] + text[end:]
    return text


def _spans(statements: Sequence[Statement], keys: tuple[str, ...]) -> list[tuple[int, int]]:
    """The first and last statements of what stands under the keys, in one or more places."""
    spans: list[tuple[int, int]] = []
    for index, statement in enumerate(statements):
        if statement.kind == "blank" or statement.keys[: len(keys)] != keys:
            continue
        previous = spans[-1] if spans else None
        if previous and all(s.kind == "blank" for s in statements[previous[1] + 1 : index]):
            spans[-1] = (previous[0], index)
        else:
            spans.append((index, index))
    return spans


def _with_value(text: str, keys: tuple[str, ...], new: str) -> str:
    """The text with a value in a table that is there."""
    statements = _statements(text)
    found = _only(statements, "value", keys)
    if found is not None:
        start, end = found.value
        return text[:start] + new + text[end:]
    header = next(i for i, s in enumerate(statements) if s.kind == "table" and s.keys == keys[:-1])
    last = header
    for index, statement in enumerate(statements[header + 1 :], header + 1):
        if statement.kind in ("table", "tables"):
            break
        last = index if statement.kind == "value" else last
    after = statements[last]
    line = text[after.start : after.end]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    ended = line if line.endswith("\n") else line + _newline(text)
    added = f"{indent}{_written_key(keys[-1])} = {new}" + line[len(line.rstrip("\r\n")) :]
    return text[: after.start] + ended + added + text[after.end :]


def _appended(text: str, keys: Keys, value: Mapping[str, Any]) -> str:
    table: dict[str, Any] = dict(value)
    for key in reversed(keys):
        table = {key: table}
    newline = _newline(text)
    new = tomlkit.dumps(table).strip("\n").replace("\n", newline) + newline
    if not text.strip():
        return text + new
    return text + (newline if text.endswith("\n") else newline * 2) + new


def _only(statements: Sequence[Statement], kind: str, keys: Keys) -> Statement | None:
    return next((s for s in statements if s.kind == kind and s.keys == tuple(keys)), None)


def _statements(text: str) -> list[Statement]:
    """Where each statement of a text stands, which is known to parse."""
    found: list[Statement] = []
    table: tuple[str, ...] = ()
    position = 0
    while position < len(text):
        begin = position + len(text[position:]) - len(text[position:].lstrip(" \t"))
        first = text[begin : begin + 1]
        if first in ("", "\r", "\n", "#"):
            end = _line_end(text, begin)
            found.append(Statement(position, end, "blank"))
        elif first == "[":
            end = _value_end(text, begin)
            brackets = 2 if text.startswith("[[", begin) else 1
            table = _way(text[begin + brackets : end], brackets)
            end = _line_end(text, end)
            found.append(Statement(position, end, "table" if brackets == 1 else "tables", table))
        else:
            equals = _outside_strings(text, begin, "=")
            start = equals + 1 + len(text[equals + 1 :]) - len(text[equals + 1 :].lstrip(" \t"))
            stop = _value_end(text, start)
            end = _line_end(text, stop)
            keys = (*table, *_way(text[begin:equals], 0))
            found.append(Statement(position, end, "value", keys, (start, stop)))
        position = end
    return found


def _way(text: str, brackets: int) -> tuple[str, ...]:
    """The keys in ``a."b c".d``, with the brackets of a header behind it."""
    inner: Any = read(f"{text.rstrip()[: -brackets or None]} = 0")
    keys = []
    while isinstance(inner, dict):
        ((key, inner),) = inner.items()
        keys.append(key)
    return tuple(keys)


def _outside_strings(text: str, position: int, wanted: str) -> int:
    """Where one of the characters stands that is in no string; the end of the text if none."""
    while position < len(text) and text[position] not in wanted:
        string = _STRING.match(text, position)
        position = string.end() if string else position + 1
    return position


def _value_end(text: str, position: int) -> int:
    """Where a value or header ends, which may go over lines in brackets and strings."""
    depth = 0
    end = position
    while position < len(text):
        position = _outside_strings(text, position, "[]{}#\r\n")
        character = text[position : position + 1]
        if character == "#":
            if depth == 0:
                break
            position = text.find("\n", position)
            continue
        if character in ("\r", "\n") and depth == 0:
            break
        depth += (character in ("[", "{")) - (character in ("]", "}"))
        position += 1
    end = position
    return end - (len(text[:end]) - len(text[:end].rstrip(" \t")))


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _written(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        inner = (f"{_written_key(key)} = {_written(each)}" for key, each in value.items())
        return f"{{ {', '.join(inner)} }}"
    return str(tomlkit.item(value).as_string())


def _written_key(key: str) -> str:
    return str(tomlkit.key(key).as_string())


def _newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
