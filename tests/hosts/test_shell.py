"""Command lines for hooks, run by a real shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_agent.hosts import shell

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are for sh")

ODD = 'it\'s $HOME; `id` "x" \\ *'


def _run(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


def test_words_reach_the_program_as_they_are() -> None:
    line = shell.line([sys.executable, "-c", "import sys; print(sys.argv[1])", ODD])

    assert _run(line).stdout == f"{ODD}\n"


def test_a_program_that_is_gone_is_replaced_by_what_is_to_be_said(tmp_path: Path) -> None:
    done = _run(shell.line_or([str(tmp_path / "my programs" / "gone"), "hook"], '{"a": "b"}'))

    assert done.returncode == 0
    assert done.stdout == '{"a": "b"}\n'


def test_a_program_that_runs_speaks_for_itself() -> None:
    done = _run(shell.line_or([sys.executable, "-c", "print(1)"], "not said"))

    assert done.returncode == 0
    assert done.stdout == "1\n"
