"""The format: one JSON object a line, what each kind of line holds, and lines grouped by document.

First a header, then each document followed by its chunks in order, then what was not indexed, then
an end that counts. Vectors are float32, little-endian, in base64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rag_agent.errors import StoreError
from rag_agent.types import DefinitionKind, Kind

VERSION = 1
"""Raise it when a reader of the version before would take something wrongly."""

_LONGEST = 64 * 1024**2  # bytes of a line; that of a book's chunk has some 5,000

Problem = Callable[[str], None]
"""Takes a sentence about a line that could not be used."""


Path = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]


class _Line(BaseModel):
    """What this version does not know is passed over, so that fields can be added."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class HeaderLine(_Line):
    """Whose index it was. ``pipeline`` names what cut the text, ``roots`` what it followed.

    ``model`` and ``dim`` are of the vectors, None when they were not asked for or there are none.
    """

    type: Literal["header"] = "header"
    format: Literal["rag_agent"] = "rag_agent"
    version: int = VERSION
    written_by: str
    pipeline: str
    model: str | None = None
    dim: int | None = None
    roots: tuple[str, ...]


class CardLine(_Line):
    """The vector of a file as a whole; ``digest`` names what it was made of."""

    digest: str
    vector: str


class CoverageLine(_Line):
    """Of how many pages there is text, as ``types.Coverage``."""

    text: int = 0
    ocr: int = 0
    without: int = 0
    engine: str = ""


class DocumentLine(_Line):
    """One file; ``root`` counts those of the header from 0, ``chunks`` the lines that follow.

    ``description`` is what of it is embedded with each chunk.
    """

    type: Literal["document"] = "document"
    root: int = Field(ge=0)
    path: Path
    sha256: str
    size: int
    kind: Kind
    language: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    metadata: dict[str, str] = {}
    links: tuple[tuple[str, int, bool], ...] = ()
    pages: tuple[int, ...] = ()
    converted: bool = False
    warnings: tuple[str, ...] = ()
    coverage: CoverageLine | None = None
    description: str = ""
    card: CardLine | None = None
    chunks: int = Field(ge=0)


class ChunkLine(_Line):
    """Consecutive lines of a document, with names that they define and passages inside them.

    Without ``embedded`` it is found by words only, and has no vector.

    A passage is (first line, last line, where it begins in the text, its length, and its own text
    where that is no slice of the chunk's).
    """

    type: Literal["chunk"] = "chunk"
    root: int = Field(ge=0)
    path: Path
    start: int = Field(ge=1)
    end: int = Field(ge=1)
    heading: str = ""
    text: str
    definitions: tuple[tuple[str, DefinitionKind, int, int], ...] = ()
    passages: tuple[tuple[int, int, int, int, str | None], ...] = ()
    embedded: bool = True
    vector: str | None = None


class SkippedLine(_Line):
    """A file that was seen and not indexed."""

    type: Literal["skipped"] = "skipped"
    root: int = Field(ge=0)
    path: Path
    reason: str
    detail: str = ""


class EndLine(_Line):
    """How much there was: a file without it is not whole. ``unembedded`` chunks get no vector."""

    type: Literal["end"] = "end"
    documents: int
    chunks: int
    vectors: int
    unembedded: int = 0
    skipped: int = 0


AnyLine = Annotated[
    HeaderLine | DocumentLine | ChunkLine | SkippedLine | EndLine, Field(discriminator="type")
]
_ANY: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


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
        header = _ANY.validate_json(first)
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
                f"line {line}: {known.path} is left out: {len(chunks):,} of its "
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
            left_out = f"; {document[1].path} is left out" if document and not spoiled else ""
            problem(f"line {number}: {_what(error)}{left_out}")
            spoiled = True
            continue
        if isinstance(line, ChunkLine):
            if document and (line.root, line.path) == (document[1].root, document[1].path):
                chunks.append(line)
            elif not spoiled:
                problem(f"line {number}: a chunk of {line.path} without its document before it")
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


def _what(error: ValidationError) -> str:
    """The first thing that is wrong, in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
