"""Verbs of the command line alone: the server, evaluation, help and completion."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag_agent.commands import VERBS, Argument, Opener, Result, verb
from rag_agent.commands.layout import styled
from rag_agent.commands.parsing import GLOBAL_OPTIONS, PROGRAM_OPTIONS, Usage, parser
from rag_agent.commands.registry import GOES_ON, Values
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
    detail="For coding agents: tools rag_index, rag_query and rag_status. Ends when stdin ends.",
)
def serve(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """The MCP server; the process ends with it."""
    from rag_agent.server import serve as serve_stdio

    raise SystemExit(serve_stdio())


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


@verb("completion", "print the completion script of a shell",
      Argument("shell", "whose script", choices=tuple(SHELLS)))  # fmt: skip
def completion(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """The script; its first line says where it goes."""
    script = SHELLS[arguments.shell]
    return Result({"shell": arguments.shell, "script": script}, script.rstrip("\n"))


@verb("help", "show the verbs, or how one is used",
      Argument("verb", "a verb", many="*", values="verb"))  # fmt: skip
def help_(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Help from the registry."""
    name = " ".join(arguments.verb)
    chosen = [v for v in VERBS.values() if not name or f"{v.name} ".startswith(f"{name} ")]
    if not chosen:
        raise Usage(f"rag-agent: no verb {name!r}; `rag-agent help` lists them")
    data = {
        "verbs": [
            {
                "name": v.name,
                "usage": v.usage,
                "help": v.help,
                "detail": v.detail,
                "arguments": [
                    {k: x for k, x in asdict(a).items() if k != "type"} for a in v.arguments
                ],
            }
            for v in chosen
        ]
    }
    if name:
        return Result(data, "\n\n".join(parser(v).format_help().rstrip() for v in chosen))
    return Result(data, overview())


def overview() -> str:
    """Every verb with its usage and what it does."""
    width = max(len(v.usage) for v in VERBS.values() if len(v.usage) <= 34)
    lines = ["rag-agent: local retrieval for coding agents, offline", ""]
    for v in VERBS.values():
        if len(v.usage) > width:
            lines += [f"  {styled(v.usage, 'bold')}", f"  {' ' * width}  {v.help}"]
        else:
            lines.append(f"  {styled(v.usage.ljust(width), 'bold')}  {v.help}")
    lines += ["", "With every verb:"]
    lines += [f"  {option.name.ljust(width)}  {option.help}" for option in GLOBAL_OPTIONS]
    lines += ["", "Without a verb:"]
    lines += [f"  {option.name.ljust(width)}  {option.help}" for option in PROGRAM_OPTIONS]
    lines += ["", "`rag-agent help VERB` says more."]
    return "\n".join(lines)


def completion_values(open_index: Opener) -> Any:
    """What completes the arguments whose values depend on the index."""

    def values(kind: Values, given: Sequence[str]) -> Iterable[str]:
        from rag_agent.commands.settings import extensions

        with open_index() as opened:
            if kind == "document":
                return [opened.shown_path(document) for document in opened.find("")]
            settings = opened.config
        if kind == "excluded":
            return [f"-{pattern}" for pattern in settings.exclude_patterns]
        if kind == "extension" and list(given[:1]) == ["remove"]:
            return extensions(settings)
        if kind == "extension" and list(given[:1]) == ["add"]:
            return settings.exclude_extensions
        return ()

    return values
