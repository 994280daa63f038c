"""Pi as the tests start it: one prompt in print mode, or a conversation in RPC mode."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fake_model import said

Record = dict[str, Any]

RELEVANT = "Where do we check the signature of an incoming webhook?"
CHAT = "thanks, that works"
FENCED = "verify_signature(body: bytes"  # of the file that answers; no prompt here holds it
MANY = 3000  # files that take longer to index than a test takes to interfere

_QUIET = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
_MODEL = ("--model", "fake/fake-model")


@dataclass(frozen=True)
class Pi:
    """A version of Pi, with what it is started with."""

    program: Path
    cwd: Path
    environ: Mapping[str, str]
    run_host: Callable[..., subprocess.CompletedProcess[str]]
    last_event: str  # of a turn; Pi 0.73 has no "agent_settled"
    trust: tuple[str, ...]  # the option that trusts the project; Pi 0.73 trusts all
    arguments: tuple[str, ...] = ()

    def with_environ(self, **more: str) -> Pi:
        """The same with other variables."""
        return replace(self, environ={**self.environ, **more})

    def with_arguments(self, *more: str) -> Pi:
        """The same with more arguments."""
        return replace(self, arguments=(*self.arguments, *more))

    def ask(self, prompt: str, *options: str) -> subprocess.CompletedProcess[str]:
        """``pi -p PROMPT``, in a session of its own unless options say otherwise."""
        return self.run_host(
            [self.program, *self.arguments, *_MODEL, *(options or ("--no-session",)), "-p", prompt],
            self.environ,
            self.cwd,
        )

    @contextmanager
    def conversation(self, *options: str) -> Iterator[Conversation]:
        """``pi --mode rpc`` for the block; it must then end by itself."""
        command = [self.program, *self.arguments, *_MODEL, *(options or ("--no-session",))]
        with subprocess.Popen(
            [*command, "--mode", "rpc"],
            cwd=self.cwd,
            env=dict(self.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            conversation = Conversation(process, self.last_event)
            try:
                yield conversation
                assert process.stdin is not None
                process.stdin.close()
                assert process.wait(timeout=30) == 0
            finally:
                process.kill()


@dataclass
class Conversation:
    """A running Pi that takes commands, one JSON object a line, and tells what it does."""

    process: subprocess.Popen[bytes]
    last_event: str
    records: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._queue: queue.Queue[Record | None] = queue.Queue()
        self._numbers = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def send(self, kind: str, **more: Any) -> str:
        """Give a command; its id."""
        identity = f"c{next(self._numbers)}"
        assert self.process.stdin is not None
        line = json.dumps({"id": identity, "type": kind, **more})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return identity

    def until(self, wanted: Callable[[Record], bool], seconds: float = 60) -> list[Record]:
        """What Pi says up to the first record that is wanted, which comes last."""
        seen: list[Record] = []
        while not seen or not wanted(seen[-1]):
            try:
                record = self._queue.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"not said within {seconds} s, but: {seen}") from None
            assert record is not None, f"Pi ended after: {seen}"
            seen.append(record)
        self.records += seen
        return seen

    def command(self, line: str) -> list[Record]:
        """What Pi says while it answers a slash command."""
        identity = self.send("prompt", message=line)
        return self.until(lambda record: record.get("id") == identity)

    def prompt(self, text: str) -> list[Record]:
        """What Pi says while it answers a prompt, until it waits for the next."""
        self.send("prompt", message=text)
        return self.until(lambda record: record["type"] == self.last_event)


def prepare(
    program: Path,
    cwd: Path,
    environ: Mapping[str, str],
    model_url: str,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
    last_event: str,
    trust: tuple[str, ...],
) -> Pi:
    """A Pi that asks the model at that address; its settings lie in the home folder of environ."""
    settings = Path(environ["HOME"]) / ".pi" / "agent"
    settings.mkdir(parents=True, exist_ok=True)
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    model = {"id": "fake-model", "contextWindow": 100_000, "maxTokens": 4096, "input": ["text"]}
    provider = {"baseUrl": f"{model_url}/v1", "api": "openai-completions", "apiKey": "none"}
    provider["models"] = [model | {"cost": cost}]  # type: ignore[assignment]
    models = json.dumps({"providers": {"fake": provider}})
    (settings / "models.json").write_text(models, encoding="utf-8")
    return Pi(program, cwd, {**environ, **_QUIET}, run_host, last_event, trust)


def asked_of_people(records: list[Record], method: str) -> list[Record]:
    """The records by which an extension used this method of Pi's interface."""
    return [
        record
        for record in records
        if record["type"] == "extension_ui_request" and record["method"] == method
    ]


def is_injected(body: dict[str, Any]) -> bool:
    """Whether a request to the model holds what answers ``RELEVANT``."""
    return any(FENCED in text for text in said(body))


def warm_up(conversation: Conversation) -> None:
    """The server has started and loaded its model: turns are answered within their limit."""
    conversation.command("/rag search anything")


def add_files(folder: Path, count: int) -> None:
    """More to index: small notes, all different."""
    for number in range(count):
        text = f"# Note {number}\n\nWhat was said on day {number} about subject {number * 7}.\n"
        (folder / f"note{number}.md").write_text(text, encoding="utf-8")


def text_of(result: dict[str, Any]) -> str:
    """The text of a tool's result."""
    return "\n".join(part.get("text", "") for part in result["content"])
