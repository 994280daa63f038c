"""Codex, Gemini CLI and opencode as the tests start them: each prompt in a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fake_model import FakeModel, said, tool_names

RELEVANT = "Where does verify_signature compare the HMAC of a webhook's body?"
CHAT = "thanks, that works"
FENCED = "verify_signature(body: bytes"  # of the file that answers; no prompt here holds it
TOOLS = ("rag_index", "rag_query", "rag_status")
TOLD = "call rag_query first, before grep"  # of the server's instructions


@dataclass(frozen=True)
class Agent:
    """An agent, with what it is started with: a prompt comes last, or on its stdin."""

    name: str
    program: Path
    begin: tuple[str, ...]
    resume: tuple[str, ...]
    prompt_on_stdin: bool
    rag_agent: Path
    cwd: Path
    environ: Mapping[str, str]
    run_host: Callable[..., subprocess.CompletedProcess[str]]

    def with_environ(self, **more: str) -> Agent:
        """The same with other variables."""
        return replace(self, environ={**self.environ, **more})

    def ask(self, prompt: str, *, resume: bool = False) -> subprocess.CompletedProcess[str]:
        """What it does with a prompt, in a new session or the one before."""
        words = self.resume if resume else self.begin
        if self.prompt_on_stdin:
            return self.run_host([self.program, *words], self.environ, self.cwd, prompt)
        return self.run_host([self.program, *words, prompt], self.environ, self.cwd)

    def install(self, *options: str) -> subprocess.CompletedProcess[str]:
        """``rag-agent install NAME``."""
        return self._rag_agent("install", self.name, *options)

    def uninstall(self, *options: str) -> subprocess.CompletedProcess[str]:
        """``rag-agent uninstall NAME``."""
        return self._rag_agent("uninstall", self.name, *options)

    def break_everywhere(self, folder: Path, old: str, new: str) -> None:
        """Replace a text in what was installed below a folder; it must have been there."""
        found = {
            path: text
            for path in folder.rglob("*")
            if path.suffix in (".json", ".jsonc", ".toml", ".js")
            and "node_modules" not in path.parts
            if old in (text := path.read_text(encoding="utf-8"))
        }
        assert found, f"{old} is nowhere below {folder}"
        for path, text in found.items():
            path.write_text(text.replace(old, new), encoding="utf-8")

    def _rag_agent(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run_host([self.rag_agent, *words], self.environ, self.cwd)


def give_time(project: Path) -> None:
    """Machines that run tests are busy: the budget of a turn below what a hook waits for, 2 s."""
    path = project / ".pi" / "rag" / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"ragTimeBudgetMs": 1500}
    path.write_text(json.dumps(settings), encoding="utf-8")


def turns(model: FakeModel) -> list[dict[str, Any]]:
    """The requests of turns: agents also ask for titles and summaries, without tools."""
    return [body for body in model.requests() if tool_names(body)]


def injected(body: dict[str, Any]) -> int:
    """How often a request holds what answers ``RELEVANT``."""
    return sum(text.count(FENCED) for text in said(body))


def files_below(*folders: Path) -> dict[str, bytes]:
    """Every file with its content."""
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): path.read_bytes() for path in found}
