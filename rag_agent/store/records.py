"""What the store hands out beside the nouns of ``types``, and rows turned into nouns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rag_agent.types import Chunk, Definition, Kind, Passage, Root, Source, StoredDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.store.glance import GlancedChunk

Row = tuple[Any, ...]

# Columns of a StoredDocument, in the order that `stored_document` reads.
DOCUMENT_COLUMNS = (
    "d.id, d.root_id, d.path, d.kind, d.language, d.title, d.size, d.mtime_ns, d.sha256, "
    "d.chunks, d.converted"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """A chunk without a vector of some model. Its embedded text is made of the others."""

    id: int
    path: str
    title: str
    heading: str
    text: str
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingCard:
    """A document without a card of some model, and what a card is made of.

    ``text`` is the document's first chunk, ``names`` are the first that it defines, as written, or
    without any its headings. ``digest`` names the state of the document that this was read from.
    """

    document_id: int
    digest: bytes
    path: str
    kind: Kind
    title: str
    text: str
    names: tuple[str, ...]
    author: str = ""
    year: int | None = None


@dataclass(frozen=True, slots=True)
class CountedPassages:
    """Passages, best first: the chunk of each, how often it has words, how many it has in all.

    ``counts`` of shape (passages, words) are in the order of the words that were asked for,
    ``lengths`` of shape (passages,).
    """

    chunk_ids: Sequence[int]
    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its document; ``shown_path`` is the path people and models see.

    ``passages`` counts the chunk's; only ``Store.chunks_of`` reads them themselves.
    """

    id: int
    document: StoredDocument
    chunk: Chunk
    shown_path: str
    passages: int = 0


class ShownDocument:
    """A document under the path that people and models see.

    ``facts`` is what a search made of its path and kind, None until one did.
    """

    __slots__ = ("document", "facts", "shown_path")

    def __init__(self, document: StoredDocument, shown_path: str) -> None:
        self.document = document
        self.shown_path = shown_path
        self.facts: Any = None


class Outline:
    """A chunk without its text: what a search knows of the hundreds that it compares.

    ``passages`` counts the chunk's. ``words`` is what a search made of its definitions and heading
    (``search.names``), None until one did.
    """

    __slots__ = ("chunk", "document", "id", "passages", "shown_path", "words")

    def __init__(
        self, id: int, chunk: GlancedChunk, document: StoredDocument, shown_path: str
    ) -> None:
        self.id = id
        self.chunk = chunk
        self.document = document
        self.shown_path = shown_path
        self.passages = chunk.passages
        self.words: tuple[NDArray[np.int32], NDArray[np.int8], Set[str]] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document lies, for whoever follows links.

    ``absolute`` and ``base``, the folder of its root, are absolute POSIX paths; ``name`` is the
    form of its name that links are looked up by.
    """

    id: int
    absolute: str
    base: str
    name: str
    shown: str


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit said and changed. ``paths`` are those below the root, relative to it.

    ``files`` counts all that it changed, wherever they lie.
    """

    hash: str
    message: str
    paths: tuple[str, ...]
    files: int


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository whose history is read. ``folder`` is its top relative to the root.

    That is "" for the one that the root lies in. ``state`` says what was read to the end, and
    ``problem`` why that is less than there is.
    """

    id: int
    folder: str
    state: str
    problem: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much the store holds.

    ``vectors`` and ``cards`` count by the model's id, ``languages`` and ``kinds`` count documents;
    ``bytes`` is what the index takes on the disk, files beside the database included;
    ``commits`` are those whose messages are read, ``unembedded`` the chunks that get no vector.
    """

    documents: int
    chunks: int
    passages: int
    bytes: int
    commits: int = 0
    unembedded: int = 0
    vectors: Mapping[int, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    cards: Mapping[int, int] = field(default_factory=dict)


def stored_document(row: Sequence[Any], roots: Mapping[int, Root]) -> StoredDocument:
    """Read the columns of ``DOCUMENT_COLUMNS``."""
    identifier, root_id, path, kind, language, title, size, mtime_ns, sha256, chunks, conv = row
    return StoredDocument(
        id=identifier,
        root=roots[root_id],
        path=path,
        kind=kind,
        language=language,
        title=title,
        source=Source(size, mtime_ns, sha256),
        chunks=chunks,
        converted=bool(conv),
    )


# A search reads a thousand, mostly those that the one before has read.
_definition = lru_cache(maxsize=20_000)(Definition)


def group_definitions(rows: Iterable[Row]) -> dict[int, list[Definition]]:
    """By chunk, from rows (chunk_id, name, kind, start_line, end_line)."""
    found: dict[int, list[Definition]] = {}
    for chunk_id, name, kind, start, end in rows:
        found.setdefault(chunk_id, []).append(_definition(name, kind, start, end))
    return found


def group_passages(rows: Iterable[Row], texts: Mapping[int, str]) -> dict[int, list[Passage]]:
    """By chunk, from rows (chunk_id, start_line, end_line, begin, length, own_text)."""
    found: dict[int, list[Passage]] = {}
    for chunk_id, start, end, begin, length, own_text in rows:
        passage = Passage(start, end, passage_text(texts[chunk_id], begin, length, own_text))
        found.setdefault(chunk_id, []).append(passage)
    return found


def passage_text(chunk_text: str, begin: int, length: int, own_text: str | None) -> str:
    """A passage is a slice of its chunk, but for those that were not one when they were put."""
    # Not substr() in SQL: it ends at a NUL character and counts from the beginning each time.
    return chunk_text[begin : begin + length] if own_text is None else own_text
