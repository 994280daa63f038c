"""What bridges and hooks of hosts ask for: turns, ``/rag`` commands and their completion."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from rag_agent import paths
from rag_agent.context.fence import one_line
from rag_agent.errors import RagError, StoreBusy
from rag_agent.hosts.events import Request, reply, understand
from rag_agent.progress import silent
from rag_agent.server.job import CommandJob, Job, is_set
from rag_agent.server.reader import Reader
from rag_agent.server.turns import TurnTaker

if TYPE_CHECKING:
    from rag_agent.commands.parsing import Call
    from rag_agent.progress import Progress

ShowProgress = Callable[["Progress"], Awaitable[None]]


class Begin(Protocol):
    """Starts a job in the place of what may be interrupted; of anything if ``urgent``."""

    async def __call__(self, job: Job, *, urgent: bool = False) -> None:
        """Start it, or raise StoreBusy."""
        ...


class Bridge:
    """Answers bridges; ``patience`` is in seconds, for long work that nobody watches."""

    def __init__(self, reader: Reader, turns: TurnTaker, begin: Begin, patience: float) -> None:
        self._reader = reader
        self._turns = turns
        self._begin = begin
        self._patience = patience

    async def hear(self, base: Path, host: str, event: Mapping[str, Any]) -> str:
        """The reply to an event of a host's hook, in that host's JSON. Never raises RagError."""
        request = understand(event, host)
        text, note = await self._heard(base, request)
        return reply(host, request, text, note)

    async def command(
        self, base: Path, line: str, show: ShowProgress | None = None
    ) -> dict[str, object]:
        """What a ``/rag`` line has to say: ``verb``, ``level``, ``text``, ``data``.

        Long work is waited for as long as there is somebody to ``show`` progress to, else for
        ``patience``; then it goes on in the background. Cancelling stops it.
        """
        from rag_agent.commands import slash
        from rag_agent.commands.parsing import Usage

        try:
            call = slash.parse_line(line)
        except Usage as usage:
            return slash.problem("", usage)
        if call.verb.resumes or call.verb.name == "clear":
            try:
                return await self._long_command(base, call, show)
            except StoreBusy as busy:
                return slash.problem(call.verb.name, busy)
        return await self._reader.ask(
            base, lambda index: slash.run(call, lambda: nullcontext(index), silent)
        )

    async def offers(self, base: Path, line: str) -> list[dict[str, str]]:
        """What may complete a ``/rag`` line."""
        from rag_agent.commands import slash

        return await self._reader.ask(
            base, lambda index: slash.offers(line, base, lambda: nullcontext(index))
        )

    async def _heard(self, base: Path, request: Request) -> tuple[str, str]:
        from rag_agent.hook.settings import read_settings
        from rag_agent.turns import Turn

        try:
            if request.kind == "turn":
                store = paths.store_folder(base, os.environ)[0]
                turn = Turn(request.prompt, request.session, request.id, request.left)
                return await self._turns.take(base, store, turn, read_settings(store))
            if request.kind == "command":
                answer = await self.command(base, request.line)
                return str(answer["text"]), ""
            if request.kind == "forget":
                await self._turns.forget(base, request.session)
        except RagError as error:
            return "", f"rag_agent: {one_line(str(error))}"
        return "", ""

    async def _long_command(
        self, base: Path, call: Call, show: ShowProgress | None
    ) -> dict[str, object]:
        job = CommandJob(base, call)
        await self._begin(job, urgent=call.verb.name == "clear")
        end = time.monotonic() + (self._patience if show is None else math.inf)
        told: Progress | None = None
        try:
            while time.monotonic() < end and not await is_set(job.ended):
                if show is not None and job.progress is not None and job.progress is not told:
                    told = job.progress
                    await show(told)
        except anyio.get_cancelled_exc_class():
            job.stop()
            raise
        if job.answer is not None:
            return job.answer
        level, text = "info", f"{call.verb.name} goes on in the background; /rag status tells."
        if job.stopped:
            text = f"{call.verb.name} was stopped; what is done is kept."
        elif job.error is not None:
            level, text = "error", f"{call.verb.name} failed: {one_line(str(job.error))}"
        return {"verb": call.verb.name, "level": level, "text": text, "data": None}
