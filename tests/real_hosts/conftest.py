"""The real programs, offline: run with ``make test-hosts``, which installs them.

Collected only where RAG_AGENT_HOSTS names the folder in which scripts/hosts.sh installed hosts.
A host that a test needs and that is not there is then a failure.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for fake_model, also in the tests beside this

import fake_model as fake_model_server
from claude_fixtures import bare_claude, claude, project_claude  # noqa: F401
from fake_model import FakeModel
from pi_fixtures import bare_pi, complete, pi, silent_program, watched  # noqa: F401

HOSTS = Path(os.environ.get("RAG_AGENT_HOSTS", ".hosts")).resolve()
# Elsewhere the programs of the system would be found by chance.
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

collect_ignore_glob = [] if "RAG_AGENT_HOSTS" in os.environ else ["test_*.py"]

RAG_AGENT = Path(sys.executable).parent / "rag-agent"
"""The command of the installation that is being tested."""

FILES = {
    "src/webhooks.py": '''\
"""Incoming webhooks."""

import hmac


def verify_signature(body: bytes, header: str, secret: bytes) -> bool:
    """Whether the sender of a webhook knew our secret: compares the HMAC of the body."""
    expected = hmac.new(secret, body, "sha256").hexdigest()
    return hmac.compare_digest(expected, header.removeprefix("sha256="))
''',
    "src/invoices.py": '''\
"""Numbers of invoices."""


def next_invoice_number(last: str) -> str:
    """The number after the last: the year, a dash, and a counter that starts again each year."""
    year, counter = last.split("-")
    return f"{year}-{int(counter) + 1:06d}"
''',
    "docs/deploy.md": """\
# Deployment

## Rolling back

A release is rolled back with `deploy rollback --to VERSION`; migrations of the database stay.

## Secrets

Keys of the payment provider lie in the vault and are rotated every ninety days.
""",
}
"""The files of the fixture ``project``."""


@pytest.fixture
def rag_agent() -> Path:
    """The command of the installation that is being tested."""
    return RAG_AGENT


@pytest.fixture
def fake_model() -> Iterator[FakeModel]:
    """A running model server that keeps the requests it gets."""
    with fake_model_server.running() as model:
        yield model


@pytest.fixture
def host_program() -> Callable[[str, str], Path]:
    """``host_program("pi", "pi")``: the program that scripts/hosts.sh installed under that name."""

    def find(folder: str, name: str) -> Path:
        path = HOSTS / folder / "node_modules" / ".bin" / name
        assert path.exists(), f"{path} is missing: sh scripts/hosts.sh {HOSTS} {folder}"
        return path

    return find


@pytest.fixture
def environment(
    home: Path, embedding_cache: Path, host_program: Callable[[str, str], Path]
) -> Callable[..., dict[str, str]]:
    """``environment(node="node22", **more)``: a small environment, none of it this user's.

    ``rag-agent`` is on the PATH unless ``rag_agent=False``.
    """

    def build(node: str = "node22", rag_agent: bool = True, **more: str) -> dict[str, str]:
        folders = [str(host_program(node, "node").parent)]
        if rag_agent:
            folders.append(str(RAG_AGENT.parent))
        return {
            "HOME": str(home),
            "PATH": os.pathsep.join([*folders, *SYSTEM_PATH]),
            "XDG_CACHE_HOME": str(embedding_cache),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            **more,
        }

    return build


@pytest.fixture
def project(tmp_path: Path, environment: Callable[..., dict[str, str]]) -> Path:
    """A folder with ``FILES``, indexed by the real command; its store lies in ``.pi/rag``."""
    folder = tmp_path / "project"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run_host([RAG_AGENT, "index"], environment(), folder)
    return folder


def run_host(
    command: Sequence[str | Path],
    env: Mapping[str, str],
    cwd: Path,
    text: str = "",
    seconds: float = 120,
    status: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    """What a host did, with ``text`` on its stdin; its output is in the message of any failure.

    It must end within ``seconds``, with ``status`` unless that is None. What it started and left
    is ended with it.
    """
    process = subprocess.Popen(
        [str(word) for word in command],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    is_late = False
    try:
        out, err = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        is_late = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    seen = f"{command}\n--- stdout\n{out}\n--- stderr\n{err}"
    assert not is_late, f"not done after {seconds} s: {seen}"
    assert status is None or process.returncode == status, f"status {process.returncode}: {seen}"
    return subprocess.CompletedProcess([*command], process.returncode, out, err)


@pytest.fixture(name="run_host")
def run_host_fixture() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The function ``run_host``."""
    return run_host
