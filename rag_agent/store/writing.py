"""Documents into the store and out of it, each change one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import PurePosixPath

from rag_agent.errors import StoreError
from rag_agent.store import links
from rag_agent.store.beside import folder_words, path_words
from rag_agent.store.cards import digest_of, forget_outdated
from rag_agent.store.connection import Database
from rag_agent.store.details import details
from rag_agent.store.folding import fold, iso_day, tag_form
from rag_agent.store.migrations import TRIGGERS
from rag_agent.tokens import words
from rag_agent.types import Chunk, Document, Root, Skipped, Source
from rag_agent.utf8 import encodable


def put(
    database: Database, root: Root, document: Document, source: Source, chunks: Sequence[Chunk]
) -> int:
    """Replace a document by what it is now; returns its id.

    A chunk whose embedded text (path, title, heading, text, and what the document says of itself)
    is as before keeps its id and with it its vectors.
    """
    prepared = _Prepared(document, chunks)
    known = details(document.title, iso_day(document.date), document.metadata)
    card = digest_of(document, chunks, str(known["author"]), known["year"])
    with database.transaction():
        identifier = _put_document(database, root, document, source, prepared, known)
        links.put(database, identifier, document.links)
        forget_outdated(database, identifier, card)
        ids = _put_chunks(database, identifier, document, chunks, str(known["description"]))
        _put_passages(database, ids, prepared)
        _put_definitions(database, ids, chunks)
        database.rows(
            "DELETE FROM skipped WHERE root_id = ? AND path = ?", (root.id, document.path)
        )
    return identifier


class _Prepared:
    """The words of a document's passages, found before the transaction begins."""

    def __init__(self, document: Document, chunks: Sequence[Chunk]) -> None:
        path = PurePosixPath(document.path)
        # An alias is a name as good as the file's; what gives it is text of the first passage.
        aliases = [word for alias in document.aliases for word in words(alias)]
        folders = folder_words(path.parent.parts)
        self.path_words = (" ".join([*words(path.name), *aliases]), " ".join(folders))
        stem, near = map(" ".join, path_words(document.path))
        self.passages: list[list[tuple[int, int, int, int, str | None]]] = []
        self.fts: list[list[tuple[str, str, str, str]]] = []
        self.words = 0
        for chunk in chunks:
            heading = words(chunk.heading)
            places = []
            rows: list[tuple[str, str, str, str]] = []
            cursor = 0
            for passage in chunk.passages:
                begin = chunk.text.find(passage.text, cursor)
                own_text = passage.text if begin < 0 else None
                cursor = max(cursor, begin)
                text_words = words(passage.text)
                self.words += len(text_words)
                names = [
                    word
                    for definition in chunk.definitions
                    if passage.start <= definition.start <= passage.end
                    for word in words(definition.name)
                ]
                places.append(
                    (passage.start, passage.end, max(begin, 0), len(passage.text), own_text)
                )
                rows.append((" ".join(text_words), stem, near, " ".join(names + heading)))
            self.passages.append(places)
            self.fts.append(rows)

    @property
    def count(self) -> int:
        return sum(len(places) for places in self.passages)


def _put_document(
    database: Database,
    root: Root,
    document: Document,
    source: Source,
    prepared: _Prepared,
    known: Mapping[str, object],
) -> int:
    columns = {
        "root_id": root.id,
        "path": _strict(document.path),
        "folded": fold(document.path),
        "name": links.name_of(document.path),
        "kind": document.kind,
        "language": document.language,
        "title": encodable(document.title),
        "tags": _json([*dict.fromkeys(map(tag_form, document.tags))]),
        "day": iso_day(document.date),
        "metadata": _json(dict(document.metadata)),
        "links": _json([[link.target, link.line, link.wiki] for link in document.links]),
        "pages": _json(list(document.pages)),
        "warnings": _json(list(document.warnings)),
        "coverage": _json(astuple(document.coverage)) if document.coverage else "",
        "converted": document.converted,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "sha256": source.sha256,
        "chunks": len(prepared.passages),
        "passages": prepared.count,
        "words": prepared.words,
        **known,
    }
    present = database.value(
        "SELECT id FROM documents WHERE root_id = ? AND path = ?", (root.id, document.path)
    )
    if present is not None:
        assignments = ", ".join(f"{name} = ?" for name in columns)
        database.rows(
            f"UPDATE documents SET {assignments} WHERE id = ?", (*columns.values(), present)
        )
        database.rows("DELETE FROM paths_fts WHERE rowid = ?", (present,))
        identifier = int(present)
    else:
        places = ", ".join("?" for _ in columns)
        database.rows(
            f"INSERT INTO documents ({', '.join(columns)}) VALUES ({places})",
            tuple(columns.values()),
        )
        identifier = int(database.value("SELECT last_insert_rowid()"))
    database.rows(
        "INSERT INTO paths_fts (rowid, name, folders) VALUES (?, ?, ?)",
        (identifier, *prepared.path_words),
    )
    return identifier


