"""Lines of JSON → documents with their chunks, one at a time; what cannot be read is told."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from rag_agent.errors import StoreError
from rag_agent.exchange.lines import (
    VERSION,
    AnyLine,
    ChunkLine,
    DocumentLine,
    EndLine,
    HeaderLine,
)

_LONGEST = 64 * 1024**2  # bytes of a line; that of a book's chunk has some 5,000
_LONGEST_REASON = 300  # characters; the reason may repeat what stands in the line
_ANY: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)

Problem = Callable[[str], None]
"""Takes a sentence about a line that could not be used."""


@dataclass(frozen=True, slots=True)
class Group:
    """A document with all of its chunks. ``line`` is that of the document, from 1."""

    line: int
    document: DocumentLine
    chunks: tuple[ChunkLine, ...]


@dataclass(frozen=True, slots=True)
class Export:
    """A header that was read, and what follows it, which is read as it is asked for."""

    header: HeaderLine
    groups: Iterator[Group]


def read_export(lines: Iterable[bytes | str], problem: Problem) -> Export:
    """Read the header; the groups then come one document at a time.

    A line that cannot be read is told to ``problem`` with its number, and its document is left out
    as a whole.

    Raises:
        StoreError: the first line is no header, or one of a newer version.
    """
    numbered = enumerate(lines, start=1)
    _, first = next(numbered, (1, b""))
    try:
        header = _ANY.validate_json(_without_mark(first))
    except ValidationError as error:
        raise StoreError(f"not an export of rag-agent: line 1: {_what(error)}") from error
    if not isinstance(header, HeaderLine):
        raise StoreError(f"not an export of rag-agent: line 1 is of type {header.type}, no header")
    if header.version > VERSION:
        raise StoreError(
            f"the export is of version {header.version} and was written by rag-agent "
            f"{header.written_by}; this one knows {VERSION}: install that version or a newer one"
        )
    return Export(header, _groups(numbered, problem))


def _groups(numbered: Iterator[tuple[int, bytes | str]], problem: Problem) -> Iterator[Group]:
    document: tuple[int, DocumentLine] | None = None
    chunks: list[ChunkLine] = []
    spoiled = ended = False
    documents = 0

    def finished() -> Iterator[Group]:
        if document is None or spoiled:
            return
        line, known = document
        if len(chunks) == known.chunks:
            yield Group(line, known, tuple(chunks))
        else:
            problem(
                f"line {line}: {_short(known.path)} is left out: {len(chunks):,} of its "
                f"{known.chunks:,} chunks are there"
            )

    for number, data in numbered:
        if not data.strip():
            continue
        try:
            line = _ANY.validate_json(data)
        except ValidationError as error:
            if document and len(chunks) == document[1].chunks:
                yield from finished()  # what is broken is another's
                document = None
            left_out = (
                f"; {_short(document[1].path)} is left out" if document and not spoiled else ""
            )
            problem(f"line {number}: {_what(error)}{left_out}")
            spoiled = True
            continue
        if isinstance(line, ChunkLine):
            if document and (line.root, line.path) == (document[1].root, document[1].path):
                if chunks and line.start < chunks[-1].end and not spoiled:
                    problem(
                        f"line {number}: a chunk of {_short(line.path)} before the end of the "
                        f"one above; {_short(line.path)} is left out"
                    )
                    spoiled = True
                chunks.append(line)
            elif not spoiled:
                problem(
                    f"line {number}: a chunk of {_short(line.path)} without its document before it"
                )
            continue
        yield from finished()
        document, chunks, spoiled = None, [], False
        if isinstance(line, DocumentLine):
            document = number, line
            documents += 1
        elif isinstance(line, HeaderLine):
            problem(f"line {number}: a second header is passed over")
        ended = isinstance(line, EndLine)
        if isinstance(line, EndLine) and line.documents != documents:
            problem(f"line {number}: {documents:,} of {line.documents:,} documents are there")
    yield from finished()
    if not ended:
        problem("the file ends early: its last line, which counts what there is, is missing")


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream; of one that is too long to be sound only the beginning."""
    while line := stream.readline(_LONGEST):
        yield line
        while len(line) == _LONGEST and not line.endswith(b"\n"):
            line = stream.readline(_LONGEST)


def _without_mark(first: bytes | str) -> bytes | str:
    """The first line without what some programs of Windows put before it.

    Raises:
        StoreError: the mark is that of UTF-16.
    """
    if isinstance(first, str):
        return first.removeprefix("\ufeff")
    if first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise StoreError(
            "not an export of rag-agent: it was saved as UTF-16, which can have changed its text; "
            "name a file instead of redirecting: `rag-agent export FILE`"
        )
    return first.removeprefix(BOM_UTF8)


def _what(error: ValidationError) -> str:
    """The first thing that is wrong, in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    told = str(first["msg"]).removeprefix("Value error, ")  # what pydantic makes of our own
    return _short(f"{place}: {told}" if place else told)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
