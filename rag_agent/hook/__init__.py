"""``rag-agent hook HOST``: a host's event on stdin, the reply on stdout, always exit code 0.

A process for every prompt, so it asks the server that runs anyway, over a local socket, and loads
next to nothing itself. Without a server ``words`` answers from the words of the index alone.
"""

from __future__ import annotations

import os
import sys

from rag_agent.hook.client import Overdue, ask_server, folder_of

_MOST_BYTES = 8_000_000  # of an event; what is longer is no prompt


def answer(host: str) -> int:
    """Answer one event; whatever is wrong, the agent's turn goes on, and one line says what."""
    try:
        reply = _reply(host)
    except KeyboardInterrupt:
        reply = b""
    except Exception as error:  # noqa: BLE001 - a hook that fails would disturb every prompt
        reply = b""
        _say(f"no context for this prompt: {type(error).__name__}: {error}")
    _write(reply)
    return 0


def _reply(host: str) -> bytes:
    event = sys.stdin.buffer.read(_MOST_BYTES + 1) if sys.stdin else b""
    if len(event) > _MOST_BYTES:
        _say(f"no context for this prompt: the event is longer than {_MOST_BYTES:,} bytes")
        return b""
    folder = folder_of(event)
    try:
        reply = ask_server(host, folder, event)
    except Overdue as overdue:
        _say(f"no context for this prompt: {overdue}")
        return b""
    if reply is not None:
        _write(reply)
        os._exit(0)  # nothing is open or buffered: the interpreter's own end costs a millisecond
    from rag_agent.hook.words import reply_without_server

    return reply_without_server(host, folder, event, _say)


def _write(reply: bytes) -> None:
    try:
        # Not sys.stdout: encodings and line ends of the console have no say in JSON.
        while reply:
            reply = reply[os.write(1, reply) :]
    except OSError as error:
        _say(f"the reply cannot be written: {error.strerror}")


def _say(line: str) -> None:
    try:
        # A path may be in it, and hosts show it as it is.
        shown = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(line.split()))
        os.write(2, f"rag_agent: {shown}\n".encode("utf-8", "replace"))
    except OSError:
        return  # nobody to tell
