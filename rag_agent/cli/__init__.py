"""The command line: words in, text or one JSON document out, an exit code that tells."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from rag_agent import __version__
from rag_agent.cli import verbs  # noqa: F401 - registers the verbs of the command line
from rag_agent.commands.help import overview
from rag_agent.commands.layout import one_line, plain, steady, styled
from rag_agent.commands.parsing import Call, Usage, parse
from rag_agent.commands.shells import ASK, FILES
from rag_agent.errors import RagError, WalkError
from rag_agent.progress import silent
from rag_agent.streams import discard, occupy_standard_streams

if TYPE_CHECKING:
    from rag_agent.commands import Result
    from rag_agent.index import Index
    from rag_agent.progress import Progress, Report

_log = logging.getLogger(__name__)

_CONTROL = re.compile("[\x7f-\x9f]")

DONE, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    occupy_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _answer(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # `rag-agent search … | head`: nobody reads any more.
        discard(sys.stdout)
        return PIPE_CLOSED
    except OSError as error:
        # What verbs raise is told by _outcome: this is a full disk, or a stdout that is closed.
        discard(sys.stdout)
        _last_words(f"error: the output cannot be written: {error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        _last_words("interrupted")
        return INTERRUPTED
    return code


def _last_words(message: str) -> None:
    try:
        _say(message, sys.stderr)
    except OSError:
        discard(sys.stderr)


def _answer(words: list[str]) -> int:
    if words[:1] == [ASK]:
        return _complete(words[1:])
    if words[:1] in (["--version"], ["-V"]):
        return _say(f"rag-agent {__version__}", sys.stdout)
    if words[:1] in (["--help"], ["-h"]):
        return _say(overview(), sys.stdout)
    if not words:
        _say(overview(), sys.stderr)
        return USAGE
    try:
        call = parse(words)
        return _run(call)
    except Usage as usage:
        _say(usage.message.rstrip(), sys.stdout if usage.code == DONE else sys.stderr)
        return usage.code


def _run(call: Call) -> int:
    from rag_agent.cli.logs import logged

    with logged(verbose=call.arguments.verbose):
        return _outcome(call)


def _outcome(call: Call) -> int:
    options = call.arguments
    began = time.monotonic()
    try:
        result = _result(call)
        _log.debug("%s took %.2f s", call.verb.name, time.monotonic() - began)
    except RagError as error:
        return _fail(call, error)
    except KeyboardInterrupt:
        again = f"; what is done is kept, {call.verb.resumes}" if call.verb.resumes else ""
        _say(f"interrupted{again}", sys.stderr)
        return INTERRUPTED
    except (Usage, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - the last line of defence; the log has the rest
        # To the log only: on the screen it is the one line below, with --verbose this too.
        _log.info("%s failed", call.verb.name, exc_info=True)
        return _fail(call, error)
    if options.json:
        _print_json(_with_problem(result))
    elif result.text:
        _say(result.text, sys.stdout, color=not options.no_color)
    if result.problem:
        _say(f"{styled('error:', 'red')} {result.problem}", sys.stderr, color=not options.no_color)
        return FAILED
    return DONE


def _with_problem(result: Result) -> object:
    """What programs get: why it is not well, beside what there is to say."""
    if not result.problem or not isinstance(result.data, dict):
        return result.data
    return {**result.data, "error": {"kind": "Problem", "message": result.problem}}


def _result(call: Call) -> Result:
    from rag_agent.cli.display import progress_display

    if not call.verb.resumes:
        return call.verb.run(_open, call.arguments, silent)
    with progress_display() as report:
        return call.verb.run(_open, call.arguments, _logging(report))


def _logging(report: Report) -> Report:
    """The report, which logs each stage as well when it begins."""
    stage = ""

    def told(progress: Progress) -> None:
        nonlocal stage
        if progress.stage != stage:
            stage = progress.stage
            _log.debug("%s begins%s", stage, f", {progress.total:,}" if progress.total else "")
        report(progress)

    return told


def _open() -> AbstractContextManager[Index]:
    from rag_agent.index import open as open_index  # numpy, SQLite: not for --version and help

    try:
        opened = open_index()
    except FileNotFoundError as error:
        raise WalkError("the current folder is gone; change to one that exists") from error
    _log.debug("the index in scope is in %s (%s)", opened.folder, opened.scope)
    return opened


def _fail(call: Call, error: Exception) -> int:
    message = " ".join(str(error).split())
    if not isinstance(error, RagError):
        from rag_agent.cli.logs import log_place

        message = f"internal error: {type(error).__name__}: {message}; {log_place()}"
    if call.arguments.json:
        _print_json({"error": {"kind": type(error).__name__, "message": message}})
    _say(f"{styled('error:', 'red')} {message}", sys.stderr, color=not call.arguments.no_color)
    return FAILED


def _print_json(data: object) -> None:
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        # Escaped, every character survives an encoding that lacks it, and half a surrogate pair.
        text = json.dumps(data, indent=indent)
    # JSON leaves the second set of control characters as it is; some terminals obey that too.
    sys.stdout.write(_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")


def _say(text: str, stream: TextIO, *, color: bool = True) -> int:
    shown = steady(text)
    stream.write((shown if color and _has_colors(stream) else plain(shown)) + "\n")
    stream.flush()
    return DONE


def _has_colors(stream: TextIO) -> bool:
    # https://no-color.org; the old Windows console shows escape sequences as they are.
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    return os.name != "nt" or "WT_SESSION" in os.environ


def _complete(words: list[str]) -> int:
    """Answer the completion script of a shell; whatever fails, it completes nothing."""
    from rag_agent.commands.completion import complete, index_values

    *before, current = words or ["="]
    try:
        found = complete(before, current.removeprefix("="), index_values(_open))
    except RagError as error:
        _log.debug("no completion: %s", error)
        return FAILED
    # One a line, and shells show them as they are.
    offered = [c for c in found.candidates if c.word == one_line(c.word)]
    lines = [f"{c.word}\t{c.help}" if c.help else c.word for c in offered]
    if found.files:
        lines.append(FILES)
    return _say("\n".join(lines), sys.stdout, color=False) if lines else DONE
