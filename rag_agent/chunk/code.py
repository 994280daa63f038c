"""Code: cut where definitions begin, along the syntax tree (tree-sitter)."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.chunk import lines as plain
from rag_agent.chunk.grammar import parse
from rag_agent.chunk.outline import CODE, Outline
from rag_agent.chunk.tree import Walk
from rag_agent.types import Document


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """By the tree of the document's language; plain lines where there is none."""
    source = document.text.encode("utf-8", "replace")  # half a surrogate pair becomes "?"
    tree = parse(document.language, source)
    if tree is None:
        return plain.outline(document, lines)
    walk = Walk(lines, source)
    walk.read(tree.root_node, document.language)
    return Outline(
        costs=walk.costs(),
        shape=CODE,
        sections=walk.sections(),
        definitions=walk.definitions(),
    )
