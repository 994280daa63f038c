"""The process around the server: who owns stdin and stdout, and when it ends."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from io import TextIOWrapper
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TextIO

from rag_agent import endpoint

GRACE = 1.0  # seconds to end a transaction; then the process goes, which loses only that one
_OBJECTS_A_COLLECTION = 10_000  # a search makes some ten thousand
_LOOK_FOR_PARENT_EVERY = 1.0  # seconds
# In JSON: a pair of surrogates, half a pair (the group), or another escape.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def take_stdio() -> tuple[TextIO, TextIO]:
    """The streams of the protocol, taken from everybody else for good.

    Afterwards stdin is empty and stdout leads to stderr, for Python, for C libraries and for child
    processes alike, so that no print of a parser can get between the messages. The SDK does the
    same while it serves, but not before and not at the end, when buffers are flushed.
    """
    wire_in = _Lines(os.fdopen(os.dup(0), "rb"), encoding="utf-8", errors="replace")
    wire_out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
    os.close(nothing)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return wire_in, wire_out


class _Lines(TextIOWrapper):
    """Lines of JSON; half a surrogate pair becomes U+FFFD like every other broken character.

    JavaScript writes halves where it cuts a text. The SDK takes a line that has one for no message
    at all, so the client would wait for an answer for ever.
    """

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        line = super().readline(size)
        if "\\ud" not in line and "\\uD" not in line:
            return line
        return _ESCAPES.sub(lambda found: "\\ufffd" if found[1] else found[0], line)


class Lifeline:
    """Ends the process on a signal, when its parent dies, and when ending takes too long.

    ``stop`` gets the seconds that the work has to end, and says whether it did.
    """

    def __init__(self, stop: Callable[[float], bool]) -> None:
        self._stop = stop
        # Its put() may be called from a signal handler: it takes no lock that is held already.
        self._wishes: SimpleQueue[int] = SimpleQueue()

    def start(self) -> None:
        """Watch from now on."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._on_signal)
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()

    def end(self, code: int = 0) -> None:
        """The orderly end: the client closed stdin. The process does not outlast the grace."""
        last = threading.Timer(GRACE + 1, _leave, [code])
        last.daemon = True
        last.start()
        if not self._stop(GRACE):
            _leave(code)  # ahead of an interpreter that ends around threads in the midst of C code

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._wishes.put(128 + number)

    def _watch(self) -> None:
        # Where the parent dies and stdin stays open, because a sibling has inherited the pipe.
        # Windows keeps naming the old parent: there the end of stdin has to do.
        parent = os.getppid()
        while True:
            try:
                code = self._wishes.get(timeout=_LOOK_FOR_PARENT_EVERY)
            except Empty:
                if os.getppid() == parent:
                    continue
                code = 0
            self._stop(GRACE)
            # stdin may be blocked in a read that nothing can interrupt, so no orderly return.
            _leave(code)


def collect_less() -> None:
    """Take what is loaded by now, and stays, out of the collection of garbage.

    A full collection went through all of it, which cost one turn in twenty another 50 ms; and most
    of what a search makes goes without one.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_A_COLLECTION)


def _leave(code: int) -> None:
    endpoint.remove_of(os.getpid())
    logging.shutdown()
    os._exit(code)
