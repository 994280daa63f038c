"""Index a folder and ask it questions, as a coding agent would: through MCP, over stdio.

``python scripts/demo.py [FOLDER [QUESTION ...]]``. It is also a small example of an MCP client:
start ``rag-agent serve``, call ``rag_index``, then ``rag_query`` as often as you like.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import anyio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import TextContent

_ROOT = Path(__file__).resolve().parent.parent
_ABOUT_THIS_REPOSITORY = (
    "Which files are never read because they may hold secrets?",
    "Where is progress reported, and how is work cancelled?",
    "WriteLock",
)
_ABOUT_ANY_FOLDER = (
    "How is it installed, and what does a first example look like?",
    "How are errors handled?",
    "Where are options and settings parsed?",
)
_HITS = 3  # files per question: enough to judge by, and three answers still fit a screen or two
_TOKENS = 450  # per question
_POLL = 0.5  # seconds between two looks at how far the background work is
_LINE_EVERY = 5.0  # seconds, where no terminal shows a line being rewritten


class ToolError(Exception):
    """A tool answered with an error; its text says what to do."""


class ProgressLine:
    """One line that is rewritten on a terminal, and printed now and then elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0
        self._text = ""
        self._shown = time.monotonic()

    def show(self, text: str) -> None:
        """Replace the line; a long text is cut, so that it stays one line."""
        if self._stream.isatty():
            text = text[: shutil.get_terminal_size().columns - 1]
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif text != self._text and time.monotonic() - self._shown >= _LINE_EVERY:
            self._shown = time.monotonic()
            self._text = text
            self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


def main(arguments: list[str]) -> int:
    """Run the demonstration; 1 and one line that says what to do when something fails."""
    folder = Path(arguments[0] if arguments else _ROOT).expanduser().resolve()
    if not folder.is_dir():
        print(f"error: {folder} is not a folder: make demo DIR=/path/to/code", file=sys.stderr)
        return 1
    questions: Sequence[str] = arguments[1:] or (
        _ABOUT_THIS_REPOSITORY if folder == _ROOT else _ABOUT_ANY_FOLDER
    )
    # What the server says on stderr would tear the progress line; it is shown if things go wrong.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        problem = anyio.run(_demonstrate, folder, questions, log)
        if problem:
            log.seek(0)
            print(log.read(), end="", file=sys.stderr)
            print(f"error: {problem}", file=sys.stderr)
            return 1
    return 0


async def _demonstrate(folder: Path, questions: Sequence[str], log: TextIO) -> str:
    """Index and ask; returns what went wrong, or nothing."""
    # The index a user gets who runs `rag-agent index` in that folder, even when a folder above
    # has one: a demonstration adds nothing to an index that is in use.
    store = folder / ".pi" / "rag"
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("rag-agent")),
        args=["serve"],
        cwd=folder,
        env={"PI_RAG_DIR": str(store)},
    )
    print(f"Indexing {folder}\n    into {store} (delete that folder to undo this)\n")
    try:
        async with Client(stdio_client(server, errlog=log)) as client:
            try:
                await _index(client, folder)
                for question in questions:
                    await _ask(client, question)
            except ToolError as error:
                return str(error)
    except MCPError as error:
        return f"the server ended: {error}"
    print(
        "Your agent gets these answers through the MCP server: `rag-agent serve` (see README.md)."
    )
    return ""


async def _index(client: Client, folder: Path) -> None:
    """Index the folder and wait for what goes on in the background: vectors, large trees."""
    line = ProgressLine(sys.stdout)
    began = time.monotonic()

    async def report(done: float, total: float | None, message: str | None) -> None:
        line.show(f"  {_progress('extract', int(done), int(total or 0))}  {message or ''}")

    answer = await _call(client, "rag_index", {"path": str(folder)}, report)
    status = json.loads(await _call(client, "rag_status"))
    while status["running"]:
        for activity in status["running"]:
            line.show(f"  {_progress(activity['stage'], activity['done'], activity['total'])}")
        await anyio.sleep(_POLL)
        status = json.loads(await _call(client, "rag_status"))
    line.clear()
    if not status["documents"]:
        raise ToolError(answer)
    # The answer of rag_index tells how it stood then, with more to come: this tells how it ended.
    reasons = ", ".join(f"{count:,} {name}" for name, count in status["skipped_by_reason"].items())
    print(
        f"files: {status['documents']:,} · chunks: {status['chunks']:,} · vectors: "
        f"{status['vectors']:,} · ready after {time.monotonic() - began:.1f} s"
        + (f"\nleft out: {reasons}" if reasons else "")
    )
    if status["pending"]:
        print(f"{status['pending']:,} vectors are missing: {status['model_problem']}")
    print()


def _progress(stage: str, done: int, total: int | None) -> str:
    if stage == "scan":
        return f"{done:,} files found"
    if not total:
        return "reading files" if stage == "extract" else "loading the model"
    return f"{done:,} of {total:,} {'chunks embedded' if stage == 'embed' else 'files read'}"


async def _ask(client: Client, question: str) -> None:
    started = time.monotonic()
    # Not this file, which has the questions word for word.
    where = "-path:scripts/demo.py"
    arguments = {"query": question, "where": where, "limit": _HITS, "max_tokens": _TOKENS}
    answer = await _call(client, "rag_query", arguments)
    took = (time.monotonic() - started) * 1000
    print(f"Question: {question}  [{took:.0f} ms]\n\n{answer.rstrip()}\n\n{'-' * 78}\n")


async def _call(
    client: Client, tool: str, arguments: dict[str, Any] | None = None, report: Any = None
) -> str:
    """The text that a tool answers.

    Raises:
        ToolError: the tool says that it failed.
    """
    result = await client.call_tool(tool, arguments or {}, progress_callback=report)
    text = "\n".join(item.text for item in result.content if isinstance(item, TextContent))
    if result.is_error:
        raise ToolError(text)
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
