"""Progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from rag_agent.commands.layout import counted, duration, one_line
from rag_agent.progress import Progress, Report

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# What a stage is called and what it counts.
_STAGES = {
    "scan": ("Scanning", "files"),
    "extract": ("Indexing", "files"),
    "embed": ("Embedding", "chunks"),
    "rerank": ("Ranking", "passages"),
    "answer": ("Answering", "questions"),
    "export": ("Exporting", "files"),
    "import": ("Importing", "files"),
}
_LINE_EVERY = 3.0  # seconds between two lines where stderr is no terminal
_BAR_WIDTH = 24  # cells, as pi-local-rag's
_ITEM_WIDTH = 40  # characters of the path, the end of which tells most


@contextmanager
def progress_display(stream: TextIO | None = None) -> Iterator[Report]:
    """A report that shows itself on ``stream`` (stderr); nothing is drawn before it is called."""
    target = sys.stderr if stream is None else stream
    shown = _Bar() if target.isatty() else _Lines(target)
    try:
        yield shown
    finally:
        shown.close()


class _Lines:
    """One line at once, then one every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._began = 0.0
        self._first = 0
        self._said = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._began, self._first = progress.stage, now, progress.done
            self._said = now  # a stage that is over within seconds needs no lines
        if _found(progress):
            self._write(_found(progress))
        elif now - self._said >= _LINE_EVERY:
            self._said = now
            self._write(self._line(progress, now))

    def close(self) -> None:
        """Nothing is left on the screen."""

    def _line(self, progress: Progress, now: float) -> str:
        action, unit = _STAGES[progress.stage]
        rate = (progress.done - self._first) / (now - self._began)
        line = f"{action}: {progress.done:,} {unit}"
        if progress.total:
            line = f"{action}: {progress.done:,} of {progress.total:,} {unit}"
            line += f" ({progress.done / progress.total:.0%})"
        if rate > 0:
            line += f", {rate:,.1f}/s"
        if rate > 0 and progress.total:
            line += f", {duration((progress.total - progress.done) / rate)} left"
        return f"{line} · {one_line(progress.item)}" if progress.item else line

    def _write(self, line: str) -> None:
        with suppress(OSError):  # a full or closed stderr must not end the work
            self._stream.write(line + "\n")
            self._stream.flush()


class _Bar:
    """A bar with rate and time left that goes away when the work is done."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._stage = ""

    def __call__(self, progress: Progress) -> None:
        bar = self._bar or self._start()
        action, unit = _STAGES[progress.stage]
        if progress.stage != self._stage:
            self._stage = progress.stage
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(f"■ {action}", total=progress.total, unit=unit, item="")
        task = bar.task_ids[0]
        bar.update(task, completed=progress.done, total=progress.total, item=_short(progress.item))
        if _found(progress):
            bar.console.print(_found(progress), markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    def _start(self) -> Bar:
        # Costs 0.1 s to import, and most commands have no progress to show.
        from rich import progress as rich_progress
        from rich.console import Console
        from rich.text import Text

        class Rate(rich_progress.ProgressColumn):
            def render(self, task: rich_progress.Task) -> Text:
                unit = task.fields["unit"]
                total = "" if task.total is None else f" of {task.total:,.0f}"
                speed = f" · {task.speed:,.0f}/s" if task.speed else ""
                return Text(f"{task.completed:,.0f}{total} {unit}{speed}")

        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(bar_width=_BAR_WIDTH),
            rich_progress.TaskProgressColumn(),
            Rate(),
            rich_progress.TimeRemainingColumn(),
            rich_progress.TextColumn("{task.fields[item]}", markup=False),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._bar.start()
        return self._bar


def _found(progress: Progress) -> str:
    if progress.stage == "scan" and progress.done == progress.total:
        return f"Found {counted(progress.done, 'file')}"
    return ""


def _short(path: str) -> str:
    text = one_line(path)
    return text if len(text) <= _ITEM_WIDTH else "…" + text[1 - _ITEM_WIDTH :]
