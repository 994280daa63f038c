"""The process that parses risky formats; ``sandbox.py`` starts it and talks to it.

It reads requests from its standard input until that ends, so it dies with its parent. Whatever a
parser prints goes to standard error: the pipe of answers is out of its reach.
"""

from __future__ import annotations

import faulthandler
import importlib
import logging
import os
import signal
from pathlib import Path
from typing import BinaryIO, TextIO

from rag_agent.errors import ExtractError
from rag_agent.extract.confine import confine
from rag_agent.extract.frames import (
    Request,
    pack_answer,
    read_frame,
    unpack_request,
    write_frame,
)
from rag_agent.extract.registry import guarded
from rag_agent.types import Document

_IDLE = 120.0  # seconds without a request, after which the memory is given back
_GRACE = 10.0  # seconds beyond the parent's limit; needed only when the parent is dead


def main(memory: int, by_kernel: bool = True) -> None:
    """Answer requests until the pipe ends. ``memory`` and ``by_kernel`` as for ``confine``."""
    requests, answers = _private_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the group; the parent decides
    logging.getLogger().addHandler(logging.NullHandler())  # parsers log what nobody can act on
    confine(memory, by_kernel=by_kernel)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        while True:
            _end_after(_IDLE, nowhere)
            try:
                request = unpack_request(read_frame(requests))
                data = read_frame(requests)
            except EOFError:
                return
            _end_after(request.seconds + _GRACE, nowhere)
            answer = _answer(request, data)
            out_of_memory = isinstance(answer, ExtractError) and isinstance(
                answer.__cause__, MemoryError
            )
            write_frame(answers, pack_answer(answer, last=out_of_memory))
            if out_of_memory:
                return


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output, moved to where no parser can read or write them."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _end_after(seconds: float, nowhere: TextIO) -> None:
    """End this process after so many seconds, also while a parser holds the interpreter lock."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)


def _answer(request: Request, data: bytes) -> Document | ExtractError:
    def read(data: bytes, path: str) -> Document:
        function = getattr(importlib.import_module(request.module), request.function)
        document = function(data, path, **request.options)
        assert isinstance(document, Document), request.function
        return document

    try:
        return guarded(read, data, request.path)
    except ExtractError as error:
        return error
