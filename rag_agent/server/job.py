"""Work in a thread of its own: words, then vectors, then OCR; stopped between transactions."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from rag_agent import priority
from rag_agent.errors import RagError

if TYPE_CHECKING:
    from rag_agent.commands.parsing import Call
    from rag_agent.index import Index
    from rag_agent.progress import Progress
    from rag_agent.types import SyncReport

_log = logging.getLogger(__name__)

_LOOK_EVERY = 0.1  # seconds between two looks, and so between two progress notifications


class Stopped(BaseException):
    """Raised from the report to stop; no ``except Exception`` of a parser's caller swallows it."""


class _RefreshFirst(BaseException):
    """Raised from the report to leave vectors and OCR for later: files come first."""


class Job:
    """One indexing run: of a ``target``, of all that is tracked (``refresh``), or of both.

    With neither it only makes the vectors that are missing.

    ``searchable`` is set when words are found, or when it ended before. After that ``result`` holds
    what was done, or ``error`` why nothing was. ``ended`` is set when the thread has nothing more
    to do.
    """

    def __init__(self, base: Path, target: Path | None = None, *, refresh: bool = False) -> None:
        self.target = target
        self._refresh_wanted = threading.Event()
        if refresh:
            self._refresh_wanted.set()
        self.searchable = threading.Event()
        if target is None:
            self.searchable.set()
        self.ended = threading.Event()
        self.progress: Progress | None = None
        self.result: SyncReport | None = None
        self.error: Exception | None = None
        self.stopped = False
        self.began = time.time()
        self._end = 0.0
        self._base = base
        self._stop = threading.Event()
        self._adds = False  # vectors and what OCR reads, to files that can be found already
        self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the transaction it is in; what is done is kept."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most this long."""
        self._thread.join(seconds)

    @property
    def name(self) -> str:
        """What it works on, for people."""
        return "the index" if self.target is None else str(self.target)

    @property
    def refreshes(self) -> bool:
        """Whether it still has a refresh before it, or is in the midst of one."""
        return self._refresh_wanted.is_set()

    def refresh(self) -> None:
        """Sync all that is tracked as well, before making more vectors."""
        self._refresh_wanted.set()

    @property
    def state(self) -> dict[str, object]:
        """What it is doing or how it ended, as plain data."""
        state = "running"
        if self.ended.is_set():
            state = "stopped" if self.stopped else "failed" if self.error else "done"
        progress = self.progress
        return {
            "path": "" if self.target is None else str(self.target),
            "refresh": self.refreshes,
            "state": state,
            "error": str(self.error) if self.error else "",
            "seconds": round((self._end or time.time()) - self.began, 1),
            "stage": progress.stage if progress else "",
            "done": progress.done if progress else 0,
            "total": progress.total if progress else None,
        }

    def _run(self) -> None:
        priority.lower()
        try:
            from rag_agent.index import open as open_index  # heavy, not for answering initialize

            with open_index(self._base) as index:
                self._work(index)
        except Stopped:
            self.stopped = True
        except RagError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - the tool that waits for it shows it
            _log.exception("indexing %s failed", self.target or "vectors")
            self.error = error
        finally:
            self._end = time.time()
            self.searchable.set()
            self.ended.set()

    def _work(self, index: Index) -> None:
        if self.target is not None:
            self.result = index.sync(
                self.target, report=self._report, vectors=False, pictures=False
            )
        self.searchable.set()
        while True:
            if self._refresh_wanted.is_set():
                self._refresh(index)
                self._refresh_wanted.clear()
            with suppress(_RefreshFirst):
                self._adds = True
                index.embed(self._report)
                if index.read_pictures(self._report).chunks:
                    index.embed(self._report)
            self._adds = False
            if not self._refresh_wanted.is_set():
                return

    def _refresh(self, index: Index) -> None:
        """Sync all that is tracked, and note how that went."""
        from rag_agent.turns import record_refresh

        if not index.tracked_paths:  # else the sync would take the opened folder
            return
        record_refresh(index.memory, "began")
        try:
            done = index.sync(report=self._report, vectors=False, pictures=False)
        except BaseException as error:
            how = "stopped" if isinstance(error, Stopped) else f"failed: {error}"
            record_refresh(index.memory, how)
            raise
        changes = f"{done.added:,} new, {done.changed:,} changed, {done.removed:,} removed files"
        record_refresh(index.memory, changes)

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        if self._stop.is_set():
            raise Stopped
        if self._adds and self._refresh_wanted.is_set():
            raise _RefreshFirst


class CommandJob(Job):
    """A verb that takes long, called from within an agent; ``answer`` is what it has to say."""

    def __init__(self, base: Path, call: Call) -> None:
        super().__init__(base)
        self.searchable.clear()
        self.answer: dict[str, object] | None = None
        self._call = call

    def _work(self, index: Index) -> None:
        from rag_agent.commands import slash

        self.answer = slash.run(self._call, lambda: nullcontext(index), self._report)


async def is_set(event: threading.Event) -> bool:
    """Whether something of a job has happened, after waiting a moment for it."""

    def wait() -> bool:
        return event.wait(_LOOK_EVERY)

    return await anyio.to_thread.run_sync(wait, abandon_on_cancel=True)
