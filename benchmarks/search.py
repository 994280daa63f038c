"""A whole hybrid search beside embedding its question alone, over an index of a folder.

Both are done in turns in one process, so that both see the same machine; what counts is the ratio
of their medians. Every question is asked once: a search remembers chunks until the file changes,
and whoever asks twice the same measures that. The questions are ten words from comments and code of
the index, or those of a file of the evaluation. ``--most`` makes it a check.

    python benchmarks/search.py ../curl --keep /tmp/curl-index --most 4
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import rag_agent
from rag_agent import paths
from rag_agent.embed import load
from rag_agent.embed.models import DEFAULT
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.tokens import runs
from rag_agent.types import Embedder

_WORDS = 10  # a question's
_BEFORE = 40  # questions that are not measured: those of a session that has begun
_LEAST = 10_000  # chunks


def main() -> int:
    """Measure, print the table, and check the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="what is indexed; nothing is written there")
    parser.add_argument("--keep", type=Path, help="where the index is kept for the next time")
    parser.add_argument("--questions", type=Path, help="JSON lines with a field query")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--most", type=float, help="the highest ratio that is well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        database = _indexed(arguments.folder, arguments.keep or Path(temporary))
        number = _BEFORE + arguments.pairs
        if arguments.questions:
            asked = _read(arguments.questions)[:number]
        else:
            asked = _made(database, number)
        embedder = load(DEFAULT)
        with Store.open(database, readonly=True) as store:
            counts = store.counts()
            held = f"{counts.chunks:,} chunks, {counts.commits:,} commits"
            print(f"{counts.documents:,} files, {held}")
            if counts.chunks < _LEAST:
                print(f"fewer than {_LEAST:,} chunks: a larger folder says more", file=sys.stderr)
            ratio = _measure(store, embedder, asked)
    return 1 if arguments.most is not None and ratio > arguments.most else 0


def _indexed(folder: Path, kept: Path) -> Path:
    """The index file of a folder, in step with it and embedded."""
    kept.mkdir(parents=True, exist_ok=True)
    with rag_agent.open(folder, environ={paths.VARIABLE: str(kept.resolve())}) as index:
        report = index.sync(folder)
        if report.pending:
            sys.exit(f"{report.pending} chunks have no vector: {index.status().model_problem}")
        return paths.database(index.folder)


def _read(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(str(json.loads(line)["query"]) for line in lines if line.strip()))


def _made(database: Path, number: int) -> list[str]:
    """Ten words in a row from so many files, the same each time."""
    chosen = random.Random(1)
    questions: list[str] = []
    # A connection of its own, as it remembers what it read.
    with Store.open(database, readonly=True) as store:
        documents = [one.id for root in store.roots() for one in store.documents(root).values()]
        chosen.shuffle(documents)
        for document in documents:
            chunk = chosen.choice(store.chunks_of(document)).chunk
            words = runs(chunk.text)
            if len(words) >= _WORDS:
                start = chosen.randrange(len(words) - _WORDS + 1)
                questions.append(" ".join(words[start : start + _WORDS]))
            if len(questions) == number:
                break
    return questions


def _measure(store: Store, embedder: Embedder, asked: Sequence[str]) -> float:
    alone: list[float] = []
    whole: list[float] = []
    for turn, question in enumerate(asked):
        rows: list[tuple[list[float], Callable[[], object]]] = [
            (alone, partial(embedder.embed_query, question)),
            (whole, partial(search, store, question, embedder=embedder)),
        ]
        for times, do in rows if turn % 2 else reversed(rows):
            started = time.perf_counter()
            do()
            if turn >= _BEFORE:
                times.append((time.perf_counter() - started) * 1000)
    print(f"{len(whole)} questions, milliseconds     p50    p95")
    for name, times in (("embedding alone", alone), ("hybrid search", whole)):
        print(f"{name:27} {median(times):6.2f} {sorted(times)[int(0.95 * len(times))]:6.2f}")
    ratio = median(whole) / median(alone)
    print(f"{'ratio':27} {ratio:6.2f}")
    return ratio


if __name__ == "__main__":
    sys.exit(main())
