"""Help, made from the registry, for the command line and for ``/rag``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict

from rag_agent.commands.layout import styled
from rag_agent.commands.parsing import GLOBAL_OPTIONS, PROGRAM_OPTIONS, Usage, parser
from rag_agent.commands.registry import VERBS, Argument, Opener, Result, Verb, verb
from rag_agent.progress import Report

_USAGE_WIDTH = 34  # characters; what a verb does goes below a longer usage


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
    width, lines = _verb_lines(VERBS.values())
    lines = ["rag-agent: local retrieval for coding agents, offline", "", *lines]
    lines += ["", "With every verb:"]
    lines += [f"  {option.name.ljust(width)}  {option.help}" for option in GLOBAL_OPTIONS]
    lines += ["", "Without a verb:"]
    lines += [f"  {option.name.ljust(width)}  {option.help}" for option in PROGRAM_OPTIONS]
    lines += ["", "`rag-agent help VERB` says more."]
    return "\n".join(lines)


def slash_overview() -> str:
    """The verbs that ``/rag`` takes inside an agent."""
    _, lines = _verb_lines(v for v in VERBS.values() if not v.terminal)
    return "\n".join(["/rag VERB …", *lines, "`/rag help VERB` says more."])


def _verb_lines(verbs: Iterable[Verb]) -> tuple[int, list[str]]:
    """The width of the column of usages, and the lines."""
    shown = list(verbs)
    width = max(len(v.usage) for v in shown if len(v.usage) <= _USAGE_WIDTH)
    lines = []
    for v in shown:
        if len(v.usage) > width:
            lines += [f"  {styled(v.usage, 'bold')}", f"  {' ' * width}  {v.help}"]
        else:
            lines.append(f"  {styled(v.usage.ljust(width), 'bold')}  {v.help}")
    return width, lines
