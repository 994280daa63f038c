"""Fixtures for the tests of Pi: both versions, and servers that can be watched or say nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_model import FakeModel
from pi_driver import Pi, prepare

from rag_agent.hosts.pi import PACKAGE


@pytest.fixture(
    params=[
        ("pi", "node22", "agent_settled", ("--approve",)),
        ("pi-0.73", "node20", "agent_end", ()),
    ],
    ids=["1.6", "0.73"],
)
def bare_pi(
    request: pytest.FixtureRequest,
    project: Path,
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    fake_model: FakeModel,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
) -> Pi:
    """Pi in the project, knowing nothing of rag_agent."""
    folder, node, last_event, trust = request.param
    program = host_program(folder, "pi")
    return prepare(program, project, environment(node), fake_model.url, run_host, last_event, trust)


@pytest.fixture
def pi(bare_pi: Pi) -> Pi:
    """Pi in the project, with our package."""
    return bare_pi.with_arguments("-e", str(PACKAGE))


@dataclass(frozen=True)
class Watched:
    """A rag-agent whose processes are known."""

    environ: dict[str, str]
    numbers: Path

    def started(self) -> list[int]:
        return [int(number) for number in self.numbers.read_text(encoding="utf-8").split()]

    def running(self) -> list[int]:
        return [number for number in self.started() if _is_running(number)]

    def kill(self) -> None:
        os.kill(self.started()[-1], signal.SIGKILL)


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def watched(tmp_path: Path, rag_agent: Path) -> Watched:
    """rag-agent behind a script that notes its number and becomes it."""
    numbers = tmp_path / "numbers"
    script = (
        "import os, sys\n"
        "with open(sys.argv[1], 'a') as numbers: print(os.getpid(), file=numbers)\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    program = [sys.executable, "-c", script, str(numbers), str(rag_agent)]
    return Watched({"RAG_AGENT_PROGRAM": json.dumps(program)}, numbers)


@pytest.fixture
def silent_program() -> str:
    """A RAG_AGENT_PROGRAM that starts and says nothing, whatever it is told."""
    return json.dumps([sys.executable, "-c", "import signal; signal.pause()"])


@pytest.fixture
def complete(
    run_host: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., list[Any]]:
    """What the extension completes lines to, loaded as the Pi in question loads it."""

    def run(pi: Pi, *lines: str) -> list[Any]:
        jiti = pi.program.parent.parent / "jiti" / "lib" / "jiti.mjs"
        script = Path(__file__).with_name("complete.mjs")
        extension = PACKAGE / "extensions" / "rag.ts"
        done = run_host(["node", script, jiti, extension, *lines], pi.environ, pi.cwd)
        return json.loads(done.stdout)

    return run
