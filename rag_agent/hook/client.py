"""Asking the server that runs for this store. Imports what a bare interpreter has already."""

from __future__ import annotations

import os

from rag_agent import endpoint

_PATIENCE = 2.0  # seconds; a server answers a turn within its time budget, 0.3 by default
_PATIENCE_FOR_COMMAND = 90.0  # long work goes on in the background after 20
# What commands look like in an event; a turn that looks like one may take longer, no more.
_COMMANDS = (b'"UserPromptExpansion"', b'"$rag', b'"/rag')
_MARK = "rag_agent 1"


class Overdue(Exception):
    """A server took the event and has not answered in time."""


def folder_of(event: bytes) -> str:
    """The folder that an event is about: its ``cwd``, else that of this process."""
    # The keys of a JSON object, but for quotes in texts, which are escaped there.
    _, found, rest = event.partition(b'"cwd"')
    if found:
        start = rest.find(b'"')
        end = rest.find(b'"', start + 1)
        while end > start and _is_escaped(rest, end):
            end = rest.find(b'"', end + 1)
        if start >= 0 and end > start and rest[:start].strip() == b":":
            named = rest[start + 1 : end]
            if b"\\" in named:
                import json

                named = json.loads(b'"' + named + b'"').encode("utf-8", "surrogatepass")
            folder = os.fsdecode(named)
            if os.path.isdir(folder):  # noqa: PTH112
                return os.path.realpath(folder)
    return os.getcwd()  # noqa: PTH109


def _is_escaped(text: bytes, position: int) -> bool:
    """Whether an odd number of backslashes stands before a position."""
    before = text[:position]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def ask_server(host: str, folder: str, event: bytes) -> bytes | None:
    """The reply of a server for the store in scope of ``folder``; None where there is none.

    Raises:
        Overdue: it does not answer.
    """
    try:
        store = _store(folder)
        addresses = endpoint.addresses(store) if store else []
    except OSError:
        return None
    request = f"{_MARK}\t{host}\t{store}\n".encode("utf-8", "surrogateescape") + event
    is_command = any(mark in event for mark in _COMMANDS)
    patience = _PATIENCE_FOR_COMMAND if is_command else _PATIENCE
    for address in addresses:
        reply = _ask(address, request, patience)
        if reply:
            return reply
    return None


def _store(folder: str) -> str | None:
    """The store in scope as ``paths.store_folder`` finds it, None where it finds none."""
    if os.environ.get("PI_RAG_DIR"):
        from pathlib import Path

        from rag_agent.errors import ConfigError
        from rag_agent.paths import store_folder

        try:
            return str(store_folder(Path(folder), os.environ)[0])
        except ConfigError:
            return None
    named = os.path.expanduser("~")  # noqa: PTH111
    home = None if named == "~" else os.path.realpath(named)
    found = endpoint.nearest_store(folder, home)
    return found or (os.path.join(home, *endpoint.STORE) if home else None)  # noqa: PTH118


def _ask(address: str, request: bytes, patience: float) -> bytes:
    """What a server says, empty if it is gone or serves another store."""
    if os.name == "nt":
        return _ask_pipe(address, request)
    # Not the socket module: it would double the time that a hook takes.
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(patience)
        link.connect(address)
    except (ConnectionRefusedError, FileNotFoundError):
        link.close()
        endpoint.remove_dead(address)
        return b""
    except OSError:  # it lives, and has no time: too many hooks wait already
        link.close()
        return b""
    heard = bytearray()
    try:
        link.sendall(request)
        link.shutdown(_socket.SHUT_WR)
        # The line end is the last of a reply. Until the server closes, milliseconds may go by in
        # which it writes down what it has just said.
        while not heard.endswith(b"\n") and (piece := link.recv(1 << 16)):
            heard += piece
    except TimeoutError as error:
        raise Overdue(f"the server did not answer within {patience:.0f} s") from error
    except OSError:
        return b""  # it ended meanwhile
    finally:
        link.close()
    return _whole(heard)


def _ask_pipe(address: str, request: bytes) -> bytes:
    heard = bytearray()
    try:
        with open(address, "r+b", buffering=0) as pipe:  # noqa: PTH123
            pipe.write(request)
            while piece := pipe.read(1 << 16):
                heard += piece
    except OSError:
        # How the end of a pipe looks on Windows, or that nobody is there.
        return _whole(heard)
    return _whole(heard)


def _whole(heard: bytearray) -> bytes:
    """What was heard, if the server came to its end, which is a line end."""
    return bytes(heard) if heard.endswith(b"\n") else b""
