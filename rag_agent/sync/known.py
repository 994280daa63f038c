"""What the index holds of a tree, beside a walk of it: a page at a time, whatever their number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rag_agent.store import Store
from rag_agent.types import Root, StoredDocument

_PAGE = 500  # documents, of a kilobyte each


class Known:
    """Documents of a root by path, asked for in the order of the walk, which is that of the store.

    In another order it answers as well, but holds more. What is never asked for is ``left``.
    """

    def __init__(self, store: Store, root: Root, under: str) -> None:
        self._store = store
        self._root = root
        self._under = under
        self._page: deque[StoredDocument] = deque()
        self._after = ""  # the path up to which everything was read
        self._ended = False
        self._left: dict[str, StoredDocument] = {}

    def take(self, path: str) -> StoredDocument | None:
        """The document at a path, which is asked for once."""
        while (document := self._next()) is not None and document.path < path:
            self.leave(self._page.popleft())
        if document is not None and document.path == path:
            self._page.popleft()
            return document
        if not self._page:
            # What the caller puts at this path must not come with the next page.
            self._after = max(self._after, path)
        return self._left.pop(path, None)

    def leave(self, document: StoredDocument) -> None:
        """Count a document among those that are left."""
        self._left[document.path] = document

    def left(self) -> Iterable[StoredDocument]:
        """What was not taken, or was given back; asked for when the walk is over."""
        while self._next() is not None:
            self.leave(self._page.popleft())
        return self._left.values()

    def _next(self) -> StoredDocument | None:
        if not self._page and not self._ended:
            self._page.extend(
                self._store.documents_after(self._root, self._under, self._after, _PAGE)
            )
            self._ended = not self._page
            if self._page:
                self._after = self._page[-1].path
        return self._page[0] if self._page else None
