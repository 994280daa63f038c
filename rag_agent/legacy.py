"""What earlier programs left in ``~/.pi``: recognised, taken over where that is safe, told once.

Of an ``index.json`` the files become known. Its vectors do not: another runtime made them, of text
without the header that ours is embedded with, so they would rank beside ours as if they were worse
answers; embedding anew costs minutes once.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from rag_agent import paths

logger = logging.getLogger(__name__)

_INDEX = "index.json"


def adopt_lens(home: Path) -> str | None:
    """Rename ``~/.pi/lens`` to ``~/.pi/rag`` if only the former exists; a sentence to tell."""
    lens, rag = home / ".pi" / "lens", home / ".pi" / "rag"
    # os.path and not pathlib, which raises for a folder that may not be looked into.
    if not os.path.isdir(lens) or os.path.lexists(rag):  # noqa: PTH112
        return None
    try:
        lens.rename(rag)
    except FileNotFoundError:
        # Another process was faster, and tells.
        return None
    except OSError as error:
        return f"{lens} could not be renamed to {rag} ({error.strerror or error}); rename it"
    return f"{lens} was renamed to {rag}"


def foreign_database(folder: Path) -> bool:
    """Whether the store's ``rag.db`` is pi-local-rag's; it is never changed."""
    return paths.is_foreign(folder / "rag.db")


def foreign_notice(folder: Path) -> str:
    """A sentence to tell once where ``foreign_database`` is true."""
    return (
        f"{folder / 'rag.db'} belongs to pi-local-rag and is left as it is; the index of rag_agent "
        f"is {paths.database(folder).name} beside it, with the same config.json"
    )


def legacy_files(folder: Path) -> list[str]:
    """Absolute paths of the files that a legacy ``index.json`` knows; empty without one."""
    path = folder / _INDEX
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s is not taken over: %s", path, error)
        return []
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, dict):
        logger.warning("%s is not taken over: it has no list of files", path)
        return []
    return sorted(name for name in files if Path(name).is_absolute())


def untracked(files: Sequence[str], tracked: Sequence[str], home: Path) -> list[str]:
    """What to track so that the files that still exist are indexed again.

    A folder that holds several of them, one directly, is taken as a whole; never the home folder
    or what contains it. Other files are taken singly.
    """
    known = [Path(path) for path in tracked]
    left = [
        Path(name)
        for name in files
        if Path(name).is_file() and not any(Path(name).is_relative_to(root) for root in known)
    ]
    found = []
    for anchor in sorted({path.anchor for path in left}):
        found += _cover(Path(anchor), [path for path in left if path.anchor == anchor], home)
    return found


def remove_index(folder: Path) -> None:
    """Remove ``index.json``, for when the new index holds its files."""
    try:
        (folder / _INDEX).unlink(missing_ok=True)
    except OSError as error:
        logger.warning("%s stays: %s", folder / _INDEX, error)


def _cover(folder: Path, files: Sequence[Path], home: Path) -> list[str]:
    if len(files) == 1:
        return [str(files[0])]
    direct = [path for path in files if path.parent == folder]
    if direct and not home.is_relative_to(folder):
        return [str(folder)]
    children: dict[str, list[Path]] = {}
    for path in files:
        if path.parent != folder:
            children.setdefault(path.relative_to(folder).parts[0], []).append(path)
    covered = [str(path) for path in direct]
    for name, below in sorted(children.items()):
        covered += _cover(folder / name, below, home)
    return covered
