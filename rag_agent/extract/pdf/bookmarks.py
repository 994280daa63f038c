"""The outline of a PDF: its headings as the file itself names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.extract.layout.headings import DEEPEST, Bookmark, plain

if TYPE_CHECKING:
    import pypdfium2

_MOST = 5_000  # more are an index of names
_MOST_OF_A_PAGE = 100


def bookmarks(pdf: pypdfium2.PdfDocument) -> Mapping[int, list[Bookmark]]:
    """By page, counted from 0; nothing where the outline is broken or leads elsewhere."""
    found: dict[int, list[Bookmark]] = {}
    for number, entry in enumerate(pdf.get_toc(max_depth=DEEPEST)):
        if number >= _MOST:
            return {}
        target = entry.get_dest()
        page = target.get_index() if target else None
        title = plain(entry.get_title())
        if page is not None and title and len(found.get(page, ())) < _MOST_OF_A_PAGE:
            found.setdefault(page, []).append(Bookmark(title, entry.level + 1))
    return found
