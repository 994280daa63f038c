"""Standard streams that are closed, full or gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


def occupy_standard_streams() -> None:
    """Open what the caller has closed (``>&-``), for Python has no stream there then.

    A file that is opened later would get the free number, and with it whatever a library prints.
    Reading gives nothing; writing to stdout fails, so that nobody believes it was written, while
    what goes to stderr is lost, as was asked for.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # systems give the lowest number that is free
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        os.open(os.devnull, os.O_RDONLY)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def discard(stream: TextIO) -> None:
    """Lose what the stream still holds: Python flushes it at exit, which must not raise again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)
