"""Claude Code as the tests start it: one prompt in print mode, or a conversation of messages."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]

# Its words are in the file that answers: the first prompt of a session may come before the model
# is loaded, and is then answered from words alone.
RELEVANT = "Where does verify_signature compare the HMAC of a webhook's body?"
FENCED = "verify_signature(body: bytes"  # of that file; no prompt here holds it
CHAT = "thanks, that works"
BLOCKED = "UserPromptExpansion operation blocked by hook:\n"  # Claude's words before our answer

_QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
)


def variables(folder: Path, model_url: str) -> dict[str, str]:
    """What sends Claude Code to our model, with its settings and state in ``folder``."""
    return {
        "CLAUDE_CONFIG_DIR": str(folder),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_MODEL": "fake-model",
        "ANTHROPIC_SMALL_FAST_MODEL": "fake-model",
        **dict.fromkeys(_QUIET, "1"),
    }


@dataclass(frozen=True)
class Claude:
    """Claude Code in a project, with settings of its own, and the rag-agent that serves it."""

    program: Path
    rag_agent: Path
    cwd: Path
    environ: Mapping[str, str]
    run_host: Callable[..., subprocess.CompletedProcess[str]]

    @property
    def folder(self) -> Path:
        """Where its settings and its state lie."""
        return Path(self.environ["CLAUDE_CONFIG_DIR"])

    @property
    def plugin(self) -> Path:
        """Our plugin, where ``install`` puts it."""
        return self.folder / "rag-agent" / "plugins" / "rag-agent"

    def rag(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``rag-agent WORDS`` in the project."""
        return self.run_host([self.rag_agent, *words], self.environ, self.cwd)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``claude WORDS``."""
        return self.run_host([self.program, *words], self.environ, self.cwd)

    def ask(self, prompt: str, *options: str) -> str:
        """What ``claude -p PROMPT`` prints."""
        return self.run("-p", prompt, *options).stdout

    def hooks_said(self, prompt: str) -> list[str]:
        """What the hooks print in the course of a prompt, and Claude Code about them."""
        options = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
        records = [json.loads(line) for line in self.ask(prompt, *options).splitlines()]
        return [one["output"] for one in records if one.get("subtype") == "hook_response"]

    def change_server(self, command: str, *arguments: str) -> None:
        """Let the plugin name another server than ours."""
        path = self.plugin / ".mcp.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings["mcpServers"]["rag"] |= {"command": command, "args": list(arguments)}
        path.write_text(json.dumps(settings), encoding="utf-8")

    def break_command_hook(self) -> None:
        """Let the plugin name a program for hooks that is not there."""
        path = self.plugin / "hooks" / "hooks.json"
        text = path.read_text(encoding="utf-8").replace("rag-agent hook", "no-rag-agent hook")
        path.write_text(text, encoding="utf-8")

    @contextmanager
    def conversation(self) -> Iterator[Conversation]:
        """``claude -p`` that takes one message after another, for the block."""
        command = [self.program, "-p", "--input-format", "stream-json"]
        with subprocess.Popen(
            [*map(str, command), "--output-format", "stream-json", "--verbose"],
            cwd=self.cwd,
            env=dict(self.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                yield Conversation(process)
                _, errors = process.communicate(timeout=60)
                assert process.returncode == 0, errors.decode(errors="replace")
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


class Conversation:
    """A running Claude Code; ``prompt`` waits until a turn is over."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._records: queue.Queue[Record | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def prompt(self, text: str, seconds: float = 60) -> list[Record]:
        """What Claude Code reports until the end of the turn."""
        assert self._process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": text}}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        records: list[Record] = []
        while not records or records[-1]["type"] != "result":
            record = self._records.get(timeout=seconds)
            assert record is not None, f"ended after {records}"
            records.append(record)
        return records

    def kill_server(self) -> None:
        """End the MCP server of rag-agent with SIGKILL."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        parents = {int(pid): int(parent) for pid, parent, *_ in rows}
        [server] = [
            int(pid)
            for pid, _, *arguments in rows
            if "serve --for claude-code" in " ".join(arguments)
            and self._process.pid in _ancestors(int(pid), parents)
        ]
        os.kill(server, signal.SIGKILL)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._records.put(json.loads(line))
        self._records.put(None)


def _ancestors(pid: int, parents: Mapping[int, int]) -> set[int]:
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found | {pid}
