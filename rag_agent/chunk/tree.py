"""One walk over a syntax tree: where a cut is cheap, what is defined, which scope holds where.

The walk never enters a node on a single line (but wrappers), so it costs less than the parsing.
It keeps its own stack: no input is nested too deeply for it. Lines count from 0 here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import LEADING, DefinitionKind, Found
from rag_agent.chunk.grammar import Action, actions_of, clauses_of, parse
from rag_agent.chunk.outline import NEVER
from rag_agent.types import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

# What a cut costs, by what begins there; a full chunk is worth 1 (outline.py).
_SCOPE = 0.12  # a definition, for each scope around it
_SCOPES = 0.5  # at most
_SHORT = 0.25  # more for a definition on one line that follows another line directly
_CLAUSE = 0.7  # a further equation of a long function
_STATEMENT = 0.8
_NESTING = 0.03  # more for each level of the tree
_DEEPEST = 1.2
_AFTER_BLANK = 0.15  # less for a statement after a blank line
_INSIDE = 1.3  # the middle of a statement, a comment, a string; the first part of a body
_GLUED = 1.5  # between a comment or attribute and what it belongs to


@dataclass(slots=True)
class _Scope:
    """A definition; ``lead`` is the line of its first comment or attribute."""

    kind: DefinitionKind
    names: tuple[str, ...]
    heading: str
    outer_heading: str
    depth: int
    lead: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """Where a wrapper such as ``export`` begins, and whether a cut before it may be cheap."""

    lead: int
    start: int
    cheap: bool


@dataclass(slots=True)
class _Siblings:
    """The children of one node, and what is known while they are gone through."""

    node: Node
    level: int
    scope: _Scope | None
    inside: bool  # a function
    wrapper: _Wrapper | None
    lead: int = -1  # the line where the comments before the next child begin
    lead_end: int = -1
    previous: _Scope | None = None
    first: bool = True


class Walk:
    """Reads trees of one document; what it finds adds up."""

    def __init__(self, lines: Sequence[str], source: bytes) -> None:
        self._source = source
        self._indents = [len(line) - len(line.lstrip()) for line in lines]
        self._blank = [not line or line.isspace() for line in lines]
        self._costs = [_INSIDE] * len(lines)
        self._scopes: list[_Scope] = []

    def read(self, root: Node, language: str) -> None:
        """Go through a whole tree."""
        actions, clauses = actions_of(language), clauses_of(language)
        stack = [_Siblings(root, 0, None, False, None)]
        while stack:
            siblings = stack.pop()
            for child in siblings.node.named_children:
                deeper = self._child(child, siblings, actions.get(child.kind_id), clauses)
                if deeper is not None:
                    stack.append(deeper)
                siblings.first = False

    def _child(
        self, node: Node, siblings: _Siblings, action: Action | None, clauses: bool
    ) -> _Siblings | None:
        """Note what one node means; its children, if they are to be gone through too."""
        row, column = node.start_point
        end, end_column = node.end_point
        if end_column == 0 and end > row:
            end -= 1  # the node includes the end of its last line
        starts = column == self._indents[row]
        if siblings.lead >= 0 and self._after_blank(row) and row > siblings.lead_end + 1:
            siblings.lead = -1  # a blank line parts a comment from what follows
        if action is None:
            return self._statement(node, siblings, row, end, starts)
        found = self._found(node, siblings, action)
        if action.leading or found is LEADING:
            if starts:
                self._lead(siblings, row, end)
            return None
        if action.tail and siblings.previous is not None:
            siblings.previous.end = end
            return _Siblings(node, siblings.level + 1, siblings.previous, True, None)
        if found is None:
            deeper = self._statement(node, siblings, row, end, starts, action.through)
        else:
            deeper = self._definition(node, siblings, found, row, end, starts, action, clauses)
        if action.embedded:
            self._embedded(node, action.embedded)
        return deeper

    def _found(self, node: Node, siblings: _Siblings, action: Action) -> Found | None:
        """What the node defines, but for constants inside functions: those are local."""
        if action.read is None or (siblings.inside and action.outer):
            return None
        found = action.read(node, self._text)
        local = found is not None and found.kind == "constant" and found is not LEADING
        return None if local and siblings.inside else found

    def _text(self, node: Node | None) -> str:
        if node is None:
            return ""
        piece = self._source[node.start_byte : node.end_byte]
        return " ".join(piece.decode("utf-8", "replace").split())

    def _lead(self, siblings: _Siblings, row: int, end: int) -> None:
        """A comment or attribute at the beginning of a line: wait for what it belongs to."""
        if siblings.lead < 0:
            siblings.lead = row
            if not siblings.first:
                self._cut(row, self._statement_cost(siblings, row))
        siblings.lead_end = end

    def _statement(
        self,
        node: Node,
        siblings: _Siblings,
        row: int,
        end: int,
        starts: bool,
        through: bool = False,
    ) -> _Siblings | None:
        lead = siblings.lead if siblings.lead >= 0 else row
        cheap = starts and not siblings.first
        if cheap:
            self._cut(lead, self._statement_cost(siblings, lead))
        if starts:
            self._glue(siblings, row)
        if through:
            wrapper = _Wrapper(lead, row, cheap)
            return _Siblings(node, siblings.level + 1, siblings.scope, siblings.inside, wrapper)
        if end == row:
            return None
        return _Siblings(node, siblings.level + 1, siblings.scope, siblings.inside, None)

    def _definition(
        self,
        node: Node,
        siblings: _Siblings,
        found: Found,
        row: int,
        end: int,
        starts: bool,
        action: Action,
        clauses: bool,
    ) -> _Siblings | None:
        lead = siblings.lead if siblings.lead >= 0 else row
        place = siblings.wrapper or _Wrapper(lead, row, starts and not siblings.first)
        siblings.wrapper = None
        previous = siblings.previous
        if clauses and previous is not None and found.names and previous.names == found.names:
            # The equation after a signature stays with it; a long function may be cut.
            cost = _CLAUSE if previous.end > previous.start + 1 else _GLUED
            previous.end = end
            scope = previous
        else:
            outer = siblings.scope
            scope = _Scope(
                kind=found.kind,
                names=found.names,
                heading=_chain(outer, found),
                outer_heading=outer.heading if outer else "",
                depth=outer.depth + 1 if outer else 0,
                lead=place.lead,
                start=place.start,
                end=end,
            )
            cost = min(_SCOPE * scope.depth, _SCOPES)
            if end == row and not self._after_blank(place.lead):
                cost += _SHORT
            self._scopes.append(scope)
        siblings.previous = scope
        if place.cheap:
            self._cut(place.lead, cost)
        self._glue(siblings, row)
        if end == row and not action.through:
            return None
        inside = siblings.inside or found.kind == "function"
        return _Siblings(node, siblings.level + 1, scope, inside, None)

    def _cut(self, row: int, cost: float) -> None:
        """A cut before this line costs at most this."""
        if cost < self._costs[row]:
            self._costs[row] = cost

    def _glue(self, siblings: _Siblings, row: int) -> None:
        """No cut between the comments that wait and the line that they belong to."""
        if siblings.lead >= 0:
            lead = siblings.lead
            self._costs[lead + 1 : row + 1] = [_GLUED] * (row - lead)
            siblings.lead = -1

    def _statement_cost(self, siblings: _Siblings, row: int) -> float:
        cost = min(_STATEMENT + _NESTING * siblings.level, _DEEPEST)
        return cost - _AFTER_BLANK if self._after_blank(row) else cost

    def _after_blank(self, row: int) -> bool:
        return row == 0 or self._blank[row - 1]

    def _embedded(self, node: Node, language: str) -> None:
        """A script in a component file: its lines are read by its own language."""
        tree = parse(language, self._source, within=node)
        if tree is not None:
            self.read(tree.root_node, language)

    def costs(self) -> list[float]:
        """The cost of a cut before each line."""
        return [
            NEVER if blank else cost for blank, cost in zip(self._blank, self._costs, strict=True)
        ]

    def definitions(self) -> list[Definition]:
        """Sorted by their start, the outer one first; lines count from 1 here."""
        ends = {
            (scope.start, scope.depth, name, scope.kind): scope.end
            for scope in self._scopes
            for name in scope.names
        }
        return [
            Definition(name, kind, start + 1, end + 1)
            for (start, _, name, kind), end in sorted(ends.items())
        ]

    def sections(self) -> list[tuple[int, str]]:
        """From a scope's first line its chain holds, after its last line that around it."""
        events: list[tuple[int, int, str]] = []
        for scope in self._scopes:
            if scope.end > scope.start or scope.kind != "constant":
                # On one line ends come before beginnings, and the outermost decides.
                events.append((scope.end + 1, -1 - scope.depth, scope.outer_heading))
                events.append((scope.lead, scope.depth, scope.heading))
        return [(line, heading) for line, _, heading in sorted(events)]


def _chain(outer: _Scope | None, found: Found) -> str:
    if outer is None or not outer.heading:
        return found.heading
    return f"{outer.heading} > {found.heading}" if found.heading else outer.heading
