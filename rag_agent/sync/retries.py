"""What failed for a passing reason is tried again: at the next sync, then less and less often.

The cause may be gone at any time (a busy machine, a broken tesseract), so nothing is given up for
good; but a page that never works costs a minute each time. So the first sync after a failure tries
again, the next only a day later, then after two days, four and so on, at most a month. A file that
changed, another OCR, or a rebuild does not wait.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from rag_agent.store import Store
from rag_agent.types import Root

_KEY = "retries"
_DAY = 86_400.0  # seconds
_LONGEST = 5  # doublings of a day: 32 days


class Retries:
    """What has failed below one root: which OCR tried, how often, and when; kept in the index.

    It is changed under the write lock.
    """

    def __init__(self, store: Store, root: Root) -> None:
        self._store = store
        self._root = str(root.id)
        self._failed = self._noted()

    def due(self, path: str, engine: str | None = None) -> bool:
        """Whether to try again now; another ``engine`` (``extract.ocr.state``) always may."""
        if path not in self._failed:
            return True
        tried_by, tries, last = self._failed[path]
        if tries < 2 or (engine is not None and engine != tried_by):
            return True
        # A clock that was put back must not stop it for good.
        waits = _DAY * (1 << min(tries - 2, _LONGEST))
        return abs(_now() - last) >= waits

    def failed(self, path: str, engine: str = "") -> None:
        """Note it at once, as a sync that takes long may be stopped."""
        self._failed = self._noted()
        _, tries, _ = self._failed.get(path, ("", 0, 0.0))
        self._failed[path] = (engine, tries + 1, _now())
        self._save()

    def settled(self, path: str) -> None:
        """It worked, or is another file by now."""
        if path in self._failed:
            self._failed = self._noted()
            self._failed.pop(path, None)
            self._save()

    def keep(self, paths: Iterable[str], under: str = "") -> None:
        """Forget all that is not among these, at and below ``under``."""
        self._failed = self._noted()
        if self._failed:
            prefix = f"{under}/" if under else ""
            gone = {path for path in self._failed if f"{path}/".startswith(prefix)} - set(paths)
            for path in gone:
                del self._failed[path]
            if gone:
                self._save()

    def _save(self) -> None:
        # Of roots that are followed no more, too, nothing is to stay behind.
        roots = {str(root.id) for root in self._store.roots()}
        kept = {root: failed for root, failed in self._stored().items() if root in roots}
        self._store.set_meta(_KEY, json.dumps({**kept, self._root: self._failed}))

    def _noted(self) -> dict[str, tuple[str, int, float]]:
        """Anew before each change, as a sync and a pass of OCR may be at work side by side."""
        return {
            path: (engine, tries, last)
            for path, (engine, tries, last) in self._stored().get(self._root, {}).items()
        }

    def _stored(self) -> dict[str, dict[str, tuple[str, int, float]]]:
        found: dict[str, dict[str, tuple[str, int, float]]]
        found = json.loads(self._store.meta(_KEY) or "{}")
        return found


def _now() -> float:
    return time.time()
