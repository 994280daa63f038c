"""How a syntax tree is read: which nodes define names, and the words for a language's row.

A language is one ``Row`` in ``languages/``: node type -> ``Reader``. Most readers come from
``named`` (the name is in a field) or ``holding`` (the name is a child of some type); what is
unusual in a language is a small function beside its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

DefinitionKind = Literal["type", "function", "constant", "module", "implementation"]


@dataclass(frozen=True, slots=True)
class Found:
    """A definition: the simple names it defines, and how a heading shows it (``class Foo``).

    Without names it still is a scope: an anonymous function hides its local constants.
    """

    kind: DefinitionKind
    heading: str
    names: tuple[str, ...]


LEADING = Found("constant", "", ())
"""Returned by a reader for a node that belongs to the definition after it, such as ``@spec``."""

Text = Callable[["Node | None"], str]
"""The source of a node on one line, an empty string for None. (``Node.text`` takes 60 times as
long: it copies the source again.)"""

Reader = Callable[["Node", Text], Found | None]


@dataclass(frozen=True, slots=True)
class Row:
    """What one grammar calls its definitions. The strings hold node types, separated by spaces.

    ``through``: wrappers whose children are looked at even on one line; a definition inside
    begins where its wrapper begins (``export``, decorators). ``leading``: nodes that belong to
    the definition after them; comments always do. ``tail``: siblings that belong to the one
    before them. ``outer``: read only outside of functions. ``clauses``: neighbours of one name are
    one definition. ``embedded``: node type -> the language inside it.
    """

    readers: Mapping[str, Reader] = field(default_factory=dict)
    through: str = ""
    leading: str = ""
    tail: str = ""
    outer: str = ""
    clauses: bool = False
    embedded: Mapping[str, str] = field(default_factory=dict)


_LAST_PART = re.compile(r"[^\s.:\\/]+$")


def simple_name(shown: str) -> str:
    """``A::B<T>`` -> ``B``, ``Foo.Bar`` -> ``Bar``; operators stay as they are."""
    bare = re.split(r"[<(\[{]", shown, maxsplit=1)[0].strip() or shown
    found = _LAST_PART.search(bare.strip("\"'`"))
    return found[0].lstrip("$@#") or found[0] if found else bare


def found(kind: DefinitionKind, word: str, shown: str) -> Found | None:
    """A definition of one name, or None when the name is missing (a syntax error)."""
    name = simple_name(shown)
    return Found(kind, f"{word} {shown}".strip(), (name,)) if name else None


def named(kind: DefinitionKind, word: str = "", path: str = "name") -> Reader:
    """The name stands in a field, or in a field of a field (``declarator.name``)."""
    fields = path.split(".")

    def read(node: Node, text: Text) -> Found | None:
        return found(kind, word, text(_follow(node, fields)))

    return read


def _follow(node: Node, fields: list[str]) -> Node | None:
    current: Node | None = node
    for name in fields:
        current = current and current.child_by_field_name(name)
    return current


def holding(kind: DefinitionKind, word: str, *types: str) -> Reader:
    """The name is the first child, or child of a child, of one of these types."""

    def read(node: Node, text: Text) -> Found | None:
        return found(kind, word, text(first_of(node, *types)))

    return read


def all_named(kind: DefinitionKind, path: str = "name") -> Reader:
    """Several names in one field that may repeat (``var a, b = 1, 2``)."""

    def read(node: Node, text: Text) -> Found | None:
        return several(kind, (text(child) for child in node.children_by_field_name(path)))

    return read


def several(kind: DefinitionKind, shown: Iterator[str]) -> Found | None:
    """A definition of the names that are plain identifiers."""
    names = tuple(name for name in shown if name.isidentifier() and name != "_")
    return Found(kind, " ".join(names), names) if names else None


def fixed(kind: DefinitionKind, name: str) -> Reader:
    """A definition that the language names itself, such as ``init``."""
    return lambda node, text: Found(kind, name, (name,))


def nameless(node: Node, text: Text) -> Found | None:
    """A scope without a name: what is constant inside it is local."""
    return Found("function", "", ())


def first_of(node: Node, *types: str) -> Node | None:
    """The first child of one of these types, else such a child of a child."""
    children = node.named_children
    for child in children:
        if child.type in types:
            return child
    for child in children:
        for grandchild in child.named_children:
            if grandchild.type in types:
                return grandchild
    return None


def keyword_of(node: Node, *words: str) -> str:
    """Which of these keywords stands directly in the node; empty if none does."""
    for child in node.children:
        if child.type in words:
            return child.type
    return ""
