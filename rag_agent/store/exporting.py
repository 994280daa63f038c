"""Documents out of the store as they were put into it, one after the other."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rag_agent.store import roots
from rag_agent.store.connection import Database
from rag_agent.types import Coverage, Document, Link, Root, Source

_COLUMNS = (
    "id, root_id, path, kind, language, title, tags, day, metadata, links, pages, warnings, "
    "coverage, converted, size, mtime_ns, sha256, description"
)


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document as it was put, but for its text, which its chunks hold.

    ``description`` is what of it is embedded with each chunk.
    """

    id: int
    root: Root
    document: Document
    source: Source
    description: str


def next_document(database: Database, after: int) -> WholeDocument | None:
    """The document with the lowest id above ``after``, None behind the last."""
    with database.snapshot():
        rows = database.rows(
            f"SELECT {_COLUMNS} FROM documents WHERE id > ? ORDER BY id LIMIT 1", (after,)
        )
        known = {root.id: root for root in roots.all_roots(database)}
    if not rows:
        return None
    identifier, root_id, path, kind, language, title, tags, day, *rest = rows[0]
    metadata, links, pages, warnings, coverage, converted, size, mtime_ns, sha256, description = (
        rest
    )
    document = Document(
        path=path,
        kind=kind,
        text="",
        language=language,
        title=title,
        tags=tuple(json.loads(tags)),
        date=day,
        metadata=json.loads(metadata),
        links=tuple(Link(target, line, wiki) for target, line, wiki in json.loads(links)),
        pages=tuple(json.loads(pages)),
        converted=bool(converted),
        warnings=tuple(json.loads(warnings)),
        coverage=Coverage(*json.loads(coverage)) if coverage else None,
    )
    source = Source(size, mtime_ns, sha256)
    return WholeDocument(identifier, known[root_id], document, source, description)


def vectors_of(database: Database, model_id: int, document_id: int) -> dict[int, bytes]:
    """The vector of each of a document's chunks that has one, by the chunk's id."""
    return dict(
        database.rows(
            "SELECT v.chunk_id, v.embedding FROM document_chunks AS c "
            "JOIN vectors AS v ON v.chunk_id = c.id "
            "WHERE c.document_id = ? AND v.model_id = ?",
            (document_id, model_id),
        )
    )


def unembedded_of(database: Database, document_id: int) -> set[int]:
    """Ids of a document's chunks that are found by words only."""
    rows = database.rows(
        "SELECT id FROM document_chunks WHERE document_id = ? AND embedded = 0", (document_id,)
    )
    return {row[0] for row in rows}


def card_of(database: Database, model_id: int, document_id: int) -> tuple[bytes, bytes] | None:
    """(digest, vector) of a document's card, None when it has none of this model."""
    rows = database.rows(
        "SELECT d.card_digest, k.embedding FROM documents AS d "
        "JOIN cards AS k ON k.document_id = d.id WHERE d.id = ? AND k.model_id = ?",
        (document_id, model_id),
    )
    return (rows[0][0], rows[0][1]) if rows else None


def dim_of(database: Database, model_id: int) -> int:
    """How long the vectors of a model are."""
    return int(database.value("SELECT dim FROM models WHERE id = ?", (model_id,)))
