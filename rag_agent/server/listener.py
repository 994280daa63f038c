"""The server's second ear: hooks of hosts ask it over a local socket, so that they stay small.

A request is a line ``rag_agent 1<TAB>HOST<TAB>STORE FOLDER``, then the host's event as JSON up to
the end; the answer is what the hook is to print. One connection, one request.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_agent import endpoint

_log = logging.getLogger(__name__)

Hear = Callable[[str, Mapping[str, Any]], Awaitable[str]]
_MARK = "rag_agent 1"
_MOST_BYTES = 8_000_000  # of a request: a prompt with everything pasted into it
_PATIENCE = 5.0  # seconds to send the request
# Who writes to a pipe of Windows cannot say that this was all: there the event is whole when it
# parses.
_HALF_CLOSES = os.name != "nt"


class Listener:
    """Listens for the store in scope, under this process's own address."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._store = ""
        self._server: asyncio.AbstractServer | None = None
        self._pipes: list[Any] = []

    async def listen(self, store_folder: Path) -> None:
        """Answer for this store from now on, instead of the one before.

        Where the system does not let us, hooks answer without the server: that is logged.
        """
        store = str(store_folder)
        if store == self._store:
            return
        self.close()
        self._store = store
        endpoint.remove_of_dead()
        try:
            address = endpoint.address(store, os.getpid())
            await self._open(address)
        except OSError as error:
            _log.info("hooks cannot ask this server: %s", error)

    def close(self) -> None:
        """Stop listening; nothing is left behind."""
        if self._server is not None:
            self._server.close()
            with suppress(OSError):
                Path(endpoint.address(self._store, os.getpid())).unlink(missing_ok=True)
        for pipe in self._pipes:
            pipe.close()
        self._server, self._pipes, self._store = None, [], ""

    async def _open(self, address: str) -> None:
        if os.name == "nt":
            loop = asyncio.get_running_loop()

            def protocol() -> asyncio.StreamReaderProtocol:
                reader = asyncio.StreamReader(limit=_MOST_BYTES)
                return asyncio.StreamReaderProtocol(reader, self._answer)

            self._pipes = await loop.start_serving_pipe(protocol, address)  # type: ignore[attr-defined]
            return
        Path(address).unlink(missing_ok=True)  # of an earlier process with this number
        self._server = await asyncio.start_unix_server(self._answer, address, limit=_MOST_BYTES)
        Path(address).chmod(0o600)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            link = writer.get_extra_info("socket")
            if link is not None and not endpoint.is_same_user(link):
                _log.warning("another user asked over the local socket, and got no answer")
                return
            head, event = await asyncio.wait_for(_request(reader), _PATIENCE)
            mark, host, store = head.split("\t", 2)
            if mark == _MARK and store == self._store and event is not None:
                # The line end tells the hook that it has all of it.
                writer.write(f"{await self._hear(host, event)}\n".encode("utf-8", "replace"))
                await writer.drain()
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            _log.info("a hook's request could not be answered: %s", error)
        except Exception:  # noqa: BLE001 - a hook that gets no answer goes on without
            _log.exception("answering a hook failed")
        finally:
            writer.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any] | None]:
    head = (await reader.readline()).decode("utf-8").rstrip("\n")
    return head, await _event(reader)


async def _event(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The event, None if it is no object; half of one, or too much, is a ValueError."""
    read = bytearray()
    while piece := await reader.read(1 << 16):
        read += piece
        if len(read) > _MOST_BYTES:
            raise ValueError(f"an event of more than {_MOST_BYTES:,} bytes")
        if _HALF_CLOSES or not read.rstrip().endswith(b"}"):
            continue
        with suppress(ValueError):
            found = json.loads(read)
            break
    else:
        found = json.loads(read)
    return found if isinstance(found, dict) else None
