from __future__ import annotations

import ctypes
import importlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from rag_agent.errors import ExtractError, MissingDependency, TooLarge
from rag_agent.extract.job import Limits
from rag_agent.extract.registry import guarded
from rag_agent.extract.sandbox import Sandbox

HERE = Path(__file__).parent


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hostile extractors, importable here and therefore in the worker, too."""
    monkeypatch.syspath_prepend(str(HERE))
    return importlib.import_module("hostile_parsers")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def test_a_document_comes_back_as_it_left(sandbox: Sandbox, parsers: ModuleType) -> None:
    document = sandbox.call(parsers.polite, "tide ≈ 2 m".encode(), "a/b.txt")
    assert document.text == "tide ≈ 2 m"
    assert document.path == "a/b.txt"


def test_one_worker_serves_many_files(sandbox: Sandbox, parsers: ModuleType) -> None:
    processes = {sandbox.call(parsers.polite, b"", "a.txt").metadata["process"] for _ in range(5)}
    assert len(processes) == 1
    assert processes != {str(os.getpid())}


@pytest.mark.parametrize("name", ["exiting", "aborting"])
def test_a_crash_is_an_error_of_its_file_and_the_next_file_is_read(
    sandbox: Sandbox, parsers: ModuleType, name: str
) -> None:
    with pytest.raises(ExtractError, match=r"bad\.pdf: parser crashed \((exit code|SIG)"):
        sandbox.call(getattr(parsers, name), b"", "bad.pdf")
    assert sandbox.call(parsers.polite, b"good", "good.pdf").text == "good"


def test_a_worker_that_was_killed_between_files_costs_nothing(
    sandbox: Sandbox, parsers: ModuleType
) -> None:
    first = sandbox.call(parsers.polite, b"one", "a.pdf")
    os.kill(int(first.metadata["process"]), signal.SIGTERM)
    second = sandbox.call(parsers.polite, b"two", "b.pdf")
    assert second.text == "two"
    assert second.metadata["process"] != first.metadata["process"]


def test_a_parser_that_hangs_is_stopped_at_the_time_limit(
    sandbox: Sandbox, parsers: ModuleType
) -> None:
    with pytest.raises(ExtractError, match=r"slow\.pdf: took too long \(over 0\.5 s\)"):
        sandbox.call(parsers.endless, b"", "slow.pdf", seconds=0.5)
    assert sandbox.call(parsers.polite, b"good", "good.pdf").text == "good"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps RLIMIT_AS")
def test_a_parser_that_needs_too_much_memory_is_stopped(parsers: ModuleType) -> None:
    sandbox = Sandbox(memory=512 * 1024**2)
    try:
        with pytest.raises(TooLarge, match="needs too much memory"):
            sandbox.call(parsers.hungry, b"", "bomb.pdf")
        assert sandbox.call(parsers.polite, b"good", "good.pdf").text == "good"
    finally:
        sandbox.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps RLIMIT_AS")
def test_a_file_does_not_pay_for_what_others_have_left_behind(parsers: ModuleType) -> None:
    sandbox = Sandbox(memory=512 * 1024**2)
    size = str(150 * 1024**2).encode()
    try:
        processes = {
            sandbox.call(parsers.leaking, size, f"{number}.pdf").metadata["process"]
            for number in range(6)
        }
        assert len(processes) > 1
        with pytest.raises(TooLarge):
            sandbox.call(parsers.leaking, str(1024**3).encode(), "bomb.pdf")
    finally:
        sandbox.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows refuses the memory: job.py")
def test_where_the_system_refuses_no_memory_the_worker_ends_itself(parsers: ModuleType) -> None:
    sandbox = Sandbox(memory=1024**3, by_kernel=False)
    try:
        with pytest.raises(TooLarge, match=r"bomb\.pdf: needs too much memory"):
            sandbox.call(parsers.growing, b"", "bomb.pdf")
        assert sandbox.call(parsers.polite, b"good", "good.pdf").text == "good"
    finally:
        sandbox.close()


@pytest.fixture
def visitors() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        serving.join()


def test_a_parser_that_follows_an_address_is_stopped(
    sandbox: Sandbox, parsers: ModuleType, visitors: tuple[str, list[str]]
) -> None:
    address, asked = visitors
    with pytest.raises(ExtractError, match=r"may not make this program use the network"):
        sandbox.call(parsers.connecting, f"{address}/leak".encode(), "a.svg")
    with pytest.raises(ExtractError, match=r"may not make this program use the network"):
        sandbox.call(parsers.resolving, b"example.org", "a.svg")
    parsers.connecting(f"{address}/here".encode(), "a.svg")  # it would have
    assert asked == ["/here"]


def test_what_a_parser_raises_is_told_in_one_line(sandbox: Sandbox, parsers: ModuleType) -> None:
    with pytest.raises(ExtractError) as caught:
        sandbox.call(parsers.raising, b"", "a.pdf")
    assert str(caught.value) == "a.pdf: cannot be parsed (LookupError: no such glyph)"


def test_a_missing_library_is_named(sandbox: Sandbox, parsers: ModuleType) -> None:
    with pytest.raises(MissingDependency, match="pip install a_library_that_nobody_has"):
        sandbox.call(parsers.importing, b"", "a.pdf")


def test_text_that_no_database_can_hold_is_repaired(parsers: ModuleType) -> None:
    document = guarded(parsers.surrogates, b"", "a.pdf")
    assert document.text == "pair \U0001f600 lone \ufffd nul \ufffd"
    assert document.title == "a b\ufffd"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_is_not_taken_for_a_bad_file(interruption: type[BaseException]) -> None:
    def interrupted(data: bytes, path: str) -> None:
        raise interruption

    with pytest.raises(interruption):
        guarded(interrupted, b"", "a.txt")  # type: ignore[arg-type]


def test_threads_get_their_own_answers(sandbox: Sandbox, parsers: ModuleType) -> None:
    texts = [f"{number} " * 10_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        documents = pool.map(lambda t: sandbox.call(parsers.polite, t.encode(), t[:2]), texts)
        assert [document.text for document in documents] == texts


def test_after_close_the_next_file_starts_a_new_worker(
    sandbox: Sandbox, parsers: ModuleType
) -> None:
    first = sandbox.call(parsers.polite, b"", "a.txt").metadata["process"]
    sandbox.close()
    assert sandbox.call(parsers.polite, b"", "a.txt").metadata["process"] != first


def _run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that may import the hostile parsers; waits for all who hold its pipes."""
    lines = [
        "import os, sys",
        f"sys.path.insert(0, {str(HERE)!r})",
        "import hostile_parsers as parsers",
        "from rag_agent.extract.sandbox import SHARED",
        program,
    ]
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_nothing_that_a_parser_prints_reaches_the_callers_standard_output() -> None:
    result = _run("print(SHARED.call(parsers.chatty, b'protocol', 'a.pdf').text)")
    assert result.stdout == "protocol\n"
    assert "noise from print" in result.stderr
    assert "noise from a C library" in result.stderr


