"""What the worker may not do: take too much memory, outlive its parent, speak to a network."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time

OUT_OF_MEMORY = 77
"""The exit code of a worker that took too much where the system does not refuse it."""

_EVERY = 0.2  # seconds between two looks; a parser fills some 200 MB meanwhile
_NETWORK = frozenset(
    ("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname",
     "socket.sendmsg", "socket.sendto")
)  # fmt: skip


def confine(memory: int, *, by_kernel: bool = True) -> None:
    """Bind this process to its limits; ``memory`` is in bytes, 0 for no limit.

    Where the system can limit the address space it refuses what is too much, and the parser gets a
    MemoryError. Elsewhere, and without ``by_kernel``, this process ends itself when it holds more.
    """
    sys.addaudithook(_refuse_network)
    # What this process sends to its group it outlives itself, for as long as it takes to end with
    # the code of its own. A handler, as programs that are started here would inherit SIG_IGN.
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: None if ending.is_set() else _terminated())
    refused = by_kernel and _limit_address_space(memory)
    if hasattr(os, "getppid") and os.name != "nt":  # Windows: job.py
        most = 0 if refused else memory
        watch = threading.Thread(target=_watch, args=(most, ending), daemon=True)
        watch.start()


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """No document needs one to be read, and what it names was chosen by whoever wrote it."""
    if event in _NETWORK:
        raise PermissionError("a document may not make this program use the network")


def _limit_address_space(memory: int) -> bool:
    """Whether the system refuses what is too much from now on."""
    if not memory:
        return True
    try:
        import resource
    except ImportError:  # Windows: job.py
        return False
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (OSError, ValueError) as error:  # macOS, where more is mapped already
        logging.getLogger(__name__).info("the address space is not limited: %s", error)
        return False
    return sys.platform != "darwin"  # which takes the limit and does not keep it


def _watch(memory: int, ending: threading.Event) -> None:
    """End this process when its parent is gone, or when it holds more than so many bytes."""
    parent = os.getppid()
    while True:
        time.sleep(_EVERY)
        if os.getppid() != parent:
            _end(1, ending)
        if memory and _peak() > memory:
            _end(OUT_OF_MEMORY, ending)


def _end(code: int, ending: threading.Event) -> None:
    """With all that this process has started, where it leads a group of its own."""
    ending.set()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)
    os._exit(code)


def _terminated() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _peak() -> int:
    """The most memory that this process has held, in bytes."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
