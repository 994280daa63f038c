"""Folders in which there is nothing yet, noted by a sync for searches to look at (``arrivals``).

Of all others the index knows from the paths of what it holds or leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rag_agent.store import Store
from rag_agent.types import Root

_KEY = "bare folders"
_MOST = 1_000  # of a root


def bare_folders(store: Store, root: Root) -> list[str]:
    """Those of the last sync, by their paths below the root."""
    found: dict[str, list[str]] = json.loads(store.meta(_KEY) or "{}")
    return found.get(str(root.id), [])


def note_bare(
    store: Store, root: Root, entered: Iterable[str], paths: Iterable[str], under: str
) -> None:
    """Note which of the folders that a walk of ``under`` entered hold none of the ``paths``."""
    prefix = f"{under}/" if under else ""
    elsewhere = [f for f in bare_folders(store, root) if not f"{f}/".startswith(prefix)]
    bare = set(entered) - set(folders_of(paths))
    found = sorted([*elsewhere, *bare])[:_MOST]
    if found != bare_folders(store, root):
        roots = {str(root.id) for root in store.roots()}
        noted = json.loads(store.meta(_KEY) or "{}")
        kept = {known: folders for known, folders in noted.items() if known in roots}
        store.set_meta(_KEY, json.dumps({**kept, str(root.id): found}))


def folders_of(paths: Iterable[str]) -> Iterator[str]:
    """The folders that these lie in, each once, with those above."""
    known = {""}
    for path in paths:
        folder = path.rstrip("/").rpartition("/")[0]
        while folder not in known:
            known.add(folder)
            yield folder
            folder = folder.rpartition("/")[0]
