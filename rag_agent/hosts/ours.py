"""What in other people's configurations is ours, and what of it is theirs to change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_agent.hosts.types import Entry, Item

_NAMES = ("rag-agent", "rag_agent")
# These start us; any other list is a choice that the user may have made otherwise.
_WORDS = ("command", "cmd", "args")
_GROUPED = "hooks"  # hosts with hooks keep several in one item of a list, under this key
Way = tuple["str | int", ...]


def is_ours(edit: Entry, value: Any) -> bool:
    """Whether a value starts our server, or stands under a key that is our name."""
    if value is None:
        return False
    named = any(name in key for key in edit.keys for name in _NAMES)
    return named or _starts_us(command_words(value))


def command_words(value: Any) -> list[str]:
    """The words by which an entry starts its server; none if it starts none."""
    if not isinstance(value, Mapping):
        return []
    words: list[Any] = []
    for key in _WORDS:
        found = value.get(key)
        words += found if isinstance(found, list) else [found]
    return [word for word in words if isinstance(word, str)]


def merged(there: Any, ours: Any) -> Any:
    """What an entry of ours is to be: texts are as we write them, what the user changed stays.

    Numbers, switches and lists that start nothing keep the value that they have, and so does what
    we never wrote (``env``, what the host itself notes).
    """
    if isinstance(there, Mapping) and isinstance(ours, Mapping):
        new = {key: _chosen(key, there[key], ours[key]) for key in ours if key in there}
        return {**there, **ours, **new}
    if _are_objects(there) and _are_objects(ours) and len(there) == len(ours):
        return [merged(one, other) for one, other in zip(there, ours, strict=True)]
    return ours


def parts(value: Any, edit: Item) -> Iterator[tuple[Way, Any, Any]]:
    """The parts of a list that are ours: the way to each, what it is, what it is to be.

    Mostly whole items; of an item in which the user keeps hooks beside ours, ours alone.
    """
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if not _marked(item, edit.mark):
            continue
        way: Way = (*edit.keys, index)
        hooks = item.get(_GROUPED) if isinstance(item, Mapping) else None
        hooks = hooks if isinstance(hooks, list) else []
        own = [number for number, hook in enumerate(hooks) if _marked(hook, edit.mark)]
        if own and len(own) < len(hooks):
            assert isinstance(edit.value, Mapping)
            new = edit.value[_GROUPED][0]
            for number in own:
                yield (*way, _GROUPED, number), hooks[number], merged(hooks[number], new)
        else:
            yield way, item, merged(item, edit.value)


def _chosen(key: str, there: Any, ours: Any) -> Any:
    if isinstance(ours, bool | int | float):
        return there if isinstance(there, bool | int | float) else ours
    if isinstance(ours, list) and key not in _WORDS and not _are_objects(ours):
        return there if isinstance(there, list) else ours
    return merged(there, ours)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _marked(item: Any, mark: str) -> bool:
    text = json.dumps(item, ensure_ascii=False)
    # "hook codex" may stand in what others run, too.
    named = "rag" in mark or any(name in text for name in _NAMES)
    return mark in text and named


def _starts_us(words: Sequence[str]) -> bool:
    # Also behind another program: `uv run rag-agent serve`, `python -m rag_agent serve`.
    names = {re.split(r"[\\/]", word)[-1].removesuffix(".exe") for word in words}
    return "serve" in words and bool(names.intersection(_NAMES))
