"""A model server for every host, on a free port of this machine, that answers by two rules.

Where the newest words of the user hold ``CALL:<tool> {json}`` and nothing has answered it yet, it
calls that tool (by its whole name or the end of it, as hosts put prefixes before names). Otherwise
it says FAKE-OK. So what a test wants of the model stands in its prompt.

It speaks OpenAI's chat completions (Pi, opencode) and responses (Codex), Anthropic's messages
(Claude Code) and Gemini's generateContent, streamed or whole as the host asks.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import wire_formats
from wire_formats import Call

ANSWER = wire_formats.ANSWER
_CALL = re.compile(r"CALL:([A-Za-z0-9_.\-]+)\s*(?=\{)")
_identity = itertools.count(1)


@dataclass
class FakeModel:
    """The running server; ``url`` has no path and no slash at its end."""

    url: str
    _requests: list[dict[str, Any]] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def requests(self) -> list[dict[str, Any]]:
        """Bodies of the requests for an answer, oldest first; not those that count tokens."""
        with self._lock:
            return list(self._requests)

    def clear(self) -> None:
        """Forget the requests until now."""
        with self._lock:
            self._requests.clear()

    def keep(self, body: dict[str, Any]) -> None:
        """Remember a request."""
        with self._lock:
            self._requests.append(body)


@contextmanager
def running() -> Iterator[FakeModel]:
    """A server that runs for the block."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        model = FakeModel(f"http://127.0.0.1:{server.server_port}")
        server.model = model  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()


def tool_names(body: dict[str, Any]) -> list[str]:
    """Names of the tools in a request; Codex's namespaces before theirs, with a slash between."""
    return ["/".join(name) for name in wire_formats.of(body).tools(body)]


def said(body: dict[str, Any]) -> list[str]:
    """Every text of the conversation in a request, in its order, tool results included."""
    return wire_formats.of(body).texts(body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:  # nothing on stderr
        del arguments

    def do_HEAD(self) -> None:
        self._whole({})

    def do_GET(self) -> None:
        model = {"id": "fake-model", "object": "model", "type": "model", "display_name": "fake"}
        self._whole({"object": "list", "data": [model]} if "models" in self.path else {})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.split("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            self._whole({"input_tokens": 10, "totalTokens": 10})
            return
        wire = wire_formats.at(path)
        if wire is None:
            self._whole({})
            return
        model: FakeModel = self.server.model  # type: ignore[attr-defined]
        model.keep(body)
        call = _decide(wire.newest(body), wire.tools(body))
        if body.get("stream") or path.endswith(":streamGenerateContent"):
            self._streamed(wire.events(body, call, next(_identity)))
        else:
            self._whole(wire.whole(body, call, next(_identity)))

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        raw = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return raw

    def _whole(self, answer: object) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _streamed(self, events: Iterator[tuple[str, object]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {data}\n\n".encode())
            self.wfile.flush()


def _decide(newest: wire_formats.Newest, tools: list[tuple[str, ...]]) -> Call | None:
    if newest.has_result:
        return None
    for match in _CALL.finditer(newest.words):
        try:
            arguments, _ = json.JSONDecoder().raw_decode(newest.words, match.end())
        except ValueError:
            continue  # a prompt may speak of calls without being one
        wanted = match.group(1)
        names = [name for name in tools if name[-1].endswith(wanted)] or [(wanted,)]
        return Call(names[0], arguments)
    return None
