"""Code: cut where definitions begin, along the syntax tree (tree-sitter).

What can be cut cheaply, which names are defined and which scope holds where is read off the tree
in one walk that never enters a node on a single line, so it costs less than the parsing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rag_agent.chunk import lines as plain
from rag_agent.chunk.definitions import LEADING, DefinitionKind, Found, Reader, Row
from rag_agent.chunk.languages import GRAMMARS, ROWS
from rag_agent.chunk.outline import CODE, NEVER, Outline
from rag_agent.types import Definition, Document

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

_log = logging.getLogger(__name__)

# What a cut costs, by what begins there; a full chunk is worth 1 (outline.py).
_SCOPE = 0.12  # a definition, for each scope around it
_SCOPES = 0.5  # at most
_SHORT = 0.25  # more for a definition of one line that follows another line directly
_STATEMENT = 0.62
_NESTING = 0.04  # a level of the tree more
_DEEPEST = 1.2
_AFTER_BLANK = 0.15  # less after a blank line
_INSIDE = 1.3  # the middle of a statement, a comment, a string
_CLAUSE = 0.6  # a further equation of a long function
_GLUED = 1.5  # between a comment or attribute and what it belongs to

_ERROR = 65535  # the kind_id of tree-sitter's ERROR nodes


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """By the tree of the document's language; plain lines where there is none."""
    source = document.text.encode("utf-8", "replace")
    grammar = GRAMMARS.get(document.language, document.language)
    tree = _parse(grammar, source) if len(source) <= _MOST_BYTES else None
    if tree is None:
        return plain.outline(document, lines)
    walk = _Walk(lines, source)
    walk.run(tree.root_node, grammar)
    return Outline(
        costs=walk.finished_costs(),
        shape=CODE,
        sections=walk.sections(),
        definitions=walk.definitions(),
    )


_MOST_BYTES = 4_000_000  # a tree takes about 10 times its source in memory


def _parse(grammar: str, source: bytes) -> Tree | None:
    language = _language(grammar)
    if language is None:
        return None
    from tree_sitter import Parser

    return Parser(language).parse(source)


@cache
def _language(grammar: str) -> Language | None:
    """The grammar, or None where it is unknown or cannot be loaded on this platform."""
    try:
        from semble_grammars import (
            GrammarLoadError,
            LanguageNotFoundError,
            UnsupportedPlatformError,
            get_language,
        )
    except ImportError:
        _log.warning("tree-sitter is not installed: code is cut by lines")
        return None
    try:
        language: Language = get_language(grammar)
    except LanguageNotFoundError:
        return None
    except (GrammarLoadError, UnsupportedPlatformError, OSError, RuntimeError) as error:
        # OSError, RuntimeError: its cache folder cannot be written, or there is no home folder.
        _log.warning("no grammar for %s, it is cut by lines: %s", grammar, error)
        return None
    return language


@dataclass(frozen=True, slots=True)
class _Action:
    """What to do with a node of one type."""

    read: Reader | None
    outer: bool
    through: bool
    leading: bool
    tail: bool
    embedded: str


@cache
def _actions(grammar: str) -> tuple[dict[int, _Action], bool]:
    """kind_id -> action for the node types of a grammar that need one; and Row.clauses."""
    language = _language(grammar)
    row = ROWS.get(grammar, Row())
    actions: dict[int, _Action] = {}
    for kind_id in range(language.node_kind_count if language else 0):
        name = language.node_kind_for_id(kind_id) if language else None
        if name is None or language is None or not language.node_kind_is_named(kind_id):
            continue
        action = _Action(
            read=row.readers.get(name),
            outer=name in row.outer.split(),
            through=name in row.through.split(),
            leading="comment" in name or name in row.leading.split(),
            tail=name in row.tail.split(),
            embedded=row.embedded.get(name, ""),
        )
        if action != _Action(None, False, False, False, False, ""):
            actions[kind_id] = action
    actions[_ERROR] = _Action(None, False, True, False, False, "")
    return actions, row.clauses


@dataclass(slots=True)
class _Scope:
    """A definition as it is found; ``lead`` is the line of its first comment. Lines from 0."""

    kind: DefinitionKind
    names: tuple[str, ...]
    heading: str
    parent: str  # the heading around it
    depth: int
    lead: int
    start: int
    end: int


class _Visit(NamedTuple):
    """A node whose children are still to be looked at."""

    node: Node
    level: int
    scope: _Scope | None
    inside: bool  # a function
    wrapper: tuple[int, int, bool] | None  # lead, start, whether a cut may be cheap


