"""What edits make of the content of a file, and what it is without them: bytes in, bytes out.

Every change is checked by reading the result: it says what it said before, but for what is ours.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_agent.errors import HostError
from rag_agent.hosts import jsonc
from rag_agent.hosts.ours import Way, is_ours, merged, parts
from rag_agent.hosts.types import Entry, Item

_BOM = "\ufeff"
_YAML = (".yaml", ".yml")
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
    """The content with an entry or item set; what the user changed in one of ours stays.

    Raises:
        HostError: it does not parse, or something that is not ours stands in the place.
    """
    before = decoded(content, edit.path)
    value = values(content, edit.path)
    wanted = copy.deepcopy(value)
    try:
        if isinstance(edit, Entry):
            changed = _with_entry(before.text, value, edit)
            _set(wanted, edit.keys, merged(_get(value, edit.keys), edit.value))
        else:
            changed = _with_item(before.text, value, edit)
            _set_item(wanted, edit)
    except ValueError as error:
        raise _unusable(edit.path, error) from error
    return _checked(Text(changed, before.bom), wanted, edit)


def without_edit(content: bytes, edit: Entry | Item, made: Sequence[Keys] = ()) -> bytes:
    """The content without what an edit of ours put there, and without emptied ones of ``made``.

    What stands in its place and is not ours stays.

    Raises:
        HostError: it does not parse, or what is ours cannot be taken out of it safely.
    """
    before = decoded(content, edit.path)
    value = values(content, edit.path)
    left = copy.deepcopy(value)
    text = before.text
    ways = _ways(value, edit)
    if not ways:
        return content
    try:
        for way in reversed(ways):  # the last first: the numbers of the others then stay right
            text = _removed(text, way, edit.path)
            _delete(left, way)
        for keys in sorted(made, key=len, reverse=True):
            if edit.path.suffix != ".toml" and _get(left, keys) in ({}, []):
                text = _removed(text, keys, edit.path)
                _delete(left, keys)
    except ValueError as error:
        raise _unusable(edit.path, error) from error
    return _checked(Text(text, before.bom), left, edit)


def has_edit(content: bytes, edit: Entry | Item) -> bool | None:
    """Whether the edit is there as it is to be; None where one of ours is that is outdated."""
    value = _get(values(content, edit.path), edit.keys)
    if isinstance(edit, Entry):
        if not is_ours(edit, value):
            return False
        return True if value == merged(value, edit.value) else None
    found = [there == wanted for _, there, wanted in parts(value, edit)]
    return True if found and all(found) else None if found else False


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
    try:
        value = _read(decoded(content, path).text, path)
    except ValueError as error:
        raise _unusable(path, error) from error
    if not isinstance(value, dict):
        raise HostError(f"{path} holds no object {{…}} or mapping; it was left alone")
    return value


def _read(text: str, path: Path) -> Any:
    if path.suffix == ".toml":
        from rag_agent.hosts import toml

        return toml.read(text)
    if path.suffix in _YAML:
        from rag_agent.hosts import yaml

        return yaml.read(text)
    return jsonc.read(text).value if text.strip() else {}


def _checked(result: Text, wanted: dict[str, Any], edit: Entry | Item) -> bytes:
    try:
        said = _read(result.text, edit.path)
        if edit.path.suffix == ".toml":
            # Of tables above ours nothing is written; they are there while something is in them.
            said, wanted = (_without_empty(each, edit.keys) for each in (said, wanted))
        safe = said == wanted
    except ValueError:
        safe = False
    if not safe:
        where = ".".join(edit.keys)
        shown = json.dumps(edit.value, ensure_ascii=False)
        raise HostError(
            f"{edit.path} is written in a way that cannot be changed safely; it was left alone: "
            f"add or remove {where} by hand: {shown}"
        )
    return result.encoded()


def _with_entry(text: str, value: dict[str, Any], edit: Entry) -> str:
    there = _get(value, edit.keys)
    new = merged(there, edit.value)
    if there == new and there is not None:
        return text
    if there is not None and not is_ours(edit, there):
        raise ValueError(
            f"{'.'.join(edit.keys)} is there already and none of ours: "
            f"{json.dumps(there, ensure_ascii=False, default=str)[:200]}; rename or remove it"
        )
    if edit.path.suffix == ".toml":
        from rag_agent.hosts import toml

        assert isinstance(new, dict)
        return toml.set_table(text, edit.keys, new)
    if not isinstance(there, dict) or not isinstance(new, dict):
        return _changed(text, edit.keys, new, edit.path)
    for key, each in new.items():
        if key not in there or there[key] != each:
            text = _changed(text, (*edit.keys, key), each, edit.path)
    return text


def _changed(text: str, keys: Keys, value: Any, path: Path) -> str:
    if path.suffix in _YAML:
        from rag_agent.hosts import yaml

        return yaml.set_value(text, keys, value)
    return jsonc.set_value(text if text.strip() else "{}\n", keys, value)


def _with_item(text: str, value: dict[str, Any], edit: Item) -> str:
    found = list(parts(_get(value, edit.keys), edit))
    if not found:
        return jsonc.append(text if text.strip() else "{}\n", edit.keys, edit.value)
    for way, there, wanted in found:
        if there != wanted:
            text = jsonc.set_value(text, way, wanted)
    return text


def _ways(value: dict[str, Any], edit: Entry | Item) -> list[Way]:
    """The ways to what is ours."""
    there = _get(value, edit.keys)
    if isinstance(edit, Entry):
        return [edit.keys] if is_ours(edit, there) else []
    return [way for way, _, _ in parts(there, edit)]


def _removed(text: str, way: Way, path: Path) -> str:
    if path.suffix == ".toml":
        from rag_agent.hosts import toml

        return toml.remove_table(text, [str(key) for key in way])
    if path.suffix in _YAML:
        from rag_agent.hosts import yaml

        return yaml.remove(text, way)
    return jsonc.remove(text, way)


def _get(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _set(value: dict[str, Any], keys: Sequence[str], new: Any) -> None:
    for key in keys[:-1]:
        if value.get(key) is None:
            value[key] = {}
        value = value[key]
        if not isinstance(value, dict):
            raise ValueError(f"{keys[-1]!r} is to go into {key!r}, which is no object or table")
    value[keys[-1]] = new


def _set_item(value: dict[str, Any], edit: Item) -> None:
    items = _get(value, edit.keys)
    found = list(parts(items, edit))
    if items is None:
        _set(value, edit.keys, [edit.value])
    elif not found:
        items.append(edit.value)
    for way, _, wanted in found:
        inner: Any = value
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = wanted


def _delete(value: Any, way: Way) -> None:
    for key in way[:-1]:
        value = value[key]
    del value[way[-1]]


def _without_empty(value: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The value without the empty objects that the keys lead to."""
    if not keys or not isinstance(value.get(keys[0]), dict):
        return value
    inner = _without_empty(value[keys[0]], keys[1:])
    rest = {key: each for key, each in value.items() if key != keys[0]}
    return rest | ({keys[0]: inner} if inner else {})


def _unusable(path: Path, error: ValueError) -> HostError:
    return HostError(f"{path}: {error}. The file was left alone")
