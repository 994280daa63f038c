"""No test sees or touches the files of the person who runs it, nor do the processes it starts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from rag_agent import extract

# Where tests run in the background of a shell, interrupts are ignored, also by what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parent.parent

# Shared and busy machines make deadlines a matter of luck; the database keeps its place although
# every test runs in a folder of its own.
settings.register_profile(
    "rag_agent",
    deadline=None,
    database=DirectoryBasedExampleDatabase(_ROOT / ".hypothesis" / "examples"),
)
settings.load_profile("rag_agent")


@pytest.fixture(scope="session")
def embedding_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's cache folder of all tests: the same text is embedded once in a run."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The empty home folder of this test."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _isolated(
    home: Path,
    embedding_cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("APPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    # The cache folder as platformdirs finds it on Linux and on Windows (its own override);
    # on macOS it lies below the home folder.
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(embedding_cache))
    for name in ("PI_RAG_DIR", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "1")  # tests import onnxruntime by themselves
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # a test that needs a network is a bug
    monkeypatch.setenv("NO_COLOR", "1")
    # Not the checkout, whose .pi/rag may be in use; not tmp_path, whose files tests list.
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))


@pytest.fixture(scope="module", autouse=True)
def _worker_ends_in_order() -> Iterator[None]:
    """Idle for two minutes or at exit, the parsers' worker dies before coverage has its data."""
    yield
    extract.close()
