"""Extractors that behave as badly as parsers can; the worker imports them by name."""

from __future__ import annotations

import os
import sys

from rag_agent.types import Document


def polite(data: bytes, path: str) -> Document:
    return Document(path, "prose", data.decode(), metadata={"process": str(os.getpid())})


def chatty(data: bytes, path: str) -> Document:
    print("noise from print")  # noqa: T201
    os.write(1, b"noise from a C library\n")
    sys.stdin.read()
    return polite(data, path)


def exiting(data: bytes, path: str) -> Document:
    os._exit(7)


def aborting(data: bytes, path: str) -> Document:
    os.abort()


def endless(data: bytes, path: str) -> Document:
    while True:
        pass


def hungry(data: bytes, path: str) -> Document:
    return polite(b"x" * (8 * 1024**3), path)


def raising(data: bytes, path: str) -> Document:
    raise LookupError("no such\nglyph")


def importing(data: bytes, path: str) -> Document:
    import a_library_that_nobody_has  # noqa: F401

    return polite(data, path)


def surrogates(data: bytes, path: str) -> Document:
    return Document(path, "prose", "pair \ud83d\ude00 lone \ud800 nul \0", title=" a\n b\udfff ")
