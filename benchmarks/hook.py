"""A prompt's hook beside a bare ``python -c pass``: with a running server, and without one.

Bare interpreter and hook are started in turns, so that both see the same machine; what counts is
the median of the ratios of the pairs. The index is that of this package's own source, the prompts
are questions about it, and every reply must hold context; that to the turn of talk in the last
row holds none. ``--most`` makes it a check.

    python benchmarks/hook.py --pairs 20 --most 3 6
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from statistics import median
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_BARE = [sys.executable, "-c", "pass"]
# An installed package is compiled; a checkout is so only where Python may write.
_ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# All different, as a server answers faster what it was asked before.
_NAMES = """
    nearest_store remove_dead take_turn group_passages embed_pending read_question
    average_passage_words choose_places store_folder sync_file rules_from home_folder
    build_context refresh_is_due record_time_out open_database match_paths count_words
    path_words name_coverage cache_folder
""".split()
_PROMPTS = cycle([f"what does {name} do, and where is it called?" for name in _NAMES])
_TALK = cycle(("thanks, that works",))
_SESSIONS = count()  # a session of its own for each prompt: nothing counts as shown before


def main() -> int:
    """Measure, print medians and ratios, and check the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--module", action="store_true", help="`python -m rag_agent`, no script")
    parser.add_argument("--most", type=float, nargs=2, metavar=("WITH", "WITHOUT"),
                        help="the highest ratios that are well")  # fmt: skip
    arguments = parser.parse_args()
    program = [sys.executable, "-m", "rag_agent"]
    if not arguments.module:
        program = [str(Path(sys.executable).with_name("rag-agent"))]
    with tempfile.TemporaryDirectory() as folder:
        project = _indexed(Path(folder) / "project", program)
        with _server(project, program):
            served = _pairs(arguments.pairs, project, program, alone=False)
        alone = _pairs(arguments.pairs, project, program, alone=True)
        talk = _pairs(arguments.pairs, project, program, alone=True, prompts=_TALK)
    bare = [one for one, _ in served + alone + talk]
    print(f"bare interpreter  {median(bare) * 1000:5.1f} ms (median)")
    ratios = [_ratio("with a server", served), _ratio("without a server", alone)]
    _ratio("talk, no server", talk)
    over = [r for r, most in zip(ratios, arguments.most or ratios, strict=True) if r > most]
    for ratio in over:
        print(f"{ratio:.2f} is over its limit", file=sys.stderr)
    return 1 if over else 0


def _indexed(project: Path, program: list[str]) -> Path:
    """A project with the package's source in it, and its index."""
    ignored = shutil.ignore_patterns("__pycache__", "*.onnx", "tokenizer.json")
    shutil.copytree(_ROOT / "rag_agent", project / "rag_agent", ignore=ignored)
    subprocess.run([*program, "index", "."], cwd=project, check=True, stdout=subprocess.DEVNULL)
    return project


@contextmanager
def _server(project: Path, program: list[str]) -> Iterator[None]:
    """A server of the project, whose model is loaded."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {},
              "clientInfo": {"name": "hook", "version": "1"}}  # fmt: skip
    question = {"name": "rag_query", "arguments": {"query": "anything"}}
    with subprocess.Popen(
        [*program, "serve", "--for", "codex"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        messages: tuple[dict[str, Any], ...] = (
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": question},
        )
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                assert "result" in json.loads(process.stdout.readline())
        yield
        process.stdin.close()
        process.wait(timeout=30)


def _pairs(
    number: int,
    project: Path,
    program: list[str],
    *,
    alone: bool,
    prompts: Iterator[str] = _PROMPTS,
) -> list[tuple[float, float]]:
    """Seconds of the bare interpreter and of the hook; who begins alternates."""
    for _ in range(4):  # compiled and cached files for both
        _bare()
        _hook(project, program, alone, prompts)
    pairs = []
    for turn in range(number):
        if turn % 2:
            other = _hook(project, program, alone, prompts)
            pairs.append((_bare(), other))
        else:
            pairs.append((_bare(), _hook(project, program, alone, prompts)))
    return pairs


def _bare() -> float:
    started = time.perf_counter()
    subprocess.run(_BARE, check=True, stdin=subprocess.DEVNULL, capture_output=True, env=_ENVIRON)
    return time.perf_counter() - started


def _hook(project: Path, program: list[str], alone: bool, prompts: Iterator[str]) -> float:
    """From the start of the process to its end, with the reply read."""
    event = {"hook_event_name": "UserPromptSubmit", "prompt": next(prompts),
             "session_id": f"s{next(_SESSIONS)}", "cwd": str(project)}  # fmt: skip
    sent = json.dumps(event).encode()
    started = time.perf_counter()
    done = subprocess.run([*program, "hook", "claude-code"], input=sent, check=True,
                          cwd=project, env=_ENVIRON, capture_output=True)  # fmt: skip
    seconds = time.perf_counter() - started
    is_question = prompts is not _TALK
    assert ("hookSpecificOutput" in json.loads(done.stdout)) == is_question, (event, done)
    assert (b"words alone" in done.stderr) == (alone and is_question), done.stderr
    return seconds


def _ratio(name: str, pairs: list[tuple[float, float]]) -> float:
    ratio = median(hook / bare for bare, hook in pairs)
    milliseconds = median(hook for _, hook in pairs) * 1000
    print(f"{name:16}  {milliseconds:5.1f} ms (median), ratio {ratio:.2f} ({len(pairs)} pairs)")
    return ratio


if __name__ == "__main__":
    sys.exit(main())