@pytest.mark.parametrize("ending", ["pass", "os._exit(0)"])
def test_the_worker_ends_with_its_parent(ending: str) -> None:
    # The worker holds the parent's standard error: run() returns only when it, too, is gone.
    result = _run(f"SHARED.call(parsers.polite, b'', 'a.pdf'); {ending}")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="a job of Windows does it: job.py")
def test_the_worker_ends_with_its_parent_in_the_middle_of_a_file(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    program = f"""
import threading, time
call = lambda: SHARED.call(parsers.telling, {str(told)!r}.encode(), "a.pdf", seconds=600)
threading.Thread(target=call, daemon=True).start()
while not os.path.exists({str(told)!r}):
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""
    # As above: the file would take ten minutes, and run() would not wait for that.
    assert _run(program).returncode == -9
    assert told.read_text(encoding="utf-8").isdigit()


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="sizes of 64 bits")
def test_the_limits_of_a_windows_job_are_laid_out_as_windows_has_them() -> None:
    # sizeof(JOBOBJECT_EXTENDED_LIMIT_INFORMATION) and two offsets, of a 64-bit compiler.
    assert ctypes.sizeof(Limits) == 144
    assert (Limits.basic.size, Limits.process_memory.offset) == (64, 112)


def test_modules_are_not_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsers: ModuleType, sandbox: Sandbox
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('planted')", encoding="utf-8")
    (tmp_path / "rag_agent.py").write_text("raise SystemExit('planted')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert sandbox.call(parsers.polite, b"safe", "a.pdf").text == "safe"
