"""Fixtures for the tests of Claude Code: without rag_agent, with its plugin, or in a project."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_driver import Claude, variables
from fake_model import FakeModel


@pytest.fixture
def bare_claude(
    project: Path,
    tmp_path: Path,
    host_program: Callable[[str, str], Path],
    environment: Callable[..., dict[str, str]],
    fake_model: FakeModel,
    rag_agent: Path,
    run_host: Callable[..., subprocess.CompletedProcess[str]],
) -> Claude:
    """Claude Code in the project, knowing nothing of rag_agent."""
    folder = tmp_path / "claude"
    folder.mkdir()
    environ = environment(**variables(folder, fake_model.url))
    return Claude(host_program("claude-code", "claude"), rag_agent, project, environ, run_host)


@pytest.fixture
def claude(bare_claude: Claude) -> Claude:
    """Claude Code in the project, with our plugin."""
    bare_claude.rag("install", "claude-code")
    return bare_claude


@pytest.fixture
def project_claude(bare_claude: Claude) -> Claude:
    """Claude Code in a project that rag-agent is set up for."""
    bare_claude.rag("install", "claude-code", "--project")
    return bare_claude