def _put_chunks(
    database: Database,
    document_id: int,
    document: Document,
    chunks: Sequence[Chunk],
    description: str,
) -> list[int]:
    """Ids of the chunks, in order."""
    free: dict[bytes, list[int]] = {}
    rows = database.rows(
        "SELECT id, hash FROM document_chunks WHERE document_id = ? ORDER BY position DESC",
        (document_id,),
    )
    for identifier, digest in rows:
        free.setdefault(digest, []).append(identifier)
    # Passages and definitions are made anew: cheap, and their lines may have moved.
    for table in ("passages", "definitions"):
        database.many(
            f"DELETE FROM {table} WHERE chunk_id = ?", [(identifier,) for identifier, _ in rows]
        )
    fresh = next_id(database, "document_chunks")
    ids, moved, added = [], [], []
    for position, chunk in enumerate(chunks):
        digest = _embedded_hash(document, chunk, description)
        place = (position, chunk.start, chunk.end)
        if free.get(digest):
            ids.append(free[digest].pop())
            moved.append((*place, ids[-1]))
        else:
            ids.append(fresh)
            heading, text = encodable(chunk.heading), encodable(chunk.text)
            added.append((fresh, document_id, *place, heading, text, digest, chunk.embedded))
            fresh += 1
    gone = [(identifier,) for left in free.values() for identifier in left]
    database.many("DELETE FROM document_chunks WHERE id = ?", gone)
    database.many(
        "UPDATE document_chunks SET position = ?, start_line = ?, end_line = ? WHERE id = ?", moved
    )
    database.many("INSERT INTO document_chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", added)
    return ids


def _put_passages(database: Database, ids: Sequence[int], prepared: _Prepared) -> None:
    fresh = next_id(database, "passages")
    places, rows = [], []
    for chunk_id, chunk_places, chunk_rows in zip(
        ids, prepared.passages, prepared.fts, strict=True
    ):
        for (*place, own_text), columns in zip(chunk_places, chunk_rows, strict=True):
            kept = None if own_text is None else encodable(own_text)
            places.append((fresh, chunk_id, *place, kept))
            rows.append((fresh, *columns))
            fresh += 1
    database.many("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?)", places)
    database.many(
        "INSERT INTO passages_fts (rowid, text, stem, folders, names) VALUES (?, ?, ?, ?, ?)", rows
    )


def _put_definitions(database: Database, ids: Sequence[int], chunks: Sequence[Chunk]) -> None:
    database.many(
        "INSERT INTO definitions (chunk_id, name, folded, kind, start_line, end_line) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                chunk_id,
                encodable(definition.name),
                fold(definition.name),
                definition.kind,
                definition.start,
                definition.end,
            )
            for chunk_id, chunk in zip(ids, chunks, strict=True)
            for definition in chunk.definitions
        ],
    )


def touch(database: Database, document_id: int, source: Source) -> None:
    """Note that the bytes were looked at again and are the same."""
    with database.transaction():
        database.rows(
            "UPDATE documents SET size = ?, mtime_ns = ?, sha256 = ? WHERE id = ?",
            (source.size, source.mtime_ns, source.sha256, document_id),
        )


def note_times(database: Database, sources: Mapping[int, Source]) -> None:
    """As ``Store.note_times``."""
    with database.transaction():
        database.many(
            "UPDATE documents SET size = ?, mtime_ns = ? WHERE id = ? AND sha256 = ?",
            [(one.size, one.mtime_ns, document, one.sha256) for document, one in sources.items()],
        )


def forget(database: Database, document_ids: Sequence[int]) -> None:
    """Remove documents with all that hangs on them; unknown ids are ignored."""
    with database.transaction():
        database.many(
            "DELETE FROM documents WHERE id = ?", [(identifier,) for identifier in document_ids]
        )


def clear(database: Database) -> None:
    """Remove all documents and vectors; roots and meta stay. The file shrinks."""
    with database.transaction():
        # Row by row the triggers would take minutes on a large index.
        for name in TRIGGERS:
            database.rows(f"DROP TRIGGER {name}")
        for table in ("passages_fts", "paths_fts"):
            database.rows(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        # Children before parents, so that no cascade finds anything.
        for table in (
            "common_words",
            "skipped",
            "link_names",
            "vectors",
            "cards",
            "definitions",
            "passages",
            "document_chunks",
            "documents",
            "history_repositories",  # whose commits go with them
        ):
            database.rows(f"DELETE FROM {table}")
        for statement in TRIGGERS.values():
            database.rows(statement)


def set_skipped(
    database: Database, root: Root, skipped: Sequence[Skipped], under: str = ""
) -> None:
    """Replace what is known as skipped at and below ``under`` ("" is the whole root)."""
    condition, bindings = below("path", under)
    with database.transaction():
        database.rows(
            f"DELETE FROM skipped WHERE root_id = ? AND {condition}", (root.id, *bindings)
        )
        database.many(
            "INSERT OR REPLACE INTO skipped VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    root.id,
                    encodable(item.path),
                    item.reason,
                    encodable(item.detail),
                    item.size,
                    item.mtime_ns,
                )
                for item in skipped
            ],
        )


def below(column: str, under: str) -> tuple[str, tuple[str, ...]]:
    """Condition for a path that is ``under`` itself or lies below it."""
    if not under:
        return "TRUE", ()
    under = under.rstrip("/")
    # "0" follows "/" in ASCII: a range that an index can answer.
    return f"({column} = ? OR ({column} > ? AND {column} < ?))", (under, f"{under}/", f"{under}0")


def next_id(database: Database, table: str) -> int:
    """The id after the highest that this table ever had."""
    return int(database.value("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)) or 0) + 1


def _embedded_hash(document: Document, chunk: Chunk, description: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    parts = [document.path, document.title, chunk.heading, chunk.text]
    if description or document.tags:
        parts += [description, *document.tags]
    for part in parts:
        data = part.encode("utf-8", "backslashreplace")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    if not chunk.embedded:  # one that is embedded from now on is another chunk
        digest.update(b"words only")
    return digest.digest()


def _json(value: object) -> str:
    # ASCII, so that a lone surrogate from a broken file is an escape and not an encoding error.
    return json.dumps(value)


def _strict(path: str) -> str:
    """A path must come out as it went in, or the file would look new on each sync."""
    if encodable(path) != path:
        raise StoreError(f"{path!r}: the name is not valid UTF-8 and cannot be stored; rename it")
    return path
