"""Documents, chunks and what was left out, read from the tables into nouns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rag_agent.store import fields, filters, roots
from rag_agent.store.connection import Database
from rag_agent.store.glance import GlancedChunk, GlancedDefinition
from rag_agent.store.records import (
    DOCUMENT_COLUMNS,
    Outline,
    ShownDocument,
    StoredChunk,
    group_definitions,
    group_passages,
    stored_document,
)
from rag_agent.types import Chunk, Coverage, Passage, Root, Skipped, StoredDocument


def documents(
    database: Database, condition: str, bindings: Sequence[object], limit: int = -1
) -> list[StoredDocument]:
    """Documents ``d`` for which a condition of SQL holds, in the order of their paths.

    Only the first so many if ``limit`` is not -1.
    """
    with database.snapshot():
        known = {root.id: root for root in roots.all_roots(database)}
        rows = database.rows(
            f"SELECT {DOCUMENT_COLUMNS} FROM documents AS d WHERE {condition} "
            "ORDER BY d.root_id, d.path LIMIT ?",
            (*bindings, limit),
        )
    return [stored_document(row, known) for row in rows]


def tagged(database: Database, root: Root, tags: Sequence[str]) -> set[int]:
    """As ``Store.tagged``."""
    if not tags:
        return set()
    rows = database.rows(
        "SELECT d.id, w.value FROM documents AS d, json_each(d.tags) AS w "
        "WHERE d.root_id = ? AND d.tags != '[]'",
        (root.id,),
    )
    return {
        identifier
        for identifier, tag in rows
        if any(fields.has_tag(tag, wanted) for wanted in tags)
    }


File = tuple[str, int, int, StoredDocument]
"""Absolute path, bytes and time (ns) of a file as it was indexed, and its document."""


def files(database: Database, most: int) -> list[File]:
    """As ``Store.files``."""
    if database.value("SELECT count(*) FROM documents") > most:
        return []
    shown = roots.Shown(database)
    return [
        (shown.absolute(one.root.id, one.path), one.source.size, one.source.mtime_ns, one)
        for one in documents(database, "TRUE", ())
    ]


def find(database: Database, pattern: str) -> list[StoredDocument]:
    """As ``Store.find``."""
    wanted = fields.glob(pattern.replace("\\", "/"))
    if "*" not in wanted and "?" not in wanted:
        wanted = f"*{wanted}*"
    # As in .gitignore, a name without a folder is one in any folder.
    below = wanted if "/" in wanted else f"*/{wanted}"
    with database.snapshot():
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


_OUTLINES = 20_000  # chunks that are remembered, at some 2 KB each
_DOCUMENTS = 10_000  # with what their paths say some 5 KB each


def texts(database: Database, chunk_ids: Sequence[int]) -> dict[int, str]:
    """As ``Store.texts``."""
    return dict(
        database.rows(
            "SELECT c.id, c.text FROM json_each(?) AS w "
            "CROSS JOIN document_chunks AS c ON c.id = w.value",
            (json.dumps([int(identifier) for identifier in chunk_ids]),),
        )
    )


def outlines(database: Database, chunk_ids: Sequence[int]) -> dict[int, Outline]:
    """As ``Store.outlines``."""
    known = database.recalled(
        "outlines", chunk_ids, _OUTLINES, lambda missing: _outlined(database, missing).items()
    )
    return {identifier: known[identifier] for identifier in chunk_ids if identifier in known}


def first_chunks(
    database: Database, document_ids: Sequence[int], most: int, where: filters.Filter | None = None
) -> list[int]:
    """As ``Store.first_chunks``."""
    if not document_ids:
        return []
    condition, bindings = roots.condition(database, where, chunks=True)
    ids = json.dumps([int(identifier) for identifier in document_ids])
    rows = database.rows(
        "SELECT id FROM (SELECT c.id, row_number() OVER ("
        "    PARTITION BY c.document_id ORDER BY c.position) AS number "
        "FROM json_each(?) AS w CROSS JOIN documents AS d ON d.id = w.value "
        "CROSS JOIN document_chunks AS c ON c.document_id = d.id "
        f"WHERE TRUE{condition}) WHERE number <= ?"
        if condition
        else "SELECT c.id FROM json_each(?) AS w CROSS JOIN document_chunks AS c "
        "ON c.document_id = w.value AND c.position < ?",
        (ids, *bindings, most),
    )
    return [identifier for (identifier,) in rows]


def chunks_at(
    database: Database, places: Sequence[tuple[int, int]], where: filters.Filter | None = None
) -> list[int]:
    """As ``Store.chunks_at``."""
    if not places:
        return []
    condition, bindings = roots.condition(database, where, chunks=True)
    rows = database.rows(
        "SELECT c.id FROM json_each(?) AS w "
        "CROSS JOIN documents AS d ON d.id = json_extract(w.value, '$[0]') "
        "CROSS JOIN document_chunks AS c ON c.document_id = d.id "
        "AND json_extract(w.value, '$[1]') BETWEEN c.start_line AND c.end_line "
        f"WHERE TRUE{condition}",
        (json.dumps(places), *bindings),
    )
    return [identifier for (identifier,) in rows]


def shown(database: Database, document_ids: Sequence[int]) -> dict[int, ShownDocument]:
    """As ``Store.shown``."""
    known = database.recalled(
        "documents", document_ids, _DOCUMENTS, lambda missing: _shown(database, missing)
    )
    return {identifier: known[identifier] for identifier in document_ids if identifier in known}


def _shown(database: Database, document_ids: Sequence[int]) -> Iterator[tuple[int, ShownDocument]]:
    paths = roots.Shown(database)
    own = paths.roots
    for row in database.rows(
        f"SELECT {DOCUMENT_COLUMNS} FROM json_each(?) AS w "
        "CROSS JOIN documents AS d ON d.id = w.value",
        (json.dumps(document_ids),),
    ):
        document = stored_document(row, own)
        path = paths.path(document.root.id, document.path)
        yield document.id, ShownDocument(document, path)


def _outlined(database: Database, chunk_ids: Sequence[int]) -> dict[int, Outline]:
    ids = (json.dumps(chunk_ids),)
    rows = database.rows(
        "SELECT c.document_id, c.id, c.start_line, c.end_line, c.heading, "
        "       (SELECT count(*) FROM passages WHERE chunk_id = c.id) "
        "FROM json_each(?) AS w CROSS JOIN document_chunks AS c ON c.id = w.value",
        ids,
    )
    documents = shown(database, [row[0] for row in rows])
    found = {}
    for document_id, identifier, start, end, heading, passages in rows:
        chunk = GlancedChunk(identifier, start, end, heading, "", passages)
        own = documents[document_id]
        found[identifier] = Outline(identifier, chunk, own.document, own.shown_path)
    for identifier, *definition in database.rows(
        "SELECT n.chunk_id, n.name, n.kind, n.start_line, n.end_line "
        "FROM json_each(?) AS w CROSS JOIN definitions AS n ON n.chunk_id = w.value ORDER BY n.id",
        ids,
    ):
        found[identifier].chunk.definitions.append(GlancedDefinition(*definition))
    return found


def skipped(database: Database, root: Root | None) -> list[Skipped]:
    """As ``Store.skipped``."""
    with database.snapshot():
        rows = database.rows(
            "SELECT root_id, path, reason, detail, size, mtime_ns FROM skipped ORDER BY path"
        )
        if root is not None:
            return [Skipped(*row[1:]) for row in rows if row[0] == root.id]
        shown = roots.Shown(database)
    return [Skipped(shown.path(row[0], row[1]), *row[2:]) for row in rows]


def folders(database: Database, root: Root) -> dict[str, tuple[set[str], set[str]]]:
    """As ``Store.folders``."""
    return database.remembered(f"folders {root.id}", lambda: _folders(database, root))


def _folders(database: Database, root: Root) -> dict[str, tuple[set[str], set[str]]]:
    found: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
    for place, table in enumerate(("documents", "skipped")):
        rows = database.rows(f"SELECT path FROM {table} WHERE root_id = ?", (root.id,))
        for (path,) in rows:
            folder, _, name = path.rstrip("/").rpartition("/")
            if folder not in found:
                above = folder
                while above and above not in found:
                    found[above] = (set(), set())
                    above = above.rpartition("/")[0]
            found[folder][place].add(name)
    return found


def page_coverage(
    database: Database, condition: str = "TRUE", bindings: Sequence[object] = ()
) -> list[tuple[int, str, Coverage]]:
    """(root id, path, coverage) of documents whose pages may be pictures, by their paths."""
    rows = database.rows(
        "SELECT root_id, path, coverage FROM documents "
        f"WHERE coverage != '' AND ({condition}) ORDER BY root_id, path",
        bindings,
    )
    return [(root_id, path, Coverage(*json.loads(counts))) for root_id, path, counts in rows]


def warnings(database: Database) -> list[str]:
    """As ``Store.warnings``."""
    with database.snapshot():
        shown = roots.Shown(database)
        rows = database.rows(
            "SELECT d.root_id, d.path, w.value FROM documents AS d, json_each(d.warnings) AS w "
            "WHERE d.warnings != '[]' ORDER BY d.root_id, d.path"
        )
    return [f"{shown.path(root_id, path)}: {warning}" for root_id, path, warning in rows]
