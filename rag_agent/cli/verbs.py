"""Verbs of the command line alone: the server, hooks and completion."""

from __future__ import annotations

from argparse import Namespace

from rag_agent.commands import Argument, Opener, Result, verb
from rag_agent.commands.shells import SHELLS
from rag_agent.progress import Report


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
    "completion",
    "print the completion script of a shell",
    Argument("shell", "whose script", choices=tuple(SHELLS)),
    terminal=True,
)
def completion(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """The script; its first line says where it goes."""
    script = SHELLS[arguments.shell]
    return Result({"shell": arguments.shell, "script": script}, script.rstrip("\n"))
