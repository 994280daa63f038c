"""An event answered without a server: from the words of the index, neither model nor MCP loaded."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent import turns
from rag_agent.errors import RagError, StoreError, StoreMissing
from rag_agent.hosts.events import Request, reply, understand
from rag_agent.paths import database, store_folder
from rag_agent.store import Store
from rag_agent.store.memory import TurnMemory

if TYPE_CHECKING:
    from rag_agent.config import Config
    from rag_agent.types import SearchResults

Say = Callable[[str], None]
_LAST_SYNC = "last_sync"


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
    from rag_agent.config import load

    store = store_folder(folder, os.environ)[0]
    if not database(store).exists():
        return ""
    settings = load(store)
    if request.kind == "forget":
        with TurnMemory.open(store) as memory:
            turns.forget(request.session, memory)
        return ""
    return _turn(request, folder, store, settings, say)


def _turn(request: Request, folder: Path, store: Path, settings: Config, say: Say) -> str:
    memory = _memory(store)
    clock = _Clock(settings.rag_time_budget_ms / 1000, store, say)
    with Store.open(database(store), readonly=True) as opened:
        turn = turns.Turn(request.prompt, request.session, request.id)
        context = turns.take_turn(
            turn, lambda query: _search(opened, query, settings), settings, memory
        )
        stale = turns.refresh_is_due(opened.meta(_LAST_SYNC) or "", settings, memory)
    clock.stop()
    turns.record(turn, context, settings, memory)
    if context.query:
        say("no server runs for this project, so words alone were searched")
    if stale:
        _refresh(folder, memory, say)
    return context.text


def _search(store: Store, query: str, settings: Config) -> SearchResults:
    from rag_agent.search.hybrid import SearchOptions, search
    from rag_agent.sync.freshness import outdated_documents, true_to_disk

    options = SearchOptions(alpha=settings.rag_alpha)
    found = search(store, query, embedder=None, options=options, limit=settings.rag_top_k)
    if not outdated_documents(found):
        return found
    from rag_agent.sync.walk import rules_from

    rules = rules_from(
        settings.extra_extensions,
        settings.exclude_extensions,
        settings.exclude_patterns,
        settings.max_file_bytes,
        settings.max_document_bytes,
    )
    return true_to_disk(found, rules)


def _memory(store: Path) -> TurnMemory | None:
    try:
        return TurnMemory.open(store)
    except StoreError:
        return None  # a folder that cannot be written: chunks may then be shown twice


class _Clock:
    """Ends the process, without a reply, when the time of a turn is over."""

    def __init__(self, seconds: float, store: Path, say: Say) -> None:
        self._timer = threading.Timer(seconds, self._end, [seconds, store, say])
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The work was done in time."""
        self._timer.cancel()

    def _end(self, seconds: float, store: Path, say: Say) -> None:
        say(f"no context for this prompt: {seconds * 1000:.0f} ms were over")
        memory = _memory(store)  # of this thread
        turns.record_time_out(memory)
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


def _refresh(folder: Path, memory: TurnMemory | None, say: Say) -> None:
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
    turns.record_refresh(memory, "began, by a hook")
