"""Questions to the index, answered one after the other by the one thread that has it open."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rag_agent.index import Index

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Reader:
    """Opens the index at the first question, so that starting the server costs nothing."""

    def __init__(self) -> None:
        self._questions: SimpleQueue[_Question | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._index: Index | None = None

    async def ask(self, base: Path, question: Callable[[Index], T]) -> T:
        """What ``question`` returns for the index in scope of the folder ``base``."""
        answer: T = await asyncio.wrap_future(self._put(base, question).answer)
        return answer

    def post(self, base: Path, task: Callable[[Index], object]) -> None:
        """Have something done after all that was asked before, without waiting for it."""
        self._put(base, task).answer.add_done_callback(_log_failure)

    def close(self, seconds: float) -> None:
        """Close the index after the question that is being answered."""
        if self._thread is not None:
            self._questions.put(None)
            self._thread.join(seconds)

    def _put(self, base: Path, question: Callable[[Index], Any]) -> _Question:
        asked = _Question(base, question)
        self._questions.put(asked)
        if self._thread is None:
            # A daemon: the end of the process does not wait for an answer.
            self._thread = threading.Thread(target=self._answer_all, name="queries", daemon=True)
            self._thread.start()
        return asked

    @property
    def ended(self) -> bool:
        """Whether no question is being answered and none will be."""
        return self._thread is None or not self._thread.is_alive()

    def _answer_all(self) -> None:
        while (asked := self._questions.get()) is not None:
            if asked.answer.set_running_or_notify_cancel():
                try:
                    asked.answer.set_result(asked.question(self._open(asked.base)))
                except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                    asked.answer.set_exception(error)
        if self._index is not None:
            self._index.close()

    def _open(self, base: Path) -> Index:
        from rag_agent import paths
        from rag_agent.index import open as open_index

        # Indexing makes a project's store where the global one was in scope before.
        folder, _ = paths.store_folder(base, os.environ)
        if self._index is None or self._index.folder != folder:
            if self._index is not None:
                self._index.close()
            self._index = open_index(base)
        return self._index


class _Question:
    def __init__(self, base: Path, question: Callable[[Index], Any]) -> None:
        self.base = base
        self.question = question
        self.answer: Future[Any] = Future()


def _log_failure(answer: Future[Any]) -> None:
    if not answer.cancelled() and (error := answer.exception()) is not None:
        _log.info("a task after an answer failed", exc_info=error)