class _Walk:
    """One pass over a tree; it keeps its own stack, so no input is nested too deeply."""

    def __init__(self, lines: Sequence[str], source: bytes) -> None:
        self._lines = lines
        self._source = source
        self._indents = [len(line) - len(line.lstrip()) for line in lines]
        self._blank = [
            indent == len(line) for indent, line in zip(self._indents, lines, strict=True)
        ]
        self._costs = [_INSIDE] * len(lines)
        self._scopes: list[_Scope] = []

    def run(self, root: Node, grammar: str) -> None:
        """Read a tree; costs, sections and definitions add up over several calls."""
        actions, clauses = _actions(grammar)
        stack = [_Visit(root, 0, None, False, None)]
        while stack:
            self._children(stack.pop(), stack, actions, clauses)

    def _children(
        self, visit: _Visit, stack: list[_Visit], actions: dict[int, _Action], clauses: bool
    ) -> None:
        node, level, scope, inside, wrapper = visit
        blank, indents, costs = self._blank, self._indents, self._costs
        base = min(_STATEMENT + _NESTING * level, _DEEPEST)
        lead = lead_end = -1
        previous: _Scope | None = None
        first = True
        for child in node.children:
            if not child.is_named:
                continue
            row, column = child.start_point
            end, end_column = child.end_point
            if end_column == 0 and end > row:
                end -= 1  # the node includes its line's end
            action = actions.get(child.kind_id)
            starts = indents[row] == column
            after_blank = row == 0 or blank[row - 1]
            if lead >= 0 and after_blank and row > lead_end + 1:
                lead = -1  # a blank line parts a comment from what follows
            found = None
            current = scope
            if action is not None:
                if action.read is not None and not (inside and action.outer):
                    found = action.read(child)
                if action.leading or found is LEADING:
                    if starts:
                        if lead < 0:
                            lead = row
                            if not first:
                                costs[row] = base - (_AFTER_BLANK if after_blank else 0)
                        lead_end = end
                    first = False
                    continue
                if action.tail and previous is not None:
                    previous.end = end
                    stack.append(_Visit(child, level + 1, previous, True, None))
                    lead = -1
                    continue
            at = lead if lead >= 0 else row
            cheap = starts and not first
            start = row
            if inside and found is not None and found.kind == "constant":
                found = None
            if found is not None:
                if wrapper is not None:
                    at, start, cheap = wrapper
                    wrapper = None
                merged = (
                    clauses
                    and previous is not None
                    and previous.names == found.names
                    and bool(found.names)
                )
                if merged and previous is not None:
                    cost = _CLAUSE if previous.end - previous.start > 1 else _GLUED
                    previous.end = end
                    current = previous
                else:
                    depth = scope.depth + 1 if scope else 0
                    cost = min(_SCOPE * depth, _SCOPES)
                    if end == row and not (at == 0 or blank[at - 1]):
                        cost += _SHORT
                    current = _Scope(
                        found.kind,
                        found.names,
                        _chain(scope, found),
                        scope.heading if scope else "",
                        depth,
                        at,
                        start,
                        end,
                    )
                    self._scopes.append(current)
                    previous = current
            else:
                cost = base - (_AFTER_BLANK if at == 0 or blank[at - 1] else 0)
            if cheap and cost < costs[at]:
                costs[at] = cost
            if lead >= 0:
                costs[lead + 1 : row + 1] = [_GLUED] * (row - lead)
                lead = -1
            if action is not None and action.through:
                stack.append(_Visit(child, level + 1, current, inside, (at, start, cheap)))
            elif end > row:
                deeper = inside or (found is not None and found.kind == "function")
                stack.append(_Visit(child, level + 1, current, deeper, None))
                if action is not None and action.embedded:
                    self._embedded(child, action.embedded)
            first = False

    def _embedded(self, node: Node, grammar: str) -> None:
        """A script in a component file: its lines, read by its own language."""
        language = _language(grammar)
        if language is None:
            return
        from tree_sitter import Parser

        tree = Parser(language, included_ranges=[node.range]).parse(self._source)
        self.run(tree.root_node, grammar)

    def finished_costs(self) -> list[float]:
        """The cost of a cut before each line."""
        return [
            NEVER if blank else cost for blank, cost in zip(self._blank, self._costs, strict=True)
        ]

    def definitions(self) -> list[Definition]:
        """Sorted by start, the outer one first."""
        found = {
            (scope.start, scope.depth, name, scope.kind): scope.end
            for scope in self._scopes
            for name in scope.names
        }
        return [
            Definition(name, kind, start + 1, end + 1)
            for (start, _, name, kind), end in sorted(found.items(), key=lambda item: item[0])
        ]

    def sections(self) -> list[tuple[int, str]]:
        """(line, scope chain): at the first line of each scope its own, after it its parent's."""
        events: list[tuple[int, int, str]] = []
        for scope in self._scopes:
            if scope.end > scope.start or scope.kind != "constant":
                events.append((scope.lead, scope.depth + 1, scope.heading))
                events.append((scope.end + 1, -scope.depth - 1, scope.parent))
        # On one line: ends before beginnings, inner ends before outer ones.
        events.sort(key=lambda event: event[:2])
        return [(line, heading) for line, _, heading in events]


_ARROW = " > "


def _chain(scope: _Scope | None, found: Found) -> str:
    if scope is None or not scope.heading:
        return found.heading
    return f"{scope.heading}{_ARROW}{found.heading}" if found.heading else scope.heading
