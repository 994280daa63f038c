from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag_agent.errors import StoreBusy
from rag_agent.progress import Progress, silent
from rag_agent.sync.lock import WriteLock, running

HOLD = """
import sys
from pathlib import Path
from rag_agent.progress import Progress, silent
from rag_agent.sync.lock import WriteLock
with WriteLock(Path(sys.argv[1])) as lock:
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_is_told_which_process_writes(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(StoreBusy, match=f"process {process.pid} is writing"):
            WriteLock(tmp_path, wait=0).__enter__()
        process.communicate("")


def test_a_killed_writer_leaves_the_lock_free_and_nothing_running(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert [a.pid for a in running(tmp_path)] == [process.pid]
        process.kill()
        process.communicate()
    assert (tmp_path / "write.json").exists()  # what it said of itself is still there
    assert running(tmp_path) == ()
    with WriteLock(tmp_path, wait=0):
        assert len(running(tmp_path)) == 1


def test_vectors_do_not_keep_documents_out(tmp_path: Path) -> None:
    with WriteLock(tmp_path, "embed"), WriteLock(tmp_path, wait=0):
        assert [a.stage for a in running(tmp_path)] == ["write", "embed"]


def test_two_threads_of_one_process_are_two_writers(tmp_path: Path) -> None:
    with WriteLock(tmp_path), pytest.raises(StoreBusy, match="is writing this index"):
        WriteLock(tmp_path, wait=0).__enter__()


def test_what_the_writer_does_is_told_and_gone_at_the_end(tmp_path: Path) -> None:
    heard: list[Progress] = []
    with WriteLock(tmp_path) as lock:
        lock._told = 0.0  # as if the last word was long ago
        lock.telling(heard.append)(Progress("extract", 3, 8, "src/a.py"))
        (activity,) = running(tmp_path)
    assert heard == [Progress("extract", 3, 8, "src/a.py")]
    assert (activity.stage, activity.done, activity.total) == ("extract", 3, 8)
    assert running(tmp_path) == ()


def test_a_broken_activity_file_is_no_activity(tmp_path: Path) -> None:
    with WriteLock(tmp_path):
        (tmp_path / "write.json").write_text(json.dumps({"pid": "x", "bogus": 1}), encoding="utf-8")
        assert running(tmp_path) == ()
        (tmp_path / "write.json").write_text("{", encoding="utf-8")
        assert running(tmp_path) == ()
        WriteLock(tmp_path, "embed").telling(silent)


def test_a_busy_lock_without_a_word_still_says_what_to_do(tmp_path: Path) -> None:
    with WriteLock(tmp_path):
        (tmp_path / "write.json").unlink()
        with pytest.raises(StoreBusy, match="try again"):
            WriteLock(tmp_path, wait=0).__enter__()
