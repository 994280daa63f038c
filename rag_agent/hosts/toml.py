"""One table of a TOML file, written and removed as text: everything else stays to the byte."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

Keys = Sequence[str]


class TomlError(ValueError):
    """The text does not parse; the message names the line."""


def read(text: str) -> dict[str, Any]:
    """The values of a whole text.

    Raises:
        TomlError: it is no TOML.
    """
    try:
        return tomlkit.parse(text).unwrap()
    except TOMLKitError as error:
        raise TomlError(str(error)) from error


def set_table(text: str, keys: Keys, value: Mapping[str, Any]) -> str:
    """The text with a table under nested keys, in the place of the old one or at the end."""
    table: dict[str, Any] = dict(value)
    for key in reversed(keys):
        table = {key: table}
    newline = "\r\n" if "\r\n" in text else "\n"
    new = tomlkit.dumps(table).strip("\n").replace("\n", newline)
    found = _span(text, keys)
    if found is not None:
        start, end = found
        tail = text[start:end]
        return text[:start] + new + tail[len(tail.rstrip("\r\n")) :] + text[end:]
    if not text.strip():
        return text + new + newline
    gap = newline if text.endswith(newline) else newline * 2
    return text + gap + new + newline


def remove_table(text: str, keys: Keys) -> str:
    """The text without the table under nested keys and the blank lines before it."""
    found = _span(text, keys)
    if found is None:
        return text
    start, end = found
    before = text[:start].rstrip("\r\n")
    if not text[end:].strip():
        return before + _line_end(text, len(before)) if before else text[end:]
    return text[:start] + text[end:]


def _span(text: str, keys: Keys) -> tuple[int, int] | None:
    """From the header of a table to the next header that is not below it."""
    name = r"\s*\.\s*".join(
        rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in keys
    )
    header = re.search(rf"^[ \t]*\[\s*{name}\s*\][^\n]*\n?", text, re.MULTILINE)
    if header is None:
        return None
    below = re.compile(rf"^[ \t]*\[\s*(?!{name}\s*\.)", re.MULTILINE)
    following = below.search(text, header.end())
    end = len(text)
    if following is not None:
        # Comments right above the next header belong to it.
        lines = text[header.end() : following.start()].splitlines(keepends=True)
        while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            lines.pop()
        end = header.end() + sum(map(len, lines))
    return header.start(), end


def _line_end(text: str, position: int) -> str:
    rest = text[position : position + 2]
    return "\r\n" if rest == "\r\n" else "\n" if rest.startswith("\n") else ""
