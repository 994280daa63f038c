"""Files that came or went since the last sync, told by the times of the folders they lie in.

A folder's time changes when an entry comes, goes or gets another name. So a search learns of a new
or renamed file by asking for the times of the folders it knows, which takes 2 µs each, and listing
the few that are newer than the last sync.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

from rag_agent.errors import WalkError
from rag_agent.store import Store
from rag_agent.sync.bare import bare_folders, folders_of
from rag_agent.sync.ignore import is_useless
from rag_agent.sync.walk import Candidate, WalkRules, admit, walk
from rag_agent.types import Root, Skipped

MOST = 64  # files that a search takes in, by words 5 ms each; more wait for the next one
_MOST_FOLDERS = 5_000  # of a root; in larger trees a search would take too long
_SLACK = 2_000_000_000  # nanoseconds; FAT counts two seconds
LOOKED = "looked_at"
"""Key of when the last sync of all that is tracked began: Unix time in nanoseconds."""

Place = tuple[Root, str]
"""A file by its root and its path there."""
Folders = Mapping[str, tuple[set[str], set[str]]]
Looked = dict[str, int]
"""By folder the time at which it was listed, of those that need not be listed again."""


def arrivals(
    store: Store,
    rules: Callable[[], WalkRules],
    looked: Looked,
    may_read: Callable[[str], bool] = lambda root: True,
) -> tuple[list[Place], Looked]:
    """Up to ``MOST`` files that are new or gone, and the folders that were listed for that.

    These are for the caller to add to ``looked`` once what was found is synced.
    """
    last = store.meta(LOOKED)
    if not last:
        return [], {}
    since = int(last) - _SLACK
    listed: Looked = {}
    known = Late(rules)
    found = chain.from_iterable(
        _of_root(store, root, known, since, looked, listed)
        for root in store.roots()
        if may_read(root.path)
    )
    return list(islice(found, MOST)), listed


class Late:
    """Rules that are made when something new is to be judged by them, which is rare."""

    def __init__(self, make: Callable[[], WalkRules]) -> None:
        self._make = make
        self._made: WalkRules | None = None

    def get(self) -> WalkRules:
        """Made once."""
        if self._made is None:
            self._made = self._make()
        return self._made


def _of_root(
    store: Store, root: Root, rules: Late, since: int, looked: Looked, listed: Looked
) -> Iterator[Place]:
    folders = _watched(store, root, looked)
    if len(folders) > _MOST_FOLDERS or not Path(root.path).is_dir():
        return
    for folder, (documents, left_out) in folders.items():
        location = f"{root.path}/{folder}" if folder else root.path
        try:
            changed = os.stat(location).st_mtime_ns  # noqa: PTH116 - of thousands of folders
            if changed < since or looked.get(location) == changed:
                continue
            with os.scandir(location) as entries:
                present = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue  # one that went is missing in the folder above; of others nothing is known
        listed[location] = changed
        prefix = f"{folder}/" if folder else ""
        for name in sorted(present.keys() - documents - left_out):
            path = prefix + name
            if path not in folders and not (present[name] and is_useless(name)):
                yield from _new(root, path, rules.get(), listed, is_folder=present[name])
        # After what is new: of a renamed folder everything is there by another name before it goes.
        yield from ((root, prefix + name) for name in sorted(documents - present.keys()))
        yield from _below_gone(root, folders, folder, present)


def _watched(store: Store, root: Root, looked: Looked) -> Folders:
    """The folders to look at, with the names of documents and of what is left out.

    In a tree with very many, those that hold documents, and what lies above them.
    """
    folders = dict(store.folders(root))
    if len(folders) > _MOST_FOLDERS:
        paths = (f"{folder}/." for folder, (documents, _) in folders.items() if documents)
        return {folder: folders[folder] for folder in ("", *folders_of(paths))}
    inside = f"{root.path}/"
    known = (place.removeprefix(inside) for place in looked if place.startswith(inside))
    for folder in (*bare_folders(store, root), *known):
        folders.setdefault(folder, (set(), set()))
    return folders


def _below_gone(
    root: Root, folders: Folders, folder: str, present: Collection[str]
) -> Iterator[Place]:
    """Documents in folders of this one that are not there any more."""
    prefix = f"{folder}/" if folder else ""
    for known, (documents, _) in folders.items():
        below = known.removeprefix(prefix) if known != folder and known.startswith(prefix) else ""
        if below and below.partition("/")[0] not in present:
            yield from ((root, f"{known}/{name}") for name in sorted(documents))


def _new(
    root: Root, path: str, rules: WalkRules, listed: Looked, *, is_folder: bool
) -> Iterator[Place]:
    """What of a new entry is to be indexed; folders that it brings are to be looked at from now on.

    They were listed before their time is known, so the next look lists them once more.
    """

    def enter(folder: str) -> None:
        listed.setdefault(f"{root.path}/{folder}", 0)

    try:
        if is_folder:
            below = walk(Path(root.path), rules, _nobody, path, enter)
            yield from ((root, found.path) for found in below)
        elif isinstance(admit(Path(root.path), path, rules), Candidate):
            yield root, path
    except WalkError:
        return  # the root went meanwhile


def _nobody(skipped: Skipped) -> None:
    """Why a file is left out, the next sync tells."""
