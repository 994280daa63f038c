"""Verbs that measure retrieval: questions with labels, runs, scores, comparisons, pictures."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.commands.layout import counted
from rag_agent.commands.registry import GOES_ON, Argument, Opener, Result, verb
from rag_agent.commands.searching import whole_number
from rag_agent.errors import QueryError
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.eval.run import Result as Place
    from rag_agent.eval.topics import Topic

_QUERIES = Argument("--queries", "JSON lines of {id, query, relevant}", "FILE", required=True,
                    values="path")  # fmt: skip
_RUN = Argument("run", "a run, as `eval run` writes it", values="path")
_QUERIES_LINE = """A line of --queries (relevant is for scoring; start and end may be left out):
  {"id": "q1", "query": "…", "relevant": [{"path": "src/a.py", "start": 1, "end": 20}]}
A folder in the layout of BEIR (queries.jsonl, qrels/test.tsv) does as well."""


@verb(
    "eval run",
    "answer a file of questions from the index in scope",
    _QUERIES,
    Argument("--out", "the run to write: JSON lines of {id, results, took_ms}", "FILE",
             required=True, values="path"),
    Argument("--limit", "files per question (default: 10)", "N", type=whole_number(1, 1000),
             default=10),
    Argument("--passages", "list the passages a reader is shown, not one result a file"),
    Argument("--prefix", "put in front of paths: the part of a checkout above what is indexed",
             "FOLDER", default=""),
    Argument("--label", "names what is tried: an interrupted run goes on under the same label only",
             "TEXT", default=""),
    detail=f"{_QUERIES_LINE}\n\n"
    "A _map.json in the tracked folder (file name: document id) renames hits to documents.\n"
    "took_ms is the time of a question when the model is loaded, tokens what the whole text of a\n"
    "place costs. The first place of a file has when it is met in the answer that a model gets:\n"
    "named is after how many tokens, lines has [line, after how many tokens].",
    resumes=GOES_ON,
    terminal=True,
)  # fmt: skip
def eval_run(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Answer every question; an interrupted run goes on from where it was."""
    from rag_agent.eval.naming import renaming
    from rag_agent.eval.outputs import check_file
    from rag_agent.eval.run import run_queries
    from rag_agent.eval.topics import read_topics

    out, queries = Path(arguments.out), Path(arguments.queries)
    topics = read_topics(queries)
    check_file(out, queries, queries / "queries.jsonl", queries / "qrels" / "test.tsv")
    with open_index() as opened:
        status = opened.status()
        if not status.documents:
            raise QueryError("nothing is indexed here yet; run `rag-agent index` before eval run")
        state = f"{status.store} {status.last_sync} {status.vectors}"
        answered = run_queries(
            opened.search,
            topics,
            out,
            limit=arguments.limit,
            passages=arguments.passages,
            rename=renaming(opened.tracked_paths, arguments.prefix),
            label=" ".join([state, arguments.prefix, arguments.label]),
            report=report,
        )
    data = {"topics": len(topics), "answered": answered, "out": str(out), "label": arguments.label}
    text = f"{counted(len(topics), 'question')} answered ({answered:,} now), written to {out}"
    return Result(data, text)


