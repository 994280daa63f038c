"""What shown lines are called, when they are not the beginning of their chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rag_agent.context.excerpts import typed_name
from rag_agent.types import Chunk, Definition

_ARROW = " > "
# What languages write before the name that they define, of which a heading keeps the last word.
_KEYWORDS = frozenset(
    """
    actor class const constructor contract def define defmodule defp enum extension fn fun func
    function impl instance interface let macro mixin mod module namespace object package proc
    procedure protocol record service static struct sub subroutine template trait type typedef
    union val var
    """.split()
)


def heading_of(chunk: Chunk, start: int, end: int, asked: Iterable[str] = ()) -> str:
    """The heading of lines ``start`` to ``end`` of a chunk, whose own names its first definition.

    That of the definition in them which the question names (``asked`` are its stems), else of
    the smallest one around them, else of the one that most of them belong to; else the chunk's.
    """
    definition = _shown(chunk.definitions, start, end, set(asked))
    if definition is None:
        return chunk.heading
    parts = chunk.heading.split(_ARROW) if chunk.heading else []
    if parts and _names(parts[-1], definition):
        return chunk.heading
    around = [
        other
        for other in chunk.definitions
        if other.start <= definition.start and definition.end <= other.end
        and (other.start, other.end) != (definition.start, definition.end)
        and other.kind != "constant"
    ]  # fmt: skip
    around.sort(key=lambda other: (other.start, -other.end))
    chain = [*around, definition]
    outside = [part for part in parts if not any(_names(part, d) for d in chunk.definitions)]
    kept = outside[: _depth(chunk, chain[0])]
    return _ARROW.join([*kept, *(_written(chunk, link) for link in chain)])


def _shown(
    definitions: Sequence[Definition], start: int, end: int, asked: set[str]
) -> Definition | None:
    for definition in definitions:
        if start <= definition.start <= end and typed_name(definition, asked):
            return definition
    around = [d for d in definitions if d.start <= start and end <= d.end]
    if around:
        return min(around, key=lambda d: d.end - d.start)
    shared = [(min(end, d.end) - max(start, d.start) + 1, d) for d in definitions]
    most = [(lines, d.start - d.end, d) for lines, d in shared if 2 * lines > end - start + 1]
    return max(most, key=lambda row: row[:2])[2] if most else None


def _depth(chunk: Chunk, outermost: Definition) -> int:
    """How many scopes from before the chunk still hold where a definition of it begins.

    By indentation: none at the margin or after another definition that stands further left. Too
    few are true as well, so spaces count as if four made a level.
    """
    indents = {d.start: _indent(chunk, d) for d in chunk.definitions if d.start <= outermost.start}
    indent = indents.get(outermost.start, 0)
    return 0 if min(indents.values(), default=0) < indent else indent


def _indent(chunk: Chunk, definition: Definition) -> int:
    """Levels of indentation of the line where a definition begins."""
    lines = chunk.text.split("\n")[definition.start - chunk.start :]
    before = re.match(r"[ \t]*", lines[0] if lines else "")
    blanks = before[0] if before else ""
    spaces = blanks.count(" ")
    return blanks.count("\t") + (-(-spaces // 4) if spaces else 0)


def _written(chunk: Chunk, definition: Definition) -> str:
    """A definition's name with the keyword before it, as its own lines have it."""
    lines = chunk.text.split("\n")[definition.start - chunk.start :]
    name = re.escape(definition.name)
    for line in lines[: definition.end - definition.start + 1]:
        if definition.name not in line:
            continue  # most lines, and a pattern of its own for each name takes time
        found = re.search(rf"\b(\w+)\s+{name}(?!\w)", line)
        if found and found[1].lower() in _KEYWORDS:
            return f"{found[1]} {definition.name}"
    return definition.name


def _names(part: str, definition: Definition) -> bool:
    if definition.name not in part:
        return False
    return re.search(rf"(?<!\w){re.escape(definition.name)}(?!\w)", part) is not None
