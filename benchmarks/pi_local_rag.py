"""pi-local-rag's own ranking, as shipped and mended, on the questions rag_agent is measured on.

    python benchmarks/pi_local_rag.py TOPICS ROOTS --work DIR [--words] [--as-shipped | --mended]

TOPICS is a file of questions with a ``repo`` each; ROOTS the ``_roots.json`` that lays out what to
index (name: folder, below a checkout of that name). The rules are those of release 0.4.1
(reference/pi_files.py, pi_ranking.py, pi_vectors.py), written anew; its program is not run. Both
variants run unless one is named: ``--as-shipped`` with all faults, ``--mended`` with those mended
that pi_ranking.Mends lists and nothing else; ``--mend sign any_word`` mends some of them.

With ``--words`` nothing is embedded and its lexical half ranks alone, as it does when a store has
no vectors. Vectors are made by rag_agent's packaged model and not by the file that pi-local-rag
downloads (reference/pi_vectors.py says what differs); they are kept below DIR.

pi-local-rag stores absolute paths and looks for words in them. Here they begin with the
checkout's name (``/click/src/click/core.py``), so that a figure does not depend on where it lies.

Answers are chunks, best first, ten of them as its tool gives; a file can have several. Runs lie in
DIR, one a repository and variant; those that are there are not made again, and an interrupted one
goes on where it was. Questions are embedded before they are asked: ``took_ms`` is without that.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference.pi_files import Piece, chunk, collect, read
from reference.pi_ranking import AS_SHIPPED, MENDED, Mends, PiIndex

from rag_agent.eval import Topic, read_run, read_topics, run_queries, score_run, score_table
from rag_agent.types import Chunk, Hit, SearchResults

if TYPE_CHECKING:
    from reference.pi_vectors import TruncatingEmbedder

Search = Callable[[str, int], SearchResults]


def main() -> int:
    """Index, run and score; returns 0."""
    arguments = _parsed()
    topics = read_topics(arguments.topics)
    roots: Mapping[str, str] = json.loads(arguments.roots.read_text(encoding="utf-8"))
    names = arguments.only or sorted({topic.repo for topic in topics} & set(roots))
    variants = _variants(arguments)
    embedder = None if arguments.words else _embedder(arguments.work)
    for name in names:
        asked = [topic for topic in topics if topic.repo == name]
        runs = {_run(arguments, variant, name): mends for variant, mends in variants.items()}
        missing = {out: mends for out, mends in runs.items() if not out.exists()}
        if missing:
            answer(name, Path(roots[name]), asked, missing, embedder, arguments.limit)
    scored = [topic for topic in topics if topic.repo in names]
    for variant in variants:
        whole = arguments.work / f"{_label(arguments, variant)}.jsonl"
        lines = [_run(arguments, variant, name).read_text(encoding="utf-8") for name in names]
        whole.write_text("".join(lines), encoding="utf-8", newline="\n")
        print(f"{whole.stem}\n{score_table(score_run(scored, read_run(whole), by=arguments.by))}\n")
    return 0


def answer(
    name: str,
    root: Path,
    topics: Sequence[Topic],
    runs: Mapping[Path, Mends],
    embedder: TruncatingEmbedder | None,
    limit: int = 10,
) -> None:
    """Index one folder and write a run for each way to rank."""
    started = time.monotonic()
    index = PiIndex()
    try:
        texts = load(index, name, root)
        vectors: Mapping[str, Any] = {}
        if embedder is not None:
            index.set_vectors(embedder.embed(texts, lambda done: _told(name, done, len(texts))))
            questions = [topic.query for topic in topics]
            vectors = dict(zip(questions, embedder.embed(questions), strict=True))
        for out, mends in runs.items():
            search = searching(index, vectors, mends)
            rename = renaming(name)
            # An interrupted run of other chunks is not gone on with.
            label = str(len(texts))
            run_queries(search, topics, out, limit=limit, answers=False, rename=rename, label=label)
    finally:
        index.close()
    took = time.monotonic() - started
    print(f"{name}: {len(texts):,} chunks, {len(topics)} questions, {took:.0f} s", file=sys.stderr)


def load(index: PiIndex, name: str, root: Path) -> list[str]:
    """Index the files below a folder; returns the texts of the chunks in their order."""
    checkout = root.parts.index(name)  # the first folder of that name, as in click/src/click
    texts: list[str] = []
    for path in collect(root):
        try:
            pieces: list[Piece] = chunk(read(path))
        except Exception as error:  # noqa: BLE001  readers of documents raise anything
            print(f"not read: {path}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        index.add("/" + "/".join(path.parts[checkout:]), pieces)
        texts.extend(piece.text for piece in pieces)
    return texts


def searching(index: PiIndex, vectors: Mapping[str, Any], mends: Mends) -> Search:
    """The search as the harness asks it; ``vectors`` are those of the questions, if any."""

    def search(question: str, limit: int) -> SearchResults:
        places = index.search(question, vectors.get(question), mends=mends, limit=limit)
        hits = tuple(
            Hit(place.path, place.score, Chunk(place.path, place.start, place.end, ""))
            for place in places
        )
        return SearchResults(question, "hybrid" if vectors else "lexical", hits, 0.0)

    return search


def renaming(name: str) -> Callable[[str], str]:
    """Paths as the questions name them: below the checkout."""
    return lambda path: path.removeprefix(f"/{name}/")


def _told(name: str, done: int, of: int) -> None:
    print(f"{name}: {done:,} of {of:,} chunks embedded", end="\r", file=sys.stderr, flush=True)


def _embedder(work: Path) -> TruncatingEmbedder:
    from reference.pi_vectors import TruncatingEmbedder

    return TruncatingEmbedder(work)


def _variants(arguments: argparse.Namespace) -> Mapping[str, Mends]:
    if arguments.mend:
        some = replace(AS_SHIPPED, **dict.fromkeys(arguments.mend, True))
        return {"mended-" + "-".join(arguments.mend): some}
    both = {"as-shipped": AS_SHIPPED, "mended": MENDED}
    return {name: both[name] for name in arguments.variant or both}


def _label(arguments: argparse.Namespace, variant: str) -> str:
    limit = "" if arguments.limit == 10 else f"-{arguments.limit}"
    return f"{variant}-{'words' if arguments.words else 'hybrid'}{limit}"


def _run(arguments: argparse.Namespace, variant: str, name: str) -> Path:
    return Path(arguments.work / "runs" / f"{_label(arguments, variant)}-{name}.jsonl")


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("topics", type=Path)
    parser.add_argument("roots", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="where runs and vectors are kept")
    parser.add_argument("--words", action="store_true", help="its lexical half alone")
    for name in ("as-shipped", "mended"):
        parser.add_argument(f"--{name}", dest="variant", action="append_const", const=name)
    mends = [field.name for field in fields(Mends)]
    parser.add_argument("--mend", nargs="+", choices=mends, help="mend these faults only")
    parser.add_argument("--limit", type=int, default=10, help="chunks an answer")
    parser.add_argument("--only", nargs="+", default=[], help="these repositories")
    parser.add_argument("--by", choices=("repo", "language", "kind", "split"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