@verb(
    "eval score",
    "measure a run against the labels of its questions",
    _RUN,
    _QUERIES,
    Argument("--by", "means of each group as well", "GROUP",
             choices=("repo", "language", "kind", "split")),
    detail=f"{_QUERIES_LINE}\n\n"
    "micro is the mean over questions, macro over repositories. recall_2000t is the share of the\n"
    "relevant files that the first 2,000 tokens of the answer name with their place, read_2000t\n"
    "that of those with a line shown as well.",
    terminal=True,
)  # fmt: skip
def eval_score(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """nDCG, recall, reciprocal rank, line hits, recall within tokens, time."""
    from rag_agent.eval.run import read_times
    from rag_agent.eval.score import score_run
    from rag_agent.eval.tables import score_table

    topics = _labelled(arguments.queries)
    run = _run(arguments.run, topics)
    times = read_times(Path(arguments.run))
    scored = score_run(topics, run, by=arguments.by, times=times)
    return Result({"run": arguments.run, **scored}, score_table(scored))


@verb(
    "eval compare",
    "say whether one run is better than another by more than chance",
    _RUN,
    Argument("other", "the run that it is compared with", values="path"),
    _QUERIES,
    Argument("--over", "what the intervals are drawn over (default: topics)", "UNIT",
             choices=("topics", "repositories"), default="topics"),
    detail="Differences are the first run's minus the other's, question by question, with the\n"
    "95 % interval of a paired bootstrap; a star marks those that chance does not explain.\n"
    "Questions of one repository are alike: --over repositories draws whole ones, and is the\n"
    "stricter test.",
    terminal=True,
)  # fmt: skip
def eval_compare(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Differences of all measures with their intervals."""
    from rag_agent.eval.score import compare_runs
    from rag_agent.eval.tables import comparison_table

    topics = _labelled(arguments.queries)
    run, other = _run(arguments.run, topics), _run(arguments.other, topics)
    compared = compare_runs(topics, run, other, over=arguments.over)
    data = {
        "run": arguments.run,
        "other": arguments.other,
        "over": arguments.over,
        "compared": compared,
    }
    return Result(data, comparison_table(compared))


@verb(
    "eval plot",
    "draw runs: quality against time, and recall against tokens",
    Argument("run", "runs, as `eval run` writes them; a run is called by its file's name",
             many="+", values="path"),
    _QUERIES,
    Argument("--out", "the folder for quality-time.svg and recall-tokens.svg", "FOLDER",
             required=True, values="path"),
    Argument("--published", "figures of others to draw beside them (benchmarks/published.json)",
             "FILE", values="path"),
    detail="Needs matplotlib: pip install 'rag_agent[eval]'.",
    terminal=True,
)  # fmt: skip
def eval_plot(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """SVG files."""
    from rag_agent.eval.drawing import draw
    from rag_agent.eval.outputs import check_folder
    from rag_agent.eval.published import read_published
    from rag_agent.eval.run import read_times

    topics = _labelled(arguments.queries)
    paths = [Path(name) for name in arguments.run]
    runs = {_name(path, paths): (_run(str(path), topics), read_times(path)) for path in paths}
    published = []
    if arguments.published is not None:
        for collection in sorted({topic.collection for topic in topics}):
            published += read_published(Path(arguments.published), collection)
    check_folder(Path(arguments.out))
    drawn = draw(topics, runs, published, Path(arguments.out))
    if not drawn:
        raise QueryError("the runs have neither times nor tokens to draw; write them by `eval run`")
    return Result({"plots": [str(path) for path in drawn]}, "\n".join(map(str, drawn)))


def _shares(text: str) -> dict[str, float]:
    """``issue=2,notes=0.5`` as what sets of questions count, by name."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            share = float(number)
        except ValueError as error:
            raise ArgumentTypeError(f"{part!r} is not a set and a number: issue=2") from error
        if not name or not 0 < share < math.inf:
            raise ArgumentTypeError(f"{part!r} is not a set and a number above 0: issue=2")
        found[name.strip()] = share
    return found


@verb(
    "eval fit",
    "fit the weights of the ranking signals to labelled questions",
    Argument("collections", "questions and the folder of their indexes (REPO/rag.db), in turn",
             "QUERIES STORES", many="+", values="path"),
    Argument("--out", "write the tables here (rag_agent/search/weights.py); else only judge them",
             "FILE", values="path"),
    Argument("--words", "without vectors: words alone"),
    Argument("--shares", "what sets of questions count where others count 1: issue=2,notes=0.5",
             "SET=NUMBER,…", type=_shares, default={}),
    detail="Questions that code answers teach the weights of code, those that documents answer\n"
    "those of documents; where an index has both, they teach how high documents stand among\n"
    "code. What there are no questions for stays as it is. Prints what weights reach on\n"
    "repositories, or sets of documents, that they were not fitted to (and what the present ones\n"
    "reach), and where a set has too few repositories (below 8) to judge by. It needs 8 questions\n"
    "or more. Indexes are those that scripts/evaluate.py leaves in WORK/stores; those without all\n"
    "vectors take part in the weights of words alone only.",
    terminal=True,
)  # fmt: skip
def eval_fit(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Cross-validate, then fit to everything."""
    from rag_agent.embed import DEFAULT, load
    from rag_agent.eval.enough import doubts, require_labels, require_sets, require_usable
    from rag_agent.eval.fit import fit
    from rag_agent.eval.judging import Judged, judge
    from rag_agent.eval.outputs import check_file, write_lines
    from rag_agent.eval.tables import left_out_table
    from rag_agent.eval.topics import read_topics
    from rag_agent.eval.validating import cross_validate, left_out
    from rag_agent.eval.written import write_tables

    given = arguments.collections
    if len(given) % 2:
        raise QueryError("eval fit needs pairs: a file of questions, the folder of their indexes")
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None and arguments.words:
        raise QueryError("--out writes the weights with vectors too; leave out --words, or --out")
    asked = [read_topics(Path(queries)) for queries in given[::2]]
    require_labels([topic for topics in asked for topic in topics])
    require_sets(arguments.shares, [topic for topics in asked for topic in topics])
    if out is not None:
        check_file(out, *map(Path, given[::2]))
    reached, units, tables = {}, {}, []
    doubtful: dict[str, None] = {}
    for mode in ("words",) if arguments.words else ("hybrid", "words"):
        words = mode == "words"
        # By words alone fewer files are found; those that meaning finds are no part of it.
        embedder = None if words else load(DEFAULT)
        judged: list[Judged] = []
        for topics, stores in zip(asked, given[1::2], strict=True):
            judged += judge(topics, Path(stores), embedder, report)
        require_usable(judged, words=words)
        counted = [one for one in judged if words or one.hybrid]
        reached[mode] = cross_validate(counted, words=words, shares=arguments.shares)
        units[mode] = left_out(counted)
        doubtful |= dict.fromkeys(doubts(counted))
        if out is not None:
            tables.append(fit(judged, words=words, shares=arguments.shares))
    if out is not None:
        hybrid, words_only = tables
        write_lines(out, write_tables(hybrid, words_only, judged).splitlines())
    lines = [left_out_table(reached, units), *(f"warning: {doubt}" for doubt in doubtful)]
    return Result({**reached, "left_out": units, "warnings": [*doubtful]}, "\n".join(lines))


def _labelled(path: str) -> list[Topic]:
    """The topics of a file, some of which have labels."""
    from rag_agent.eval.topics import read_topics

    topics = read_topics(Path(path))
    if not any(topic.relevant for topic in topics):
        raise QueryError(f'{path} has no labels to score against; give lines a "relevant"')
    return topics


def _run(path: str, topics: list[Topic]) -> dict[str, list[Place]]:
    """A run that answers some of the topics."""
    from rag_agent.eval.run import read_run

    run = read_run(Path(path))
    if run.keys().isdisjoint(topic.id for topic in topics):
        raise QueryError(f"{path} answers none of these questions; it is a run of others")
    return run


def _name(path: Path, among: list[Path]) -> str:
    """The file's name, or where several runs have it the whole path."""
    alike = [other for other in among if other.stem == path.stem]
    return path.stem if len(alike) == 1 else str(path)
