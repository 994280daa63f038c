"""Obsidian vaults: folders that hold a folder ``.obsidian``."""

from __future__ import annotations

import os
from urllib.parse import quote

_MARK = ".obsidian"


class Vaults:
    """Which vault a path lies in, asked of the disk once a folder. Paths are absolute, POSIX."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def of(self, path: str) -> str | None:
        """The innermost vault that holds the file, None outside of any."""
        folder = path.rpartition("/")[0] or "/"
        passed = []
        while folder not in self._known:
            passed.append(folder)
            if os.path.isdir(f"{folder.rstrip('/')}/{_MARK}"):  # noqa: PTH112 - thousands of them
                self._known[folder] = folder
                break
            above = folder.rpartition("/")[0] or "/"
            if above == folder or not above:
                self._known[folder] = None
                break
            folder = above
        found = self._known[folder]
        self._known.update(dict.fromkeys(passed, found))
        return found

    def address(self, path: str) -> str:
        """What opens the file in Obsidian, ``obsidian://open?vault=…&file=…``; "" outside a vault.

        https://help.obsidian.md/Extending+Obsidian/Obsidian+URI: the path from the vault's root,
        which may do without ``.md``, percent-encoded with its slashes.
        """
        vault = self.of(path)
        if vault is None:
            return ""
        name = vault.rpartition("/")[2]
        file = path[len(vault.rstrip("/")) + 1 :].removesuffix(".md")
        return f"obsidian://open?vault={quote(name, safe='')}&file={quote(file, safe='')}"
