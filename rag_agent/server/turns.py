"""Turns of the agent: context for a prompt within its budget of time, and a stale index refreshed.

The turn is answered from the index as it is; whatever takes longer happens after it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from rag_agent.context.fence import one_line
from rag_agent.errors import RagError, StoreMissing
from rag_agent.server.reader import Reader

if TYPE_CHECKING:
    from rag_agent.hook.lookup import Answer
    from rag_agent.hook.settings import Settings
    from rag_agent.index import Index
    from rag_agent.turns import Turn
    from rag_agent.types import Context

T = TypeVar("T")
_LONGEST_LOAD = 60.0  # seconds
# Of the time budget, how long a turn waits for the index and its model to be loaded; words alone,
# which then answer, take most of the rest.
_SHARE_FOR_MODEL = 0.4

_log = logging.getLogger(__name__)


class TurnTaker:
    """Answers the turns of one server.

    ``refresh`` is called when the index is to be refreshed, ``on_ready`` once all is loaded.
    """

    def __init__(
        self, reader: Reader, refresh: Callable[[Path], None], on_ready: Callable[[], None]
    ) -> None:
        self._reader = reader
        self._refresh = refresh
        self._on_ready = on_ready
        self._warm = threading.Event()
        self._warming = False

    def warm_up(self, base: Path) -> None:
        """Make ready for the first turn, in the background: index open, model loaded."""
        if not self._warming:
            self._warming = True
            self._reader.post(base, self._ready)

    async def take(
        self, base: Path, store: Path, turn: Turn, settings: Settings
    ) -> tuple[str, str]:
        """The context of a turn and a line for the user; both may be empty."""
        if not settings.rag_enabled or turn.prompt.lstrip().startswith("/"):
            return "", ""  # off, or a command of the host
        self.warm_up(base)
        budget = settings.rag_time_budget_ms / 1000
        answered: tuple[Any, bool] | None = None  # a Context or what is like one
        warm = False
        try:
            with anyio.move_on_after(budget):
                warm = await _is_set(self._warm, budget * _SHARE_FOR_MODEL)
                if warm:
                    answered = await self._reader.ask(base, partial(_context, turn, settings))
                else:
                    answered = await _in_thread(partial(_by_words, store, turn, settings))
        except StoreMissing:
            return "", ""  # nothing is indexed here, and nobody asked
        except RagError as error:
            _log.info("no context for a turn: %s", error)
            return "", f"rag_agent: no context for this prompt: {one_line(str(error))}"
        if warm and answered is not None:
            self._reader.post(base, partial(_note, turn, answered, settings))
        else:
            # The next turn may come before the reader is ready to note anything.
            await _in_thread(partial(_note_by_words, store, turn, answered, settings))
        if answered is None:
            _log.info("no context for a turn: %d ms were over", settings.rag_time_budget_ms)
            return "", ""
        context, stale = answered
        if stale:
            self._refresh(base)
        return str(context.text), ""

    def _ready(self, index: Index) -> None:
        try:
            if index.memory is not None:  # else nothing is indexed, and nothing to be ready for
                index.warm_up(_LONGEST_LOAD)
                index.search("where does the program begin", hurried=True)
                self._on_ready()
        finally:
            self._warm.set()

    async def forget(self, base: Path, session: str) -> None:
        """The session has lost what it was shown."""
        await self._reader.ask(base, partial(_forget, session))


# In the reader's thread, where the imports cost the first question only.


def _context(turn: Turn, settings: Any, index: Index) -> tuple[Context, bool]:
    """The context, and whether this process is to refresh the index."""
    from rag_agent import turns

    index.warm_up()  # of an index that has taken the place of another
    search = partial(index.search, limit=settings.rag_top_k, hurried=True)
    context = turns.take_turn(turn, search, settings, index.memory)
    return context, turns.refresh_is_due(index.last_sync, settings, index.memory)


def _note(turn: Turn, answered: tuple[Context, bool], settings: Any, index: Index) -> None:
    from rag_agent import turns

    turns.record(turn, answered[0], settings, index.memory)
    index.catch_up()


def _forget(session: str, index: Index) -> None:
    from rag_agent import turns

    turns.forget(session, index.memory)


# In threads of their own, beside a reader that is still loading.


def _by_words(store: Path, turn: Turn, settings: Settings) -> tuple[Answer, bool]:
    from rag_agent.hook.words import look

    return look(store, turn, settings)


def _note_by_words(
    store: Path, turn: Turn, answered: tuple[Answer, bool] | None, settings: Settings
) -> None:
    from rag_agent.hook.words import note

    note(store, turn, answered[0] if answered else None, settings)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


async def _is_set(event: threading.Event, seconds: float) -> bool:
    return event.is_set() or await _in_thread(partial(event.wait, seconds))
