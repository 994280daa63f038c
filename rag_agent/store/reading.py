"""Documents, chunks and what was left out, read from the tables into nouns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rag_agent.store import filters, roots
from rag_agent.store.connection import Database
from rag_agent.store.records import (
    DOCUMENT_COLUMNS,
    StoredChunk,
    group_definitions,
    group_passages,
    stored_document,
)
from rag_agent.types import Chunk, Passage, Root, Skipped, StoredDocument


def documents(
    database: Database, condition: str, bindings: Sequence[object]
) -> list[StoredDocument]:
    """Documents ``d`` for which a condition of SQL holds, in the order of their paths."""
    known = {root.id: root for root in roots.all_roots(database)}
    rows = database.rows(
        f"SELECT {DOCUMENT_COLUMNS} FROM documents AS d WHERE {condition} "
        "ORDER BY d.root_id, d.path",
        bindings,
    )
    return [stored_document(row, known) for row in rows]


def find(database: Database, pattern: str) -> list[StoredDocument]:
    """As ``Store.find``."""
    wanted = filters.glob(pattern.replace("\\", "/"))
    if "*" not in wanted and "?" not in wanted:
        wanted = f"*{wanted}*"
    # As in .gitignore, a name without a folder is one in any folder.
    below = wanted if "/" in wanted else f"*/{wanted}"
    roots.define_functions(database)
    return documents(
        database,
        "shown_path(d.root_id, d.folded) GLOB ?1 OR d.folded GLOB ?1 OR d.folded GLOB ?2",
        (wanted, below),
    )


def chunks(
    database: Database, condition: str, bindings: Sequence[object], *, whole: bool = False
) -> list[StoredChunk]:
    """Chunks ``c`` for which a condition of SQL holds, document by document, in their order.

    With their passages if ``whole``: a search looks at some 170 chunks, and only counts these.
    """
    with database.snapshot():
        shown = roots.Shown(database)
        rows = database.rows(
            "SELECT c.id, c.start_line, c.end_line, c.heading, c.text, "
            f"{DOCUMENT_COLUMNS} FROM document_chunks AS c "
            "JOIN documents AS d ON d.id = c.document_id "
            f"WHERE {condition} ORDER BY c.document_id, c.position",
            bindings,
        )
        ids = (json.dumps([row[0] for row in rows]),)
        definitions = group_definitions(
            database.rows(
                "SELECT chunk_id, name, kind, start_line, end_line FROM definitions "
                "WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id, id",
                ids,
            )
        )
        passages: dict[int, list[Passage]] = {}
        if whole:
            passages = group_passages(
                database.rows(
                    "SELECT chunk_id, start_line, end_line, begin, length, own_text FROM passages "
                    "WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id, id",
                    ids,
                ),
                {row[0]: row[4] for row in rows},
            )
        counted: dict[int, int] = dict(
            database.rows(
                "SELECT chunk_id, count(*) FROM passages "
                "WHERE chunk_id IN (SELECT value FROM json_each(?)) GROUP BY chunk_id",
                ids,
            )
        )
    known = shown.roots
    by_id = {row[5]: row[5:] for row in rows}  # chunks of one document share it
    documents = {document: stored_document(columns, known) for document, columns in by_id.items()}
    paths = {d: shown.path(document.root.id, document.path) for d, document in documents.items()}
    return [
        StoredChunk(
            id=identifier,
            document=(document := documents[document_id]),
            chunk=Chunk(
                path=document.path,
                start=start,
                end=end,
                text=text,
                heading=heading,
                definitions=tuple(definitions.get(identifier, ())),
                passages=tuple(passages.get(identifier, ())),
            ),
            shown_path=paths[document_id],
            passages=counted.get(identifier, 0),
        )
        for identifier, start, end, heading, text, document_id, *_ in rows
    ]


def skipped(database: Database, root: Root | None) -> list[Skipped]:
    """As ``Store.skipped``."""
    rows = database.rows(
        "SELECT root_id, path, reason, detail, size, mtime_ns FROM skipped ORDER BY path"
    )
    if root is not None:
        return [Skipped(*row[1:]) for row in rows if row[0] == root.id]
    shown = roots.Shown(database)
    return [Skipped(shown.path(row[0], row[1]), *row[2:]) for row in rows]


def warnings(database: Database) -> list[str]:
    """As ``Store.warnings``."""
    shown = roots.Shown(database)
    rows = database.rows(
        "SELECT d.root_id, d.path, w.value FROM documents AS d, json_each(d.warnings) AS w "
        "WHERE d.warnings != '[]' ORDER BY d.root_id, d.path"
    )
    return [f"{shown.path(root_id, path)}: {warning}" for root_id, path, warning in rows]
