"""Index laid-out evaluation collections, run their questions, and print one table of measures.

    python scripts/evaluate.py TOPICS ROOTS --work DIR [--words] [--only NAME ...] [--report FILE]

TOPICS is a file of questions with a ``repo`` each, or a folder in BEIR's layout. ROOTS is the
``_roots.json`` that lays out what to index (name: folder), or one folder for all questions. Each
collection gets an index of its own below ``DIR/stores``, kept for the next call; runs and scores
lie in ``DIR``. With ``--words`` nothing is embedded and words alone rank.

With ``--report`` (that is ``make eval``) the questions are answered twice, by words alone
and with vectors; the section of the collection in FILE is written anew, beside the figures of
``--published``, with two pictures in ``plots/`` beside FILE. ``--also NAME=RUN`` adds the run of
another tool to the tables.

Interrupted, the same command goes on where it was, as long as neither the questions nor the source
of the package changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rag_agent.cli.display import progress_display
from rag_agent.errors import QueryError, RagError
from rag_agent.eval import read_run, read_times, read_topics, run_queries, score_run, score_table
from rag_agent.eval.drawing import draw
from rag_agent.eval.journal import Journal, fingerprint
from rag_agent.eval.naming import renaming
from rag_agent.eval.plots import require_matplotlib
from rag_agent.eval.published import read_published
from rag_agent.eval.report import put_section, row, section
from rag_agent.eval.topics import Topic
from rag_agent.index import Index
from rag_agent.paths import database
from rag_agent.progress import Progress, Report
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import SearchResults

PUBLISHED = Path(__file__).resolve().parent.parent / "benchmarks" / "published.json"
DONE, FAILED, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True)
class Variant:
    """One way to answer: its name in tables, the label of its files, whether words alone rank."""

    name: str
    label: str
    words: bool


@dataclass(frozen=True)
class Collection:
    """What one index holds, and the questions that are asked of it."""

    name: str
    root: Path
    prefix: str
    topics: Sequence[Topic]


def main() -> int:
    """Index, run and score; 1 when a collection could not be evaluated."""
    arguments = parsed()
    try:
        return evaluate(arguments)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from there", file=sys.stderr)
        return INTERRUPTED


def evaluate(arguments: argparse.Namespace) -> int:
    """The work of ``main``."""
    if arguments.report:
        require_matplotlib()
    topics = read_topics(arguments.topics)
    collections = collections_of(topics, layout(arguments.roots, topics), arguments.only)
    asked = [topic for collection in collections for topic in collection.topics]
    if not asked:
        raise QueryError(f"no question of {arguments.topics} is about what {arguments.roots} names")
    variants = variants_of(arguments)
    if failures := answer(collections, variants, arguments):
        print(f"error: not evaluated: {', '.join(failures)}", file=sys.stderr)
        return FAILED
    merged = {variant.name: merge(variant, collections, arguments.work) for variant in variants}
    if arguments.report:
        print(write_report(asked, merged, arguments))
        return DONE
    for name, path in merged.items():
        scored = score_run(asked, read_run(path), by=arguments.by, times=read_times(path))
        print(f"{name}\n{score_table(scored)}")
    return DONE


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
    parser.add_argument("--report", type=Path, help="write the section of these questions in FILE")
    parser.add_argument("--section", default="", help="its name (default: the set's)")
    parser.add_argument("--published", type=Path, default=PUBLISHED, help="figures of others")
    parser.add_argument("--also", nargs="*", default=[], metavar="NAME=RUN", help="further runs")
    return parser.parse_args()


def variants_of(arguments: argparse.Namespace) -> list[Variant]:
    """How the questions are answered: for a report in both ways."""
    words = Variant("words alone", f"{arguments.label}-words", words=True)
    hybrid = Variant("words and meaning", f"{arguments.label}-hybrid", words=False)
    if arguments.report:
        return [words] if arguments.words else [words, hybrid]
    chosen = words if arguments.words else hybrid
    return [Variant(chosen.name, arguments.label, chosen.words)]


def layout(path: Path, topics: Sequence[Topic]) -> Mapping[str, Path]:
    """What to index by the name that topics use."""
    if path.is_dir():
        return {topics[0].repo or path.name: path} if topics else {}
    try:
        roots = json.loads(path.read_text(encoding="utf-8"))
        return {name: Path(root) for name, root in roots.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise QueryError(f"{path}: expected an object of names and folders ({error})") from error


def collections_of(
    topics: Sequence[Topic], roots: Mapping[str, Path], only: Sequence[str]
) -> list[Collection]:
    """The collections that are asked about, in the order of their names."""
    wanted = {name: root for name, root in roots.items() if not only or name in only}
    found = []
    for name, root in sorted(wanted.items()):
        asked = [topic for topic in topics if len(roots) == 1 or topic.repo == name]
        if asked:
            found.append(
                Collection(name, root, "" if len(roots) == 1 else below(name, root), asked)
            )
    nowhere = {t.repo for t in topics if len(roots) > 1 and t.repo not in roots}
    if nowhere and not only:
        print(f"left out, not laid out: {', '.join(sorted(nowhere))}", file=sys.stderr)
    return found


def below(name: str, root: Path) -> str:
    """The part of a root below its checkout, which topics have in their paths."""
    # The checkout is the first folder of that name; what is indexed may be called the same
    # (click/src/click).
    parts = root.parts
    return "/".join(parts[parts.index(name) + 1 :]) if name in parts else ""


def answer(
    collections: Sequence[Collection],
    variants: Sequence[Variant],
    arguments: argparse.Namespace,
) -> list[str]:
    """Answer all questions, collection by collection; the names of those that failed."""
    state = fingerprint(*(f"{t.id}\t{t.query}" for c in collections for t in c.topics))
    settings = [arguments.limit, shows_passages(arguments), [v.label for v in variants]]
    where = {collection.name: str(collection.root) for collection in collections}
    header = json.dumps([state, settings, where])
    journal = Journal(arguments.work / "runs" / f"{arguments.label}.journal", header)
    failures = []
    for number, collection in enumerate(collections, start=1):
        place = f"[{number}/{len(collections)}] {collection.name}"
        if collection.name in journal:
            print(f"{place}: done before", file=sys.stderr)
            continue
        try:
            status = answer_one(collection, variants, arguments, state)
        except RagError as error:
            failures.append(collection.name)
            status = f"error: {error}"
        else:
            journal.add(collection.name)
        print(f"{place}: {status}", file=sys.stderr, flush=True)
    if not failures:
        journal.close()
    return failures


def answer_one(
    collection: Collection,
    variants: Sequence[Variant],
    arguments: argparse.Namespace,
    state: str,
) -> str:
    """Index one collection and ask its questions in each way; what there is to say of it."""
    vectors = any(not variant.words for variant in variants)
    with (
        Index(collection.root, arguments.work / "stores" / collection.name, "environment") as index,
        progress_display() as shown,
    ):
        report = without_scans(shown)
        started = time.monotonic()
        synced = index.sync(collection.root, vectors=vectors, force=True, report=report)
        took = time.monotonic() - started
        for variant in variants:
            with searching(index, variant.words) as asking:
                run_queries(
                    asking,
                    collection.topics,
                    run_of(arguments.work, variant, collection),
                    limit=arguments.limit,
                    passages=shows_passages(arguments),
                    rename=renaming([collection.root], collection.prefix),
                    label=state,
                    report=report,
                )
    files = synced.added + synced.changed + synced.unchanged
    lacking = f", {synced.pending:,} chunks WITHOUT A VECTOR" if vectors and synced.pending else ""
    return f"{files:,} files, {took:.0f} s{lacking}, {len(collection.topics)} questions"


def shows_passages(arguments: argparse.Namespace) -> bool:
    """A report needs them; what it says of rankings it takes from the first of each file."""
    return bool(arguments.passages or arguments.report)


def without_scans(shown: Report) -> Report:
    """The report without a line for each collection that was walked."""

    def report(progress: Progress) -> None:
        if progress.stage != "scan":
            shown(progress)

    return report


@contextmanager
def searching(index: Index, words: bool) -> Iterator[Callable[[str, int], SearchResults]]:
    """The search of the product; for words alone without the model."""
    if not words:
        yield lambda query, limit: index.search(query, limit)
        return
    with Store.open(database(index.folder), readonly=True) as store:
        yield lambda query, limit: search(store, query, embedder=None, limit=limit)


def run_of(work: Path, variant: Variant, collection: Collection) -> Path:
    """Where the run of one collection lies."""
    return work / "runs" / f"{variant.label}-{collection.name}.jsonl"


def merge(variant: Variant, collections: Sequence[Collection], work: Path) -> Path:
    """The runs of all collections as one file."""
    texts = [run_of(work, variant, found).read_text(encoding="utf-8") for found in collections]
    merged = work / f"{variant.label}.jsonl"
    merged.write_text("".join(texts), encoding="utf-8", newline="\n")
    return merged


def write_report(
    topics: Sequence[Topic], merged: Mapping[str, Path], arguments: argparse.Namespace
) -> str:
    """Write the section of the report and its pictures; its text."""
    files = dict(merged)
    for further in arguments.also:
        name, equals, path = further.partition("=")
        if not equals:
            raise QueryError(f"--also {further}: write NAME=RUN.jsonl")
        files[name] = Path(path)
    runs = {name: (read_run(path), read_times(path)) for name, path in files.items()}
    name = arguments.section or topics[0].collection
    published = read_published(arguments.published, name)
    pictures = draw(topics, runs, published, arguments.report.parent / "plots", f"{name}-")
    text = section(
        topics,
        [row(title, topics, run, times) for title, (run, times) in runs.items()],
        published,
        [f"plots/{picture.name}" for picture in pictures],
    )
    put_section(arguments.report, name, text)
    print(f"written: section {name} of {arguments.report}", file=sys.stderr)
    return text


if __name__ == "__main__":
    sys.exit(main())
