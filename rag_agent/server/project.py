"""What the tools do: one project, one index job at a time, one reader."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from rag_agent.commands.health import status_data
from rag_agent.commands.layout import by_reason, counted, duration
from rag_agent.context.fence import one_line
from rag_agent.errors import StoreBusy, WalkError
from rag_agent.paths import expanded
from rag_agent.server.bridge import Bridge, ShowProgress
from rag_agent.server.job import Job, is_set
from rag_agent.server.reader import Reader
from rag_agent.server.tools import LEAST_TOKENS, IndexArguments, QueryArguments
from rag_agent.server.turns import TurnTaker
from rag_agent.turns import share_of_window
from rag_agent.types import Activity

if TYPE_CHECKING:
    from rag_agent.index import Index
    from rag_agent.progress import Progress
    from rag_agent.types import Status, SyncReport

ReportProgress = Callable[[float, float | None, str], Awaitable[None]]

PATIENCE = 20.0  # seconds an index call lasts at most; hosts give up after 60
_PART_FOR_ANSWER = 8  # an answer that was asked for gets an eighth of what the window has left
_FILES_SHOWN = 20  # of each kind; all of them could exceed what a host takes
_WARNINGS_SHOWN = 5


class Project:
    """The tools of one server process; ``on_ready`` is called once model and index are loaded."""

    def __init__(
        self, patience: float = PATIENCE, on_ready: Callable[[], None] = lambda: None
    ) -> None:
        self._patience = patience
        self._reader = Reader()
        self._job: Job | None = None
        self._beginning = anyio.Lock()  # one call at a time waits for the end of what is running
        self._turns = TurnTaker(self._reader, self._refresh, on_ready)
        self.bridge = Bridge(self._reader, self._turns, self._begin, patience)
        self._resumed = False
        self._stopping = False

    def stop(self, seconds: float) -> bool:
        """End the work, waiting at most this long for what it is in, and once; true if it ended."""
        if not self._stopping:
            self._stopping = True
            end = time.monotonic() + seconds
            if self._job is not None:
                self._job.stop()
                self._job.join(seconds)
            self._reader.close(max(0.0, end - time.monotonic()))
        return self._reader.ended and (self._job is None or self._job.ended.is_set())

    async def index(
        self,
        base: Path,
        arguments: IndexArguments,
        report: ReportProgress,
        show: ShowProgress | None = None,
    ) -> str:
        """Index a path; what takes longer than ``patience`` goes on in the background.

        Progress goes to ``report`` as numbers and a path, or to ``show`` as it is.

        Raises:
            StoreBusy: something else is being indexed, here or by another process.
            WalkError: the path does not exist or must not be indexed.
        """
        target = _target(base, arguments.path)
        job, ours = await self._start(base, target)
        waiting = True
        try:
            waiting = not await self._wait(job, report, show)
        except anyio.get_cancelled_exc_class():
            if ours:
                job.stop()
            raise
        if job.error is not None:
            raise job.error
        if job.stopped:
            return (
                f"indexing {one_line(str(target))} was stopped; what is done is kept. "
                "Call rag_index to go on."
            )
        return _in_background(job) if waiting or job.result is None else _summary(job)

    def warm_up(self, base: Path) -> None:
        """Make ready for the first turn, in the background: index open, model loaded."""
        self._turns.warm_up(base)

    async def query(self, base: Path, arguments: QueryArguments, left: int = 0) -> str:
        """The answer to a question as text for a model.

        ``left`` is how many tokens the model's context window has left, 0 if nobody says.

        Raises:
            QueryError: the query or its filter cannot be understood.
        """

        def ask(index: Index) -> tuple[str, int]:
            from rag_agent.context import render_results
            from rag_agent.context.render import DEFAULT_TOKENS

            found = index.search(arguments.query, arguments.limit, arguments.where)
            pending = 0 if self._resumed else index.status().pending
            most = max(LEAST_TOKENS, share_of_window(DEFAULT_TOKENS, left, _PART_FOR_ANSWER))
            return render_results(found, arguments.max_tokens, most=most), pending

        text, pending = await self._reader.ask(base, ask)
        self._resume(base, pending)
        return text

    async def status(self, base: Path) -> str:
        """The status as JSON."""
        job = self._job
        # Before the index is looked at: what is told of the index when nothing runs is all of it.
        state = None if job is None else job.state
        found = await self._reader.ask(base, lambda index: index.status())
        return json.dumps(_harmless(_status(found, job, state)), ensure_ascii=False)

    def _refresh(self, base: Path) -> None:
        """Refresh in the background, ahead of the vectors that are being made."""
        if self._job is None or self._job.ended.is_set():
            self._job = Job(base, refresh=True)
            self._job.start()
        else:
            self._job.refresh()

    def _resume(self, base: Path, pending: int) -> None:
        """Go on, once, with the vectors that an earlier process left when its client went away."""
        self._resumed = True
        if pending and self._job is None:
            self._job = Job(base)
            self._job.start()

    async def _start(self, base: Path, target: Path) -> tuple[Job, bool]:
        """The job for this path, and whether this call began it."""
        async with self._beginning:
            running = self._job
            if (
                running is not None
                and running.target is not None
                and not running.searchable.is_set()
                and target.is_relative_to(running.target)
                and target.exists()
            ):
                return running, False
            job = Job(base, target)
            await self._take_over(job)
        return job, True

    async def _begin(self, job: Job, *, urgent: bool = False) -> None:
        """Start a job in the place of one that only refreshes or makes vectors, or of any one.

        Raises:
            StoreBusy: another one is at work, and this is not ``urgent``.
        """
        async with self._beginning:
            await self._take_over(job, urgent=urgent)

    async def _take_over(self, job: Job, *, urgent: bool = False) -> None:
        # More than once, as a turn may begin a refresh while this waits for what was running.
        while (running := self._job) is not None and not running.ended.is_set():
            if not running.searchable.is_set() and not urgent:
                raise StoreBusy(
                    f"{running.name} is being indexed ({_progress_text(running.progress)}); call "
                    "rag_index again when rag_status says that it is done. rag_query works "
                    "meanwhile."
                )
            # Whatever it leaves undone the new job does: it goes on with what is missing.
            running.stop()
            await anyio.to_thread.run_sync(running.ended.wait, abandon_on_cancel=True)
            if running.refreshes:
                job.refresh()
        self._job = job
        job.start()

    async def _wait(
        self, job: Job, report: ReportProgress, show: ShowProgress | None = None
    ) -> bool:
        """Whether the job is searchable in time; tells the client of progress meanwhile."""
        end = time.monotonic() + self._patience
        told = 0
        shown: Progress | None = None
        while time.monotonic() < end:
            if await is_set(job.searchable):
                return True
            progress = job.progress
            if show is not None:
                if progress is not None and progress is not shown:
                    shown = progress
                    await show(progress)
                continue
            # The protocol wants every notification to name more than the one before: files that
            # are read count, files that are only listed do not.
            if progress is not None and progress.stage == "extract" and progress.done > told:
                told = progress.done
                await report(told, progress.total, one_line(progress.item))
        return job.searchable.is_set()


def _target(base: Path, path: str) -> Path:
    # Models copy the @ from the way people mention files.
    named = path.strip().removeprefix("@") or "."
    try:
        named.encode("utf-8")
        return (base / expanded(named)).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, NUL, half a character
        raise WalkError(
            f"{named[:200]!r} is no path ({error}); name a folder or file of this project"
        ) from error


def _in_background(job: Job) -> str:
    return (
        f"Indexing {one_line(job.name)} goes on in the background: {_progress_text(job.progress)}. "
        "rag_status tells how far it is; rag_query answers from what is there already."
    )


def _progress_text(progress: Progress | None) -> str:
    if progress is None:
        return "starting"
    if progress.total is None or progress.stage == "scan":
        return f"{counted(progress.done, 'file')} found so far"
    if progress.stage == "extract" and progress.done >= progress.total:
        return f"all {counted(progress.total, 'file')} read, about to be searchable"
    unit = "chunks embedded" if progress.stage == "embed" else "files read"
    return f"{progress.done:,} of {progress.total:,} {unit}"


def _summary(job: Job) -> str:
    done = job.result
    assert done is not None
    warnings = [f"warning: {one_line(text)}" for text in done.warnings[:_WARNINGS_SHOWN]]
    if not (done.added or done.changed or done.unchanged):
        nothing = f"No indexable files found in {one_line(job.name)}.{_skipped(done)}"
        return "\n".join([nothing, *warnings])
    removed = f", {done.removed:,} removed" if done.removed else ""
    lines = [
        f"Indexed {counted(done.added + done.changed, 'file')} "
        f"({counted(done.chunks, 'chunk')}), {done.unchanged:,} unchanged{removed}, "
        f"in {duration(done.seconds)}.{_skipped(done)}",
        *warnings,
    ]
    if done.pending:
        lines.append(
            f"Searchable by words now; {counted(done.pending, 'vector')} to find by meaning "
            "follow in the background (rag_status tells)."
        )
    return "\n".join(lines)


def _skipped(done: SyncReport) -> str:
    reasons = Counter(skipped.reason for skipped in done.skipped)
    return f" Left out: {one_line(by_reason(reasons))}." if reasons else ""


def _harmless(value: object) -> object:
    """Plain data whose texts, as paths and warnings are, a model may be shown."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {_harmless(key): _harmless(one) for key, one in value.items()}
    return [*map(_harmless, value)] if isinstance(value, list | tuple) else value


def _status(
    found: Status, job: Job | None, state: Mapping[str, object] | None
) -> dict[str, object]:
    data = status_data(found)
    for name in ("skipped", "warnings", "pages_of"):
        entries = data[name]
        assert isinstance(entries, (list, tuple, dict))
        first = list(islice(entries, _FILES_SHOWN))
        data[name] = {key: entries[key] for key in first} if isinstance(entries, dict) else first
        data[f"{name}_not_shown"] = len(entries) - len(first)
    data["indexing"] = state
    if job is not None and state and state["state"] == "running" and not found.running:
        # Between two kinds of work no lock is held, and yet there is more to come.
        data["running"] = [asdict(Activity(os.getpid(), job.began, "starting"))]
    return data
