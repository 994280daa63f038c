"""Document → chunks: the units that are embedded and shown, with the passages inside them.

One module per way of cutting. Each looks at the lines and says what a cut before each of them would
cost and which heading holds there (``outline.py``); where to cut, and how large the pieces become,
is decided in one place (``cut.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rag_agent.chunk import code, lines, markdown, pages, rows
from rag_agent.chunk.cut import assemble
from rag_agent.chunk.outline import Outline, apart
from rag_agent.types import Chunk, Document

VERSION = "4"
"""Part of the index's fingerprint. Bump it whenever the same document would give other chunks,
passages, headings or definitions: a cost, a size, a grammar or a row of a language changed."""

_Outliner = Callable[[Document, Sequence[str]], Outline]

_BY_KIND: Mapping[str, _Outliner] = {
    "code": code.outline,
    "data": rows.outline,
    "prose": markdown.outline,
}


def chunk(document: Document) -> list[Chunk]:
    r"""Chunks in the order of the text; every line that is not blank lies in one of them.

    Lines are what ``\n`` separates. A line too long for a chunk becomes several chunks that all
    carry its number. A document without text gives an empty list.
    """
    text_lines = document.text.split("\n")
    outline = _way(document)(document, text_lines)
    if document.unembedded:
        outline = apart(outline, document.unembedded)
    return assemble(document, text_lines, outline)


def _way(document: Document) -> _Outliner:
    if document.pages:
        return pages.outline
    if document.converted:  # Markdown, whatever the format was
        return markdown.outline
    return _BY_KIND.get(document.kind, lines.outline)
