"""A corrupt index makes room for a new one and is kept, in case somebody wants to look."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from rag_agent.errors import StoreCorrupt
from rag_agent.store.store import Store


def set_aside_if_corrupt(database: Path) -> Path | None:
    """Move a file that failed its check out of the way; where it went, None if it is sound.

    Raises:
        StoreBusy: another process holds it, which says nothing about its soundness.
    """
    if not database.exists() or _is_sound(database):
        return None
    aside = database.with_name(f"{database.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{database}{suffix}").rename(f"{aside}{suffix}")
    return aside


def _is_sound(database: Path) -> bool:
    try:
        with Store.open(database) as store:
            return not store.check()
    except StoreCorrupt:
        return False
