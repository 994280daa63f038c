"""The files of an index: its folder, made when it is needed, its database, and what turns left."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_agent import paths
from rag_agent.errors import StoreError, StoreMissing
from rag_agent.store import Store
from rag_agent.store.memory import TurnMemory
from rag_agent.sync.lock import WriteLock
from rag_agent.types import Scope

_log = logging.getLogger(__name__)

_WAIT = 0.5  # seconds; a search that syncs a file writes for less
_WAIT_FOR_BATCH = 60.0  # seconds; how long vectors wait for a document sync between two batches


class Access:
    """Opens them for reading, once, and for writing, under the lock.

    ``base`` is the folder that was opened, ``folder`` that of the index, ``scope`` where it lies.
    One thread at a time.
    """

    def __init__(self, base: Path, folder: Path, scope: Scope) -> None:
        self.base = base
        self.folder = folder
        self.scope = scope
        self._store: Store | None = None
        self._memory: TurnMemory | None = None
        self._opened: tuple[int, int] | None = None

    @property
    def database(self) -> Path:
        """The file of the index, which there may not be yet."""
        return paths.database(self.folder)

    def close(self) -> None:
        """Close what is open; it is opened again when it is asked for."""
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def create(self) -> None:
        """Make the folder: the project's own where so far there would only be the global one."""
        if self.scope == "global" and not self.database.exists():
            self.folder, self.scope = paths.project_store(self.base), "project"
        paths.create_store_folder(self.folder)

    def reader(self) -> Store | None:
        """The index, open for reading; None when there is none."""
        now = paths.identity(self.database)
        if self._store is not None and now != self._opened:
            self.close()  # deleted or replaced since: what is open is no longer the index
        if self._store is None:
            try:
                self._store, self._opened = Store.open(self.database, readonly=True), now
            except StoreMissing:
                return None
        return self._store

    @contextmanager
    def writing(self, wait: float = _WAIT) -> Iterator[tuple[Store, WriteLock]]:
        """The index under its lock, made when missing.

        Raises:
            StoreBusy: another process writes, and so many seconds were not enough.
        """
        self.create()
        with WriteLock(self.folder, wait=wait) as lock, Store.open(self.database) as store:
            yield store, lock

    @contextmanager
    def embedding(self) -> Iterator[tuple[Store, WriteLock]]:
        """The index for the one process that embeds; ``write_lock`` is taken for each batch."""
        with WriteLock(self.folder, "embed") as lock, Store.open(self.database) as store:
            yield store, lock

    def write_lock(self) -> WriteLock:
        """The lock of writers, waited for as long as a document sync may take."""
        return WriteLock(self.folder, wait=_WAIT_FOR_BATCH)

    @property
    def memory(self) -> TurnMemory | None:
        """What agents' sessions were shown; None where nothing is indexed or can be remembered."""
        if self._memory is None and self.reader() is not None:
            try:
                self._memory = TurnMemory.open(self.folder)
            except StoreError as error:
                _log.info("turns are not remembered: %s", error)
        return self._memory

    @property
    def memory_if_any(self) -> TurnMemory | None:
        """The memory, which is not begun by asking for it."""
        return self.memory if TurnMemory.exists(self.folder) else None
