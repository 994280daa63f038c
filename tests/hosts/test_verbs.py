"""What install, uninstall, hosts and doctor say to the person who types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def rag_agent(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_agent", *words],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


def test_an_agent_without_a_program_is_found_by_its_settings(home: Path, project: Path) -> None:
    (home / ".lmstudio").mkdir()
    said = rag_agent("hosts", cwd=project).stdout
    assert f"LM Studio · found: {home / '.lmstudio'}\n" in said
    assert "JetBrains Junie · not found\n" in said
    rag_agent("install", "lm-studio", cwd=project)
    said = rag_agent("hosts", cwd=project).stdout
    assert f" · set up (user): {home / '.lmstudio' / 'mcp.json'}" in said


def test_settings_that_do_not_parse_are_said_where_the_agents_are_listed(
    home: Path, project: Path
) -> None:
    path = home / ".lmstudio" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  "mcpServers": {,}\n}')
    where = "line 2, column 18"
    assert f"cannot be read: {path}: {where}" in rag_agent("hosts", cwd=project).stdout
    failed = rag_agent("install", "lm-studio", cwd=project)
    assert failed.returncode == 1
    assert where in failed.stderr
    assert path.read_text() == '{\n  "mcpServers": {,}\n}'


def test_what_is_left_behind_is_named(home: Path, project: Path) -> None:
    rag_agent("install", "continue", "--project", cwd=project)
    own = project / ".continue" / "mcpServers" / "rag-agent.yaml"
    own.write_text("# mine now\n")
    said = rag_agent("uninstall", "continue", "--project", cwd=project)
    assert f"{own} was changed by somebody else and stays" in said.stdout
    data = json.loads(rag_agent("uninstall", "continue", "--project", "--json", cwd=project).stdout)
    assert (data["files"], data["left"]) == ([], [str(own)])


def test_doctor_names_a_program_that_is_gone(home: Path, project: Path) -> None:
    rag_agent("install", "kiro", cwd=project)
    path = home / ".kiro" / "settings" / "mcp.json"
    settings = json.loads(path.read_text())
    settings["mcpServers"]["rag"]["command"] = "/gone/rag-agent"
    path.write_text(json.dumps(settings))
    told = rag_agent("doctor", "--json", cwd=project)
    (check,) = [c for c in json.loads(told.stdout)["checks"] if c["name"] == "Kiro"]
    assert check["detail"] == f"{path} starts /gone/rag-agent, which is not there (user)"
    assert "rag-agent install kiro" in check["advice"]
    rag_agent("install", "kiro", cwd=project)
    assert "✓ Kiro" in rag_agent("doctor", cwd=project).stdout


def test_an_agent_that_takes_no_project_says_so(project: Path) -> None:
    failed = rag_agent("install", "windsurf", "--project", cwd=project)
    assert failed.returncode == 1
    assert "Windsurf has no set-up for a project; leave out --project" in failed.stderr
