"""Index laid-out evaluation collections, run their questions, and print one table of measures.

    python scripts/evaluate.py TOPICS ROOTS --work DIR [--words] [--only NAME ...]

TOPICS is a file of questions with a ``repo`` each, or a folder in BEIR's layout. ROOTS is the
``_roots.json`` that lays out what to index (name: folder), or one folder for all questions. Each
collection gets an index of its own below ``DIR/stores``, kept for the next call; runs and scores
lie in ``DIR``. With ``--words`` nothing is embedded and words alone rank.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rag_agent.eval.run import read_run, run_queries
from rag_agent.eval.score import score_run, score_table
from rag_agent.eval.topics import Topic, read_topics
from rag_agent.index import Index
from rag_agent.types import SearchResults


def main() -> int:
    """Index, run and score; returns 0."""
    arguments = parsed()
    topics = read_topics(arguments.topics)
    roots = layout(arguments.roots, topics)
    prefixes = prefixes_of(topics, roots)
    lines: list[str] = []
    for name, root in sorted(roots.items()):
        if arguments.only and name not in arguments.only:
            continue
        asked = [t for t in topics if len(roots) == 1 or t.repo == name]
        store = arguments.work / "stores" / name
        with Index(root, store, "environment") as index:
            started = time.monotonic()
            report = index.sync(root, vectors=not arguments.words, force=True)
            took = time.monotonic() - started
            out = arguments.work / "runs" / f"{arguments.label}-{name}.jsonl"
            run_queries(
                searching(index, arguments.words),
                asked,
                out,
                limit=arguments.limit,
                passages=arguments.passages,
                rename=renaming(root, prefixes.get(name, "")),
            )
        lines.extend(out.read_text(encoding="utf-8").splitlines())
        status = f"{report.added + report.changed + report.unchanged:,} files, {took:.0f} s"
        print(f"{name}: {status}, {len(asked)} questions", file=sys.stderr, flush=True)
    merged = arguments.work / f"{arguments.label}.jsonl"
    merged.write_text("\n".join(lines) + "\n", encoding="utf-8")
    scored = [t for t in topics if not arguments.only or t.repo in arguments.only]
    print(score_table(score_run(scored, read_run(merged), by=arguments.by)))
    return 0


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("topics", type=Path)
    parser.add_argument("roots", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--label", default="run", help="name of the run's files")
    parser.add_argument("--words", action="store_true", help="no vectors")
    parser.add_argument("--passages", action="store_true", help="score what a reader is shown")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--by", choices=("repo", "language", "kind", "split"))
    parser.add_argument("--only", nargs="*", default=[], help="these repositories")
    return parser.parse_args()


def layout(path: Path, topics: list[Topic]) -> Mapping[str, Path]:
    """What to index by the name that topics use."""
    if path.is_dir():
        return {topics[0].repo or path.name: path}
    return {name: Path(root) for name, root in json.loads(path.read_text("utf-8")).items()}


def prefixes_of(topics: list[Topic], roots: Mapping[str, Path]) -> Mapping[str, str]:
    """The part of each root below its checkout, which topics have in their paths."""
    if len(roots) == 1:
        return {}
    # The checkout is the first folder of that name; what is indexed may be called the same
    # (click/src/click).
    below = {name: root.parts[root.parts.index(name) + 1 :] for name, root in roots.items()}
    return {name: "".join(f"{part}/" for part in parts) for name, parts in below.items()}


def renaming(root: Path, prefix: str) -> Callable[[str], str]:
    """Paths of hits as the topics name them."""
    mapping = root / "_map.json"
    if mapping.exists():
        ids = json.loads(mapping.read_text(encoding="utf-8"))
        return lambda path: str(ids.get(path, path))
    return lambda path: prefix + path


def searching(index: Index, words: bool) -> Callable[[str, int], SearchResults]:
    """The search of the product; for words alone without the model."""
    if not words:
        return lambda query, limit: index.search(query, limit)
    from rag_agent.search import search
    from rag_agent.store import Store

    store = Store.open(index.folder / "rag.db", readonly=True)

    def by_words(query: str, limit: int) -> SearchResults:
        return search(store, query, embedder=None, limit=limit)

    return by_words


if __name__ == "__main__":
    sys.exit(main())
