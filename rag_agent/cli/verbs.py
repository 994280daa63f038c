"""Verbs of the command line alone: the server, evaluation and completion."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from rag_agent.commands import Argument, Opener, Result, verb
from rag_agent.commands.registry import GOES_ON
from rag_agent.commands.searching import whole_number
from rag_agent.commands.shells import SHELLS
from rag_agent.errors import QueryError
from rag_agent.progress import Report

_QUERIES = Argument("--queries", "JSON lines of {id, query, relevant}", "FILE", required=True,
                    values="path")  # fmt: skip
_QUERIES_LINE = """A line of --queries (relevant is for scoring; start and end may be left out):
  {"id": "q1", "query": "…", "relevant": [{"path": "src/a.py", "start": 1, "end": 20}]}"""


@verb(
    "serve",
    "run the MCP server on stdin and stdout",
    Argument("--for", "the coding agent that starts it, as `rag-agent install` writes it", "HOST",
             default=""),
    detail="For coding agents: tools rag_index, rag_query and rag_status. Ends when stdin ends.\n"
    "With --for the model is loaded ahead of the first prompt, and bridges get their tools.",
    terminal=True,
)  # fmt: skip
def serve(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """The MCP server; the process ends with it."""
    from rag_agent.server import serve as serve_stdio

    raise SystemExit(serve_stdio(vars(arguments)["for"]))


@verb(
    "hook",
    "answer a coding agent's hook: its event as JSON on stdin, the reply on stdout",
    Argument("host", "the coding agent"),
    detail="For the configuration that `rag-agent install` writes. Asks the server that runs for\n"
    "the project, else the words of the index. Always ends with 0: no turn is disturbed.",
    terminal=True,
)
def hook(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """A hook that was called with options; without any, ``rag_agent.main`` answers it."""
    from rag_agent.hook import answer

    raise SystemExit(answer(arguments.host))


@verb(
    "eval run",
    "answer a file of questions from the index in scope",
    _QUERIES,
    Argument("--out", "the run to write: JSON lines of {id, results, took_ms}", "FILE",
             required=True, values="path"),
    Argument("--limit", "files per question (default: 10)", "N", type=whole_number(1, 1000),
             default=10),
    Argument("--passages", "list the passages a reader is shown, not one result a file"),
    detail=_QUERIES_LINE,
    resumes=GOES_ON,
    terminal=True,
)  # fmt: skip
def eval_run(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Answer every question; an interrupted run goes on from where it was."""
    from rag_agent.eval.run import run_queries
    from rag_agent.eval.topics import read_topics

    out = Path(arguments.out)
    topics = read_topics(Path(arguments.queries))
    with open_index() as opened:
        status = opened.status()
        answered = run_queries(
            opened.search,
            topics,
            out,
            limit=arguments.limit,
            passages=arguments.passages,
            label=f"{status.store} {status.last_sync} {status.vectors}",
            report=report,
        )
    data = {"topics": len(topics), "answered": answered, "out": str(out)}
    return Result(data, f"{len(topics):,} questions answered ({answered:,} now), written to {out}")


@verb(
    "eval score",
    "measure a run against the labels of its questions, and compare two runs",
    _QUERIES,
    Argument("--run", "the run to score", "FILE", required=True, values="path"),
    Argument("--against", "another run: differences with their 95 % intervals", "FILE",
             values="path"),
    Argument("--by", "means of each group as well", "GROUP",
             choices=("repo", "language", "kind", "split")),
    Argument("--over", "what the intervals are drawn over (default: topics)", "UNIT",
             choices=("topics", "repositories"), default="topics"),
    detail=_QUERIES_LINE,
    terminal=True,
)  # fmt: skip
def eval_score(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """nDCG, recall, reciprocal rank and line hits."""
    from rag_agent.eval.run import read_run
    from rag_agent.eval.score import compare_runs, comparison_table, score_run, score_table
    from rag_agent.eval.topics import read_topics

    topics = read_topics(Path(arguments.queries))
    if not any(topic.relevant for topic in topics):
        raise QueryError(f"{arguments.queries} has no labels to score against")
    run = read_run(Path(arguments.run))
    data: dict[str, Any] = {"run": arguments.run, **score_run(topics, run, by=arguments.by)}
    text = score_table(data)
    if arguments.against is not None:
        other = read_run(Path(arguments.against))
        compared = compare_runs(topics, run, other, over=arguments.over)
        data |= {"against": arguments.against, "compared": compared}
        text += f"\n\n{comparison_table(compared)}"
    return Result(data, text)


@verb(
    "completion",
    "print the completion script of a shell",
    Argument("shell", "whose script", choices=tuple(SHELLS)),
    terminal=True,
)
def completion(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """The script; its first line says where it goes."""
    script = SHELLS[arguments.shell]
    return Result({"shell": arguments.shell, "script": script}, script.rstrip("\n"))
