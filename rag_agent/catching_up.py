"""A few files that came, went or changed, brought up to date for whoever is about to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_agent.access import Access
from rag_agent.engines import Engines
from rag_agent.store import Store
from rag_agent.sync.arrivals import MOST, Looked, Place, arrivals
from rag_agent.sync.changed import WAIT, note_unchanged, sync_changed
from rag_agent.sync.freshness import touched_anywhere
from rag_agent.tracking import Tracking
from rag_agent.types import StoredDocument


class CatchingUp:
    """What one index knows of the disk beyond what it holds; what cannot be done now waits."""

    def __init__(self, files: Access, tracking: Tracking, engines: Engines) -> None:
        self._files, self._tracking, self._engines = files, tracking, engines
        self._later: dict[int, StoredDocument] = {}
        self._looked: Looked = {}

    def look(self, store: Store) -> bool:
        """Take in what the times of files and folders tell; whether more of it waits."""
        edited, same = touched_anywhere(store, self._tracking.may_read)
        if same:
            note_unchanged(self._files.writing(0), same)  # it can wait, nobody is to wait for it
        if edited:
            self.take_in(edited)
        places, listed = arrivals(
            store, self._tracking.rules, self._looked, self._tracking.may_read
        )
        done = not places or self._sync(places)
        if done and len(places) < MOST:
            self._looked.update(listed)
        # There may be more than these, which the next look takes in.
        return done and len(places) == MOST

    def take_in(self, documents: Sequence[StoredDocument]) -> bool:
        """Bring these files up to date on the spot; false when that cannot be now."""
        return self._sync(
            [
                (document.root, document.path)
                for document in documents
                if self._tracking.may_read(document.root.path)
            ]
        )

    def leave(self, documents: Iterable[StoredDocument]) -> None:
        """Remember files for ``take_in_what_was_left``."""
        self._later.update((document.id, document) for document in documents)

    def take_in_what_was_left(self) -> None:
        """For after a search that had no time."""
        documents = list(self._later.values())
        self._later.clear()
        if documents:
            self.take_in(documents)

    def _sync(self, places: Sequence[Place]) -> bool:
        return sync_changed(
            self._files.writing(WAIT),
            self._files.database,
            places,
            self._tracking.rules(),
            self._engines.embedder.get(),
            self._engines.embeddings,
            self._engines.texts(),
        )
