"""Runs extractors in a worker process, with limits, so that no file can take this one down."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import passing
from rag_agent.extract.confine import OUT_OF_MEMORY
from rag_agent.extract.frames import (
    Request,
    pack_request,
    read_frame,
    unpack_answer,
    write_frame,
)
from rag_agent.types import Document

if TYPE_CHECKING:
    from rag_agent.extract.job import Job

SECONDS = 60.0
"""Time for one file. A 1,000-page PDF takes about ten."""
MEMORY = 2 * 1024**3
"""Bytes for the worker: of address space, on macOS of resident memory, on Windows committed."""

# Not ``-m``: that would put the working directory, which may be a stranger's project, first among
# the folders that modules come from. The path of this process is handed over instead.
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from rag_agent.extract.worker import main; main(int(sys.argv[2]), sys.argv[3] == 'kernel')"
)


class _Died(Exception):
    """The worker ended without an answer."""


class _Exhausted(Exception):
    """The worker ended for want of memory, or was about to."""

    def __init__(self, path: str) -> None:
        super().__init__(passing.MEMORY)
        self.error = TooLarge(path, passing.MEMORY)


class Sandbox:
    """One worker process, started when first needed and again after it died. Thread-safe."""

    def __init__(self, memory: int = MEMORY, *, by_kernel: bool = True) -> None:
        self._memory = memory
        self._limit = "kernel" if by_kernel else "self"
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._job: Job | None = None

    def call(
        self,
        read: Callable[..., Document],
        data: bytes,
        path: str,
        seconds: float = SECONDS,
        **options: Any,
    ) -> Document:
        """What ``read(data, path, **options)`` returns in the worker.

        ``read`` is a module's function, ``options`` can be written as JSON.

        Raises:
            ExtractError: what ``read`` raised, a crash of the worker, or no answer in time.
        """
        request = Request(read.__module__, read.__name__, path, seconds, options)
        with self._lock:
            if self._process is not None:
                try:
                    return self._ask(self._process, request, data)
                except (_Died, _Exhausted):
                    # It has read other files before, whose memory may not all have come back, or
                    # ended while idle: this one may be innocent, and gets a fresh worker.
                    self._end()
            self._process = self._start()
            try:
                return self._ask(self._process, request, data)
            except _Died as death:
                raise ExtractError(path, passing.CRASHED, str(death)) from death
            except _Exhausted as exhausted:
                raise exhausted.error from exhausted

    def close(self) -> None:
        """End the worker. The next call starts another."""
        with self._lock:
            self._end()

    def kill(self) -> None:
        """End the worker at once, also while another thread waits for it."""
        process = self._process
        if process is not None:
            _kill(process)

    def _start(self) -> subprocess.Popen[bytes]:
        folders = json.dumps([folder for folder in sys.path if folder])
        arguments = [folders, str(self._memory), self._limit]
        process = subprocess.Popen(
            [sys.executable, "-I", "-u", "-W", "ignore", "-c", _START, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # a group, so that what it runs ends with it
        )
        if sys.platform == "win32":  # elsewhere the worker binds itself (confine.py)
            from rag_agent.extract.job import Job

            self._job = Job(process, self._memory)
        return process

    def _ask(
        self,
        process: subprocess.Popen[bytes],
        request: Request,
        data: bytes,
    ) -> Document:
        assert process.stdin is not None
        assert process.stdout is not None
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            _kill(process)

        timer = threading.Timer(request.seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            write_frame(process.stdin, pack_request(request))
            write_frame(process.stdin, data)
            answer, last = unpack_answer(read_frame(process.stdout))
        except (OSError, EOFError) as error:
            self._end()
            if expired.is_set():
                over = f"over {request.seconds:g} s"
                raise ExtractError(request.path, passing.TOO_LONG, over) from error
            if process.returncode == OUT_OF_MEMORY:
                raise _Exhausted(request.path) from error
            raise _Died(_cause(process.returncode)) from error
        except BaseException:  # Ctrl-C in the middle of an answer: the pipe is of no use any more
            self._end()
            raise
        finally:
            timer.cancel()
        if last or expired.is_set():
            self._end()
        if isinstance(answer, ExtractError):
            if last:
                raise _Exhausted(request.path)
            raise answer
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was buffered for a dead process
                if pipe is not None:
                    pipe.close()
        try:
            process.wait(timeout=0.5)  # idle or dead already, it ends at once
        except subprocess.TimeoutExpired:
            _kill(process)
            process.wait()
        if self._job is not None:
            self._job.close()
            self._job = None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the worker at once, and a program that it runs (OCR) with it."""
    if sys.platform == "win32":
        subprocess.run(
            ["taskkill", "/T", "/F", "/PID", str(process.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW,
            check=False,
        )
    elif process.poll() is None:  # else its number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _cause(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"signal {-returncode}"


SHARED = Sandbox()
"""The sandbox of this process. It starts nothing before its first call, and ends at exit."""
atexit.register(SHARED.kill)
