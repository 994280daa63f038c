"""Turns of the agent: context for a prompt within its budget of time, and a stale index refreshed.

The turn is answered from the index as it is; whatever takes longer happens after it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from rag_agent.errors import RagError
from rag_agent.server.reader import Reader

if TYPE_CHECKING:
    from rag_agent.config import Config
    from rag_agent.index import Index
    from rag_agent.turns import Turn
    from rag_agent.types import Context

_SHARE_FOR_MODEL = 0.5  # of the time budget; searching takes the rest

_log = logging.getLogger(__name__)


class TurnTaker:
    """Answers the turns of one server; ``refresh`` is called when the index is to be refreshed."""

    def __init__(self, reader: Reader, refresh: Callable[[Path], None]) -> None:
        self._reader = reader
        self._refresh = refresh

    async def take(self, base: Path, turn: Turn, settings: Config) -> tuple[str, str]:
        """The context of a turn and a line for the user; both may be empty."""
        delivered = False
        try:
            with anyio.move_on_after(settings.rag_time_budget_ms / 1000):
                context, stale = await self._reader.ask(
                    base, lambda index: _context(index, turn, settings)
                )
                delivered = True
        except RagError as error:
            _log.info("no context for a turn: %s", error)
            return "", f"rag_agent: no context for this prompt: {error}"
        if not delivered:
            _log.info("no context for a turn: %d ms were over", settings.rag_time_budget_ms)
            self._reader.post(base, _timed_out)
            return "", ""
        self._reader.post(base, partial(_afterwards, turn, context, settings))
        if stale:
            self._refresh(base)
        return context.text, ""

    async def forget(self, base: Path, session: str) -> None:
        """The session has lost what it was shown."""
        await self._reader.ask(base, partial(_forget, session))


# All of this runs in the reader's thread, where the imports cost the first question only.


def _context(index: Index, turn: Turn, settings: Config) -> tuple[Context, bool]:
    """The context, and whether this process is to refresh the index."""
    from rag_agent import turns

    # The first prompt of a session is worth waiting for meaning, as far as its time allows.
    index.warm_up(settings.rag_time_budget_ms / 1000 * _SHARE_FOR_MODEL)
    search = partial(index.search, limit=settings.rag_top_k, hurried=True)
    context = turns.take_turn(turn, search, settings, index.memory)
    return context, turns.refresh_is_due(index.last_sync, settings, index.memory)


def _afterwards(turn: Turn, context: Context, settings: Config, index: Index) -> None:
    from rag_agent import turns

    turns.record(turn, context, settings, index.memory)
    index.catch_up()


def _timed_out(index: Index) -> None:
    from rag_agent import turns

    turns.record_time_out(index.memory)


def _forget(session: str, index: Index) -> None:
    from rag_agent import turns

    turns.forget(session, index.memory)
