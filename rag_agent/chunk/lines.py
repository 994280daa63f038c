"""Lines without known structure: cut at blank lines, and where the indentation is least."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.chunk.outline import CODE, NEVER, Outline
from rag_agent.types import Document

_AFTER_BLANK = 0.4
_LINE = 0.9
_DEEPER = 0.02  # a column of indentation; 20 columns at most count
_COLUMNS = 20


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """For everything that no other way of cutting understands."""
    return Outline(costs=blank_line_costs(lines), shape=CODE)


def blank_line_costs(lines: Sequence[str]) -> list[float]:
    """Cheap after blank lines, dear before them, and dearer the deeper a line is indented."""
    costs = []
    after_blank = True
    for line in lines:
        text = line.lstrip()
        if not text:
            costs.append(NEVER)
            after_blank = True
            continue
        indent = min(len(line) - len(text), _COLUMNS)
        costs.append((_AFTER_BLANK if after_blank else _LINE) + indent * _DEEPER)
        after_blank = False
    return costs
