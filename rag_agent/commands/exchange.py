"""Verbs that write an index as lines of JSON, and read them back."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_agent.commands.layout import by_reason, counted, one_line, size, styled
from rag_agent.commands.registry import GOES_ON, Argument, Opener, Result, verb
from rag_agent.errors import StoreError
from rag_agent.paths import expanded
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.exchange import ImportReport

_STANDARD = "-"
_SHOWN = 5


@verb(
    "export",
    "write files and chunks as lines of JSON",
    Argument("file", "where to; - is standard output", values="path"),
    Argument("--vectors", "with the vectors of the present model"),
    detail="A header, then each file followed by its chunks, then what was not indexed and why,\n"
    "then a line that counts. Vectors are float32, little-endian, in base64.",
    terminal=True,
)
def export(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Write the index to a file, whole or not at all, or to standard output."""
    with open_index() as opened:
        lines = opened.export_chunks(vectors=arguments.vectors, report=report)
        if arguments.file == _STANDARD:
            _write(lines, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            raise SystemExit(0)  # what else there is to say would be among the lines
        path = expanded(arguments.file)
        with _replacing(path) as stream:
            end = json.loads(_write(lines, stream))
        others = opened.status().other_models if arguments.vectors else {}
    written = f"{counted(end['documents'], 'file')} ({counted(end['chunks'], 'chunk')}"
    written += f", {counted(end['vectors'], 'vector')})" if arguments.vectors else ")"
    notes = []
    missing = end["chunks"] - end["unembedded"] - end["vectors"]
    if arguments.vectors and missing:
        notes.append(f"{counted(missing, 'chunk')} without a vector yet: `rag-agent refresh`")
    if others:
        notes.append(f"vectors of {counted(len(others), 'other model')} are left out")
    bytes_written = path.stat().st_size
    return Result(
        {
            "file": str(path),
            "documents": end["documents"],
            "chunks": end["chunks"],
            "vectors": end["vectors"],
            "unembedded": end["unembedded"],
            "skipped": end["skipped"],
            "bytes": bytes_written,
            "notes": notes,
        },
        "\n".join(
            [
                f"{styled('✅', 'green')} Exported {written} to {one_line(str(path))} · "
                f"{size(bytes_written)}",
                *(styled(f"   {note}", "yellow") for note in notes),
            ]
        ),
    )


@verb(
    "import",
    "take over what another index exported, for files that are the same here",
    Argument("file", "what `rag-agent export` wrote; - is standard input", values="path"),
    Argument("path", "where the exported folder lies here, when not where the export says",
             many="?", default=None, values="path"),
    detail="Files are compared byte by byte (SHA-256). What is the same is not parsed, cut or\n"
    "embedded again; what is not is left to `rag-agent refresh`. Folders of the export are\n"
    "tracked from then on, the project's own where the command runs.",
    resumes=GOES_ON,
    terminal=True,
)  # fmt: skip
def import_(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Read an export from a file or from standard input."""
    from rag_agent.exchange import bounded_lines

    with open_index() as opened, _reading(arguments.file) as stream:
        done = opened.import_chunks(bounded_lines(stream), arguments.path, report=report)
        status = opened.status()
    reasons = Counter(one.reason for one in done.left_out)
    notes = []
    if reasons:
        notes.append(
            f"left out {counted(reasons.total(), 'file')}: {by_reason(reasons)}; "
            "`rag-agent refresh` reads what is here"
        )
    if done.model in status.other_models:
        notes.append(f"its vectors are of {done.model}, which is not the model in use")
    elif status.pending:
        pending = counted(status.pending, "chunk")
        notes.append(f"{pending} without a vector yet; `rag-agent refresh` makes them")
    lines = [
        f"{styled('✅', 'green')} Imported {counted(done.added, 'file')} "
        f"({counted(done.chunks, 'chunk')}) · {done.known:,} as they were · "
        f"{counted(done.vectors, 'vector')} of chunks and files",
        *(styled(f"   {one_line(note)}", "yellow") for note in notes),
        *(styled(f"   {one_line(problem)}", "yellow") for problem in done.problems[:_SHOWN]),
    ]
    return Result(
        {**asdict(done), "notes": notes, "pending": status.pending},
        "\n".join(lines),
        _verdict(done),
    )


def _verdict(done: ImportReport) -> str:
    if not done.problems:
        return ""
    more = len(done.problems) - _SHOWN
    rest = f" ({more:,} more: --json lists them)" if more > 0 else ""
    return f"{counted(len(done.problems), 'problem')} with the export, the rest is in{rest}"


def _write(lines: Iterable[str], stream: BinaryIO) -> str:
    """The last line, after all were written."""
    line = ""
    for line in lines:
        stream.write(line.encode() + b"\n")
    return line


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of the old one when it is complete.

    Raises:
        StoreError: it cannot be written.
    """
    import tempfile  # not for every command

    try:
        if path.exists() and not path.is_file():  # a pipe, a device
            with path.open("wb") as stream:
                yield stream
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error})") from error


@contextmanager
def _reading(file: str) -> Iterator[BinaryIO]:
    if file == _STANDARD:
        yield sys.stdin.buffer
        return
    path = expanded(file)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error})") from error
    with stream:
        yield stream
