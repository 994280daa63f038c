"""One writer at a time, and what it is doing, told to everybody else.

The lock is the operating system's: it dies with its process, so a killed writer never blocks the
next one. What the writer is doing lies beside it as JSON, for ``status`` in other processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from rag_agent.errors import StoreBusy, StoreError
from rag_agent.progress import Progress, Report
from rag_agent.types import Activity

_TELL_EVERY = 0.5  # seconds between two writes of the activity file
_WAIT = 0.5  # seconds; a reader that looks whether the writer lives holds the lock for an instant


class WriteLock:
    """Held by the one thread of one process that writes an index, or does one kind of work on it.

    ``kind`` names the work: ``write`` for documents, ``embed`` for vectors, which take long and
    must not keep documents out.

    Raises:
        StoreBusy: another writer holds it; the message names its process.
        StoreError: the folder cannot be written.
    """

    def __init__(self, folder: Path, kind: str = "write", wait: float = _WAIT) -> None:
        self._lock = FileLock(folder / f"{kind}.lock")
        self._activity = folder / f"{kind}.json"
        self._wait = wait
        self._current = Activity(os.getpid(), time.time(), kind)
        self._told = 0.0

    def __enter__(self) -> WriteLock:
        try:
            self._lock.acquire(timeout=self._wait)
        except Timeout as error:
            raise StoreBusy(_busy(_read(self._activity))) from error
        except OSError as error:
            raise StoreError(
                f"cannot write the index in {self._activity.parent}: {error.strerror}; "
                "make the folder writable or set PI_RAG_DIR to another one"
            ) from error
        self._current = replace(self._current, started=time.time())
        self._tell()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):  # a leftover is recognised by the free lock
            self._activity.unlink(missing_ok=True)
        self._lock.release()

    def telling(self, report: Report) -> Report:
        """A report that also tells other processes, at most twice a second."""

        def tell(progress: Progress) -> None:
            report(progress)
            if time.monotonic() - self._told >= _TELL_EVERY:
                self._current = replace(
                    self._current,
                    stage=progress.stage,
                    done=progress.done,
                    total=progress.total,
                    item=progress.item,
                )
                self._tell()

        return tell

    def _tell(self) -> None:
        self._told = time.monotonic()
        # Written whole and moved into place, so that a reader never sees half of it. Telling is a
        # courtesy: a full disk must not end the work for it.
        draft = self._activity.with_suffix(".part")
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps(asdict(self._current)), encoding="utf-8")
            draft.replace(self._activity)


def running(folder: Path) -> tuple[Activity, ...]:
    """What is being done to the index in this folder right now, by any process."""
    found = []
    for kind in ("write", "embed"):
        activity = _read(folder / f"{kind}.json")
        if activity is not None and _held(folder / f"{kind}.lock"):
            found.append(activity)
    return tuple(found)


def _held(path: Path) -> bool:
    """Whether somebody holds the lock: a leftover of a killed process is free."""
    try:
        with FileLock(path).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _read(path: Path) -> Activity | None:
    try:
        return Activity(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _busy(activity: Activity | None) -> str:
    if activity is None:
        return "another process is writing this index; try again in a moment"
    progress = f", {activity.done:,} done" if activity.done else ""
    if activity.total:
        progress = f", {activity.done:,} of {activity.total:,}"
    return (
        f"process {activity.pid} is writing this index ({activity.stage}{progress}); "
        "searching works meanwhile, try this again when it is done (`rag-agent status` tells)"
    )
