"""A few changed files brought up to date on the spot, for a search that came across them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.errors import StoreError, WalkError
from rag_agent.progress import silent
from rag_agent.store import Store
from rag_agent.sync.lock import WriteLock
from rag_agent.sync.sync import sync_file
from rag_agent.sync.vectors import embed_pending

if TYPE_CHECKING:
    from rag_agent.embed import EmbeddingCache
    from rag_agent.sync.texts import TextCache
    from rag_agent.sync.walk import WalkRules
    from rag_agent.types import Embedder, Root, Source

_log = logging.getLogger(__name__)

WAIT = 0.2  # seconds; a search waits no longer for another writer
_MOST_CHUNKS = 16  # that are embedded at once: about 150 ms


def sync_changed(
    writing: AbstractContextManager[tuple[Store, WriteLock]],
    database: Path,
    places: Sequence[tuple[Root, str]],
    rules: WalkRules,
    embedder: Embedder | None,
    cache: Callable[[], EmbeddingCache],
    texts: TextCache | None = None,
) -> bool:
    """Sync these files and embed their first chunks; false when that cannot be now."""
    try:
        with writing as (store, _):
            for root, path in places:
                # A root that is not there now keeps what is indexed of it.
                with suppress(WalkError):
                    sync_file(store, root, path, rules, texts)
        if embedder is not None:
            with Store.open(database) as store:
                embed_pending(
                    store,
                    embedder,
                    cache(),
                    silent,
                    lock=lambda: WriteLock(database.parent, wait=WAIT),
                    limit=_MOST_CHUNKS,
                )
    except StoreError as error:
        _log.info("changed files are not synced now: %s", error)
        return False
    return True


def note_unchanged(
    writing: AbstractContextManager[tuple[Store, WriteLock]], same: Mapping[int, Source]
) -> None:
    """Note the present state of files, by document, whose bytes are the same; unless it is busy."""
    try:
        with writing as (store, _):
            store.note_times(same)
    except StoreError as error:
        _log.info("times of unchanged files are not noted now: %s", error)
