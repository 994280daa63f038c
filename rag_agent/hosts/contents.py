"""What edits make of the content of a file, and what it is without them: bytes in, bytes out."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_agent.errors import HostError
from rag_agent.hosts import jsonc
from rag_agent.hosts.types import Entry, Item

_BOM = "\ufeff"
_OURS = ("rag-agent", "rag_agent")
Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A configuration as text, and whether it began with a byte order mark."""

    text: str
    bom: bool = False

    def encoded(self) -> bytes:
        """The bytes of the file."""
        return ((_BOM if self.bom else "") + self.text).encode()


def decoded(content: bytes, path: Path) -> Text:
    """The text of a file.

    Raises:
        HostError: it is not UTF-8.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise HostError(
            f"{path} is not UTF-8 (byte {error.start}); it was left alone: save it as UTF-8"
        ) from error
    return Text(text.removeprefix(_BOM), text.startswith(_BOM))


def with_edit(content: bytes, edit: Entry | Item) -> bytes:
    """The content with an entry or item set.

    Raises:
        HostError: it does not parse, or something that is not ours stands in the place.
    """
    before = decoded(content, edit.path)
    value = values(content, edit.path)
    wanted = copy.deepcopy(value)
    try:
        if isinstance(edit, Entry):
            changed = _with_entry(before.text, value, edit)
            _set(wanted, edit.keys, edit.value)
        else:
            changed = _with_item(before.text, value, edit)
            _set_item(wanted, edit)
    except ValueError as error:
        raise _unusable(edit.path, error) from error
    result = Text(changed, before.bom).encoded()
    if values(result, edit.path) != wanted:
        raise HostError(
            f"{edit.path} cannot be changed safely; it was left alone: add {'.'.join(edit.keys)} "
            f"by hand: {json.dumps(edit.value, ensure_ascii=False)}"
        )
    return result


def without_edit(content: bytes, edit: Entry | Item, made: Sequence[Keys] = ()) -> bytes:
    """The content without what an edit of ours put there, and without emptied ones of ``made``.

    What stands in its place and is not ours stays.
    """
    before = decoded(content, edit.path)
    value = values(content, edit.path)
    text = before.text
    try:
        if edit.path.suffix == ".toml":
            if isinstance(edit, Entry) and _is_ours(edit, _get(value, edit.keys)):
                from rag_agent.hosts import toml

                text = toml.remove_table(text, edit.keys)
        elif isinstance(edit, Entry):
            if _is_ours(edit, _get(value, edit.keys)):
                text = jsonc.remove(text, edit.keys)
        else:
            found = _get(value, edit.keys)
            for index in reversed(range(len(found) if isinstance(found, list) else 0)):
                if _marked(found[index], edit.mark):
                    text = jsonc.remove(text, edit.keys, index)
        if edit.path.suffix != ".toml":
            for keys in sorted(made, key=len, reverse=True):
                if _get(jsonc.read(text).value, keys) in ({}, []):
                    text = jsonc.remove(text, keys)
    except ValueError as error:
        raise _unusable(edit.path, error) from error
    return Text(text, before.bom).encoded()


def has_edit(content: bytes, edit: Entry | Item) -> bool | None:
    """Whether the edit is there as it is to be; None where one of ours is that is outdated."""
    value = _get(values(content, edit.path), edit.keys)
    if isinstance(edit, Entry):
        return True if value == edit.value else None if _is_ours(edit, value) else False
    marked = [each for each in value if _marked(each, edit.mark)] if isinstance(value, list) else []
    return True if marked == [edit.value] else None if marked else False


def missing_containers(content: bytes, edit: Entry | Item) -> list[Keys]:
    """Keys of the objects and lists that the edit has to make."""
    value = values(content, edit.path)
    depth = len(edit.keys) if isinstance(edit, Item) else len(edit.keys) - 1
    return [edit.keys[:n] for n in range(1, depth + 1) if _get(value, edit.keys[:n]) is None]


def values(content: bytes, path: Path) -> dict[str, Any]:
    """What a configuration says; an empty file says nothing.

    Raises:
        HostError: it does not parse; names file, line and column.
    """
    text = decoded(content, path).text
    try:
        if path.suffix == ".toml":
            from rag_agent.hosts import toml

            return toml.read(text)
        value = jsonc.read(text).value if text.strip() else {}
    except ValueError as error:
        raise _unusable(path, error) from error
    if not isinstance(value, dict):
        raise HostError(f"{path} holds no object {{…}}; it was left alone")
    return value


def _with_entry(text: str, value: dict[str, Any], edit: Entry) -> str:
    there = _get(value, edit.keys)
    if there == edit.value:
        return text
    if there is not None and not _is_ours(edit, there):
        raise ValueError(
            f"{'.'.join(edit.keys)} is there already and none of ours: "
            f"{json.dumps(there, ensure_ascii=False)[:200]}; rename or remove it"
        )
    if edit.path.suffix == ".toml":
        from rag_agent.hosts import toml

        assert isinstance(edit.value, dict)
        return toml.set_table(text, edit.keys, edit.value)
    return jsonc.set_value(text if text.strip() else "{}\n", edit.keys, edit.value)


def _with_item(text: str, value: dict[str, Any], edit: Item) -> str:
    there = _get(value, edit.keys)
    for index, each in enumerate(there if isinstance(there, list) else ()):
        if _marked(each, edit.mark):
            return (
                text
                if each == edit.value
                else jsonc.replace_item(text, edit.keys, index, edit.value)
            )
    return jsonc.append(text if text.strip() else "{}\n", edit.keys, edit.value)


def _get(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _set(value: dict[str, Any], keys: Sequence[str], new: Any) -> None:
    for key in keys[:-1]:
        value = value.setdefault(key, {})
    value[keys[-1]] = new


def _set_item(value: dict[str, Any], edit: Item) -> None:
    items = _get(value, edit.keys)
    if items is None:
        _set(value, edit.keys, [edit.value])
        return
    first = next((i for i, each in enumerate(items) if _marked(each, edit.mark)), len(items))
    items[first : first + 1] = [edit.value]


def _marked(item: Any, mark: str) -> bool:
    return mark in json.dumps(item, ensure_ascii=False)


def _is_ours(edit: Entry, value: Any) -> bool:
    """Whether a value names our program, or stands under a key that does."""
    if value is None:
        return False
    named = json.dumps([list(edit.keys), value], ensure_ascii=False, default=str)
    return any(name in named for name in _OURS)


def _unusable(path: Path, error: ValueError) -> HostError:
    return HostError(f"{path}: {error}. The file was left alone")
