"""The server as a process: the wire, the end of it, and what must not get between."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from rag_agent import endpoint

# The first revision, the last one with a handshake, and the one without.
HANDSHAKES = ["2024-11-05", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
SERVE = [sys.executable, "-m", "rag_agent", "serve"]
SECONDS = 60  # a bound for a process that hangs, not a measurement


class Wire:
    """A client that writes and reads single lines."""

    def __init__(self, folder: Path, command: list[str], heard: Path) -> None:
        self._heard = heard
        with heard.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        self._id = 0

    def stderr(self) -> str:
        return self._heard.read_text(encoding="utf-8")

    def send(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, **more}
        if params is not None:
            message["params"] = params
        self.raw(json.dumps(message))

    def raw(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode("utf-8") + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server closed its stdout"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response to a request; notifications before it are skipped."""
        self._id += 1
        self.send(method, params or {}, id=self._id)
        while "id" not in (message := self.receive()):
            assert "method" in message
        assert message["id"] == self._id
        return message

    def handshake(self, version: str = "2025-06-18") -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        result: dict[str, Any] = self.ask("initialize", params)["result"]
        self.send("notifications/initialized")
        return result

    def call(self, tool: str, **arguments: Any) -> str:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        text: str = result["content"][0]["text"]
        return text

    def close(self) -> tuple[int, list[bytes]]:
        """End of stdin: the exit code, and what was still on stdout."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read().splitlines()
        return self.process.wait(SECONDS), rest

    def clean_up(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "parser.py").write_text(
        'def parse_query(text):\n    """Turn a query string into a dictionary."""\n',
        encoding="utf-8",
    )
    return project


@pytest.fixture
def start(folder: Path, tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """Starts servers, or what is given, in the project."""
    started: list[Wire] = []

    def start(*command: str) -> Wire:
        heard = tmp_path / f"stderr-{len(started)}"
        started.append(Wire(folder, list(command) or SERVE, heard))
        return started[-1]

    yield start
    for wire in started:
        wire.clean_up()


@pytest.fixture
def wire(start: Callable[..., Wire]) -> Wire:
    return start()


def many_files(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"module_{number}.py").write_text(
            f"def function_{number}():\n    return {number}\n", encoding="utf-8"
        )


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_revision_with_a_handshake_is_spoken(version: str, wire: Wire) -> None:
    answer = wire.handshake(version)
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "rag_agent"
    assert len(wire.ask("tools/list")["result"]["tools"]) == 3
    assert wire.call("rag_index", path=".").startswith("Indexed 1 file ")
    assert "parser.py:1-2" in wire.call("rag_query", query="query string")
    assert wire.close() == (0, [])


def test_half_a_character_is_answered_like_every_other(wire: Wire) -> None:
    wire.handshake()
    call = {"name": "rag_index", "arguments": {"path": "PATH"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
    # Half a pair, the text \\ud800 after an escaped backslash, and a whole pair.
    wire.raw(request.replace("PATH", r"a\ud800 \\ud800 \ud83d\ude00"))
    answer = wire.receive()
    assert answer["id"] == 7
    text = answer["result"]["content"][0]["text"]
    assert "\ufffd" in text
    assert "\U0001f600" in text
    assert r"\ud800" in text


def test_the_revision_without_a_handshake_is_spoken(wire: Wire) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    found = wire.ask("server/discover", {"_meta": meta})["result"]
    assert MODERN in found["supportedVersions"]
    assert "rag_query" in found["instructions"]
    call = {"name": "rag_index", "arguments": {"path": "."}, "_meta": meta}
    result = wire.ask("tools/call", call)["result"]
    assert result["content"][0]["text"].startswith("Indexed 1 file ")
    assert wire.close() == (0, [])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_official_client_gets_its_answers(mode: str, folder: Path) -> None:
    server = StdioServerParameters(
        command=SERVE[0], args=SERVE[1:], cwd=folder, env=dict(os.environ)
    )
    async with Client(server, mode=mode) as client:
        indexed = await client.call_tool("rag_index", {"path": "."})
        assert not indexed.is_error
        found = await client.call_tool("rag_query", {"query": "query string"})
        (content,) = found.content
        assert isinstance(content, TextContent)
        assert "parser.py:1-2" in content.text


@pytest.mark.parametrize(
    "line",
    ["", "not json", "[]", "{}", '{"jsonrpc":"2.0","id":9,"method":"no/such"}', "\ufeff", "\x00"],
)
def test_a_line_that_makes_no_sense_does_not_end_the_connection(line: str, wire: Wire) -> None:
    wire.handshake()
    wire.raw(line)
    wire.send("tools/list", {}, id="after")
    while (message := wire.receive()).get("id") != "after":
        assert "error" in message
    assert len(message["result"]["tools"]) == 3


CHATTY = """\
import ctypes, os, subprocess, sys
from rag_agent.server.project import Project

