"""Extractors that behave as badly as parsers can; the worker imports them by name."""

from __future__ import annotations

import os
import socket
import sys
import urllib.request
from pathlib import Path

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


def growing(data: bytes, path: str) -> Document:
    held = []
    while True:
        held.append(b"x" * 16 * 1024**2)


_HELD: list[bytes] = []


def leaking(data: bytes, path: str) -> Document:
    _HELD.append(b"x" * int(data))
    return polite(b"", path)


def telling(data: bytes, path: str) -> Document:
    Path(data.decode()).write_text(str(os.getpid()), encoding="utf-8")
    return endless(data, path)


def connecting(data: bytes, path: str) -> Document:
    urllib.request.urlopen(data.decode(), timeout=5).read()
    return polite(data, path)


def resolving(data: bytes, path: str) -> Document:
    socket.getaddrinfo(data.decode(), 80)
    return polite(data, path)


def raising(data: bytes, path: str) -> Document:
    raise LookupError("no such\nglyph")


def importing(data: bytes, path: str) -> Document:
    import a_library_that_nobody_has  # noqa: F401

    return polite(data, path)


def surrogates(data: bytes, path: str) -> Document:
    return Document(path, "prose", "pair \ud83d\ude00 lone \ud800 nul \0", title=" a\n b\udfff ")
