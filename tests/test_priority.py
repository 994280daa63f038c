"""Indexing gives way to everything else. Only Linux tells the niceness of a single thread."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from rag_agent import priority
from rag_agent.embed import load
from rag_agent.server.job import Job

if sys.platform != "linux":
    pytest.skip("threads have no niceness of their own here", allow_module_level=True)


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def in_a_thread(work) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: (work(), found.append(niceness())))
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_gives_way_and_the_others_do_not():
    before = niceness()
    assert in_a_thread(priority.lower) == max(before, 10)
    assert niceness() == before


def test_a_thread_that_gives_way_more_stays_as_it_is():
    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 15)
        priority.lower()

    assert in_a_thread(work) == 15


def test_a_server_indexes_in_a_thread_that_gives_way(tmp_path: Path):
    (tmp_path / "notes.md").write_text("# Tides\n\nThe pump starts at high water.\n")
    seen: list[int] = []

    class Watched(Job):
        def _report(self, progress) -> None:
            seen.append(niceness())
            super()._report(progress)

    job = Watched(tmp_path, tmp_path)
    job.start()
    assert job.ended.wait(60)
    assert job.result is not None
    assert job.result.added == 1
    assert set(seen) == {max(niceness(), 10)}


def test_helpers_that_embed_give_way_to_whoever_asked():
    before = niceness()
    seen: set[int] = set()
    helped = threading.Event()
    embedder = load(threads=2)

    class Telling(str):
        """A text that notes who reads it; this thread leaves the others to a helper."""

        def encode(self, *arguments: str) -> bytes:
            seen.add(niceness())
            if threading.current_thread() is threading.main_thread():
                helped.wait(60)
            else:
                helped.set()
            return super().encode(*arguments)

    embedder.embed_passages([Telling(f"pump number {number} " * 40) for number in range(12)])
    assert seen == {before, max(before, 10)}
    assert niceness() == before
