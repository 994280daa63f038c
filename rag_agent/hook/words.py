"""An event answered without a server: by words alone, and next to nothing is loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rag_agent import turns
from rag_agent.errors import RagError, StoreError, StoreMissing
from rag_agent.hosts.events import reply, understand
from rag_agent.paths import database, store_folder

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rag_agent.hook.lookup import Answer
    from rag_agent.hook.settings import Settings
    from rag_agent.hosts.events import Request
    from rag_agent.store.glance import Glance
    from rag_agent.store.memory import TurnMemory

    Say = Callable[[str], None]


def reply_without_server(host: str, folder: str, event: bytes, say: Say) -> bytes:
    """The reply to an event, in the host's JSON; ``say`` takes lines for whoever reads stderr."""
    found = _object(event)
    if found is None:
        say("no context for this prompt: what the host sent is no JSON object")
        return b""
    request = understand(found, host)
    try:
        text = _text(request, Path(folder), say)
    except StoreMissing:
        text = ""  # nothing is indexed here, and nobody asked
    except RagError as error:
        say(f"no context for this prompt: {error}")
        text = ""
    return f"{reply(host, request, text)}\n".encode("utf-8", "replace")


def _object(event: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(event)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _text(request: Request, folder: Path, say: Say) -> str:
    if request.kind == "command":
        return _command(request.line, folder)
    if request.kind == "nothing":
        return ""
    from rag_agent.hook.settings import read_settings

    store = store_folder(folder, os.environ)[0]
    if not database(store).exists():
        return ""
    if request.kind == "forget":
        with _remembering(store) as memory:
            turns.forget(request.session, memory)
        return ""
    settings = read_settings(store)
    return _turn(request, folder, store, settings, say) if settings.rag_enabled else ""


def _turn(request: Request, folder: Path, store: Path, settings: Settings, say: Say) -> str:
    clock = _Clock(settings.rag_time_budget_ms / 1000, store, settings, say)
    turn = turns.Turn(request.prompt, request.session, request.id, request.left)
    try:
        context, stale = look(store, turn, settings)
    finally:
        clock.stop()
    note(store, turn, context, settings)
    if context.query:
        say("no server runs for this project, so words alone were searched")
    if stale:
        _refresh(folder, store, say)
    return context.text


def look(store: Path, turn: turns.Turn, settings: Settings) -> tuple[Answer, bool]:
    """The context of a turn by words alone, and whether the index is to be refreshed.

    For a server that is not ready yet; ``turns.record`` it once delivered.

    Raises:
        StoreError: the index cannot be read; StoreMissing if there is none.
    """
    from rag_agent.store.glance import Glance

    if not database(store).exists():
        raise StoreMissing("nothing is indexed here")
    like_config: Any = settings  # has what is read of a Config
    with _remembering(store) as memory:
        glance = Glance.open(database(store))
        try:
            context = _context(glance, turn, settings, memory)
            return context, turns.refresh_is_due(glance.last_sync(), like_config, memory)
        finally:
            glance.close()


def note(store: Path, turn: turns.Turn, given: Answer | None, settings: Settings) -> None:
    """Remember and count what a turn was given; None if its time was over."""
    like_config: Any = settings  # has what is read of a Config
    like_context: Any = given  # … and of a Context
    with _remembering(store) as memory:
        if given is None:
            turns.record_time_out(memory)
        else:
            turns.record(turn, like_context, like_config, memory)


def _context(
    glance: Glance, turn: turns.Turn, settings: Settings, memory: TurnMemory | None
) -> Answer:
    from rag_agent.hook.lookup import Answer, answer

    recalled = turns.recall(turn, memory)
    if recalled is None:
        return Answer(reasons=(turns.ANSWERED,))
    shown, before = recalled
    budget = turns.share_of_window(settings.rag_token_budget, turn.left)
    return answer(glance, turn.prompt, settings, shown, before, budget)


class _remembering:  # noqa: N801 - used like contextlib's, which a hook does not load
    """The memory of turns, closed afterwards; None in a folder that cannot be written."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._memory: TurnMemory | None = None

    def __enter__(self) -> TurnMemory | None:
        from rag_agent.store.memory import TurnMemory

        try:
            self._memory = TurnMemory.open(self._store)
        except StoreError:
            return None  # chunks may then be shown twice
        return self._memory

    def __exit__(self, *exception: object) -> None:
        if self._memory is not None:
            self._memory.close()


class _Clock:
    """Ends the process, without a reply, when the time of a turn is over."""

    def __init__(self, seconds: float, store: Path, settings: Settings, say: Say) -> None:
        import threading

        self._timer = threading.Timer(seconds, self._end, [seconds, store, settings, say])
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The work was done in time."""
        self._timer.cancel()

    def _end(self, seconds: float, store: Path, settings: Settings, say: Say) -> None:
        say(f"no context for this prompt: {seconds * 1000:.0f} ms were over")
        note(store, turns.Turn(""), None, settings)
        os._exit(0)


def _command(line: str, folder: Path) -> str:
    """What a ``/rag`` line has to say."""
    from rag_agent.commands import slash
    from rag_agent.commands.parsing import Usage
    from rag_agent.index import open as open_index
    from rag_agent.progress import silent

    try:
        call = slash.parse_line(line)
    except Usage as usage:
        return str(slash.problem("", usage)["text"])
    return str(slash.run(call, lambda: open_index(folder), silent)["text"])


def _refresh(folder: Path, store: Path, say: Say) -> None:
    """Refresh the index in a process of its own, which nobody waits for."""
    import subprocess
    import sys

    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NO_WINDOW}
    nothing = subprocess.DEVNULL
    try:
        subprocess.Popen(
            [sys.executable, "-m", "rag_agent", "refresh"],
            cwd=folder,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            **detached,
        )
    except OSError as error:
        say(f"the index is a day old and cannot be refreshed: {error}")
        return
    with _remembering(store) as memory:
        turns.record_refresh(memory, "began, by a hook")