status = Project.status

async def chatty(self, base):
    print("printed by Python")
    os.write(1, b"written to fd 1\\n")
    (ctypes.cdll.msvcrt if os.name == "nt" else ctypes.CDLL(None)).puts(b"put by C")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return await status(self, base)

Project.status = chatty
from rag_agent.server import serve
sys.exit(serve())
"""


def test_what_anybody_prints_goes_to_stderr(start: Callable[..., Wire]) -> None:
    wire = start(sys.executable, "-c", CHATTY)
    wire.handshake()
    assert json.loads(wire.call("rag_status"))["documents"] == 0
    assert wire.close() == (0, [])
    heard = wire.stderr()
    for words in ("printed by Python", "written to fd 1", "put by C", "printed by a child"):
        assert words in heard


def test_initialize_is_answered_without_index_model_or_numpy(start: Callable[..., Wire]) -> None:
    script = (
        "import sys; from rag_agent.server import serve; code = serve();"
        "heavy = {'numpy', 'apsw', 'onnxruntime', 'rag_agent.index', 'rich'} & sys.modules.keys();"
        "sys.stderr.write(repr(sorted(heavy))); sys.exit(code)"
    )
    wire = start(sys.executable, "-c", script)
    wire.handshake()
    wire.ask("tools/list")
    assert wire.close() == (0, [])
    assert wire.stderr() == "[]"


def test_the_end_of_stdin_ends_the_process(wire: Wire) -> None:
    wire.handshake()
    assert wire.close() == (0, [])


def test_the_end_of_stdin_before_anything_is_said_ends_the_process(wire: Wire) -> None:
    assert wire.close() == (0, [])


def test_the_end_of_stdin_ends_the_process_in_the_midst_of_indexing(
    folder: Path, start: Callable[..., Wire]
) -> None:
    wire = start()
    many_files(folder, 3000)
    wire.handshake()
    meta = {"progressToken": "p"}
    wire.send("tools/call", {"name": "rag_index", "arguments": {}, "_meta": meta}, id=7)
    assert wire.receive()["method"] == "notifications/progress"
    code, _ = wire.close()
    assert code == 0
    again = start()
    again.handshake()
    documents = json.loads(again.call("rag_status"))["documents"]
    assert 0 < documents < 3001
    assert again.close() == (0, [])


def test_a_client_that_no_longer_reads_ends_the_process(wire: Wire) -> None:
    wire.handshake()
    assert wire.process.stdout is not None
    assert wire.process.stdin is not None
    wire.process.stdout.close()
    wire.send("tools/list", {}, id=5)
    wire.process.stdin.close()
    assert wire.process.wait(SECONDS) == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_the_process_although_stdin_is_open(name: str, wire: Wire) -> None:
    wire.handshake()
    number = getattr(signal, name)
    wire.process.send_signal(number)
    assert wire.process.wait(SECONDS) == 128 + number


PARENT = """\
import subprocess, sys
subprocess.run([sys.executable, "-m", "rag_agent", "serve"])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps naming the dead parent")
def test_the_death_of_the_parent_ends_the_process_although_stdin_is_open(
    start: Callable[..., Wire],
) -> None:
    wire = start(sys.executable, "-c", PARENT)
    wire.handshake()
    wire.call("rag_status")
    wire.process.kill()
    # stdin is open at this end; stdout ends when the server, its last owner, is gone.
    assert wire.process.stdout is not None
    assert wire.process.stdout.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals and sockets")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_takes_its_socket_with_it_or_leaves_it_to_the_next(
    start: Callable[..., Wire], folder: Path, end: signal.Signals
) -> None:
    store = folder / ".pi" / "rag"
    store.mkdir(parents=True)
    first = start()
    first.handshake()
    assert len(endpoint.addresses(str(store))) == 1
    first.process.send_signal(end)
    first.process.wait(SECONDS)
    assert len(endpoint.addresses(str(store))) == (end is signal.SIGKILL)
    second = start()
    second.handshake()
    (address,) = endpoint.addresses(str(store))
    assert address.endswith(f"-{second.process.pid}.sock")
    second.close()
    assert endpoint.addresses(str(store)) == []
