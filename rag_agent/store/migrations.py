"""The schema, as steps in order; a step is added, never edited once released."""

from __future__ import annotations

import json
from collections.abc import Callable

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.store.connection import Database


def apply(database: Database) -> None:
    """Bring the file to ``VERSION``; each step and the record of it are one transaction."""
    for version, step in enumerate(_STEPS, start=1):
        with database.transaction():
            # Read inside the transaction: another process may have done the step meanwhile.
            if database.value("PRAGMA user_version") >= version:
                continue
            step(database)
            database.rows(f"PRAGMA user_version = {version}")


def _first(database: Database) -> None:
    for statement in _TABLES:
        database.rows(statement)
    for statement in TRIGGERS.values():
        database.rows(statement)


# document_chunks and not chunks: pi-local-rag makes a table of that name, with triggers, in any
# rag.db it is started on; so both can live in one file.
# AUTOINCREMENT: the id of a chunk never names another text later, so a vector that arrives late
# cannot land on a chunk it was not made for; that of a vector never another vector, so a copy of
# them (matrix.py) stays right while rows come and go.
# contentless_delete: the index keeps no copy of the words, and yet single rows can be removed.
# tokenize ascii: the words arrive ready-made (tokens.words); only spaces may separate them, and
# this tokenizer takes every character beyond ASCII for a letter.
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE roots (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path TEXT NOT NULL UNIQUE,         -- relative to the store's folder where it can move along
        is_file INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        root_id INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
        path TEXT NOT NULL,
        folded TEXT NOT NULL,              -- path for comparing without regard to case
        kind TEXT NOT NULL,
        language TEXT NOT NULL,
        title TEXT NOT NULL,
        tags TEXT NOT NULL,                -- JSON list, folded
        day TEXT NOT NULL,                 -- YYYY-MM-DD of the document's own date, or ''
        metadata TEXT NOT NULL,            -- JSON
        links TEXT NOT NULL,               -- JSON list of [target, line, wiki]
        pages TEXT NOT NULL,               -- JSON list
        warnings TEXT NOT NULL,            -- JSON list
        converted INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        chunks INTEGER NOT NULL,
        passages INTEGER NOT NULL,
        words INTEGER NOT NULL,            -- in all its passages
        UNIQUE (root_id, path)
    )
    """,
    "CREATE INDEX documents_sizes ON documents (chunks, passages, words)",
    """
    CREATE TABLE document_chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        position INTEGER NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text TEXT NOT NULL,
        hash BLOB NOT NULL                 -- of what is embedded: path, title, heading, text
    )
    """,
    "CREATE INDEX chunks_of_document ON document_chunks (document_id, position)",
    """
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        begin INTEGER NOT NULL,            -- a slice of the chunk's text, in characters
        length INTEGER NOT NULL,
        own_text TEXT                      -- only where it is no slice
    )
    """,
    "CREATE INDEX passages_of_chunk ON passages (chunk_id)",
    """
    CREATE VIRTUAL TABLE passages_fts USING fts5 (
        text, stem, folders, names,
        content = '', contentless_delete = 1, tokenize = 'ascii'
    )
    """,
    "CREATE VIRTUAL TABLE passage_words USING fts5vocab (passages_fts, row)",
    "CREATE TABLE common_words (word TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID",
    """
    CREATE VIRTUAL TABLE paths_fts USING fts5 (
        name, folders,
        content = '', contentless_delete = 1, tokenize = 'ascii'
    )
    """,
    """
    CREATE TABLE definitions (
        id INTEGER PRIMARY KEY,
        chunk_id INTEGER NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
        name TEXT NOT NULL,
        folded TEXT NOT NULL,
        kind TEXT NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL
    )
    """,
    "CREATE INDEX definitions_by_name ON definitions (folded, chunk_id)",
    "CREATE INDEX definitions_of_chunk ON definitions (chunk_id)",
    """
    CREATE TABLE models (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        fingerprint TEXT NOT NULL UNIQUE,
        dim INTEGER NOT NULL
    )
    """,
    # An ordinary table and not vec0, which applies the conditions of a join after the k nearest.
    """
    CREATE TABLE vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES document_chunks ON DELETE CASCADE,
        model_id INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
        embedding BLOB NOT NULL,           -- float32, little-endian
        UNIQUE (chunk_id, model_id)
    )
    """,
    """
    CREATE TABLE skipped (
        root_id INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
        path TEXT NOT NULL,
        reason TEXT NOT NULL,
        detail TEXT NOT NULL,
        size INTEGER NOT NULL,             -- of the file whose content was the reason, else -1
        mtime_ns INTEGER NOT NULL,
        PRIMARY KEY (root_id, path)
    ) WITHOUT ROWID
    """,
)

# Rows that are removed by a cascade take their words along.
TRIGGERS = {
    "passage_removed": """
        CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
            DELETE FROM passages_fts WHERE rowid = old.id;
        END
    """,
    "document_removed": """
        CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
            DELETE FROM paths_fts WHERE rowid = old.id;
        END
    """,
}


def _history(database: Database) -> None:
    for statement in _HISTORY:
        database.rows(statement)


# What commits said and which files they changed (store/history.py). Of a message there are only
# its words, in no order, and of a path only a number: a path that is not indexed is not kept.
_HISTORY = (
    """
    CREATE TABLE history_repositories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        root_id INTEGER NOT NULL REFERENCES roots ON DELETE CASCADE,
        folder TEXT NOT NULL,              -- its top relative to the root, '' at or above the root
        state TEXT NOT NULL,               -- what was read of it to the end, or ''
        problem TEXT NOT NULL,             -- why less was read than there is, or ''
        UNIQUE (root_id, folder)
    )
    """,
    """
    CREATE TABLE history_commits (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        repository_id INTEGER NOT NULL REFERENCES history_repositories ON DELETE CASCADE,
        hash BLOB NOT NULL,
        files INTEGER NOT NULL,            -- how many it changed; 0 where it has no vote
        UNIQUE (repository_id, hash)
    )
    """,
    """
    CREATE TABLE history_changes (
        commit_id INTEGER NOT NULL REFERENCES history_commits ON DELETE CASCADE,
        file INTEGER NOT NULL,             -- a number made of root and path
        PRIMARY KEY (commit_id, file)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE history_files (
        document_id INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
        file INTEGER NOT NULL,
        commits INTEGER NOT NULL           -- how many with a vote changed it
    )
    """,
    "CREATE INDEX history_files_by_number ON history_files (file, commits)",
    """
    CREATE VIRTUAL TABLE history_fts USING fts5 (
        words, content = '', contentless_delete = 1, tokenize = 'ascii'
    )
    """,
    "CREATE VIRTUAL TABLE history_words USING fts5vocab (history_fts, row)",
    """
    CREATE TRIGGER commit_removed AFTER DELETE ON history_commits WHEN old.files > 0 BEGIN
        DELETE FROM history_fts WHERE rowid = old.id;
    END
    """,
)


def _file_cards(database: Database) -> None:
    """One vector a file, made before those of its chunks."""
    # Of documents of an older index it is empty until they change.
    database.rows("ALTER TABLE documents ADD COLUMN card_digest BLOB NOT NULL DEFAULT x''")
    database.rows(
        """
        CREATE TABLE cards (
            id INTEGER PRIMARY KEY,
            document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            model_id INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
            embedding BLOB NOT NULL,           -- float32, little-endian
            UNIQUE (document_id, model_id)
        )
        """
    )


def _languages(database: Database) -> None:
    """Counting the files of each language reads nothing else of them."""
    database.rows("CREATE INDEX documents_languages ON documents (kind, language)")


def _links(database: Database) -> None:
    """Documents by the form of their names that links are looked up by, and links by theirs."""
    from rag_agent.store import links

    for statement in _LINKS:
        database.rows(statement)
    links.index_all(database)


_LINKS = (
    "ALTER TABLE documents ADD COLUMN name TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX documents_by_name ON documents (name)",
    # Where a link leads is asked for when somebody wants to know (rag_agent/links): a file that is
    # added, renamed or removed changes that of links in documents which nobody touched.
    """
    CREATE TABLE link_names (
        name TEXT NOT NULL,                -- of the file that is linked to, as documents.name
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        PRIMARY KEY (name, document_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX link_names_of_document ON link_names (document_id)",
)


def _details(database: Database) -> None:
    """Author, dates, year and more, of documents that are there from what is stored of them."""
    from rag_agent.store.details import details

    for column in _DETAILS:
        database.rows(f"ALTER TABLE documents ADD COLUMN {column}")
    names = [column.partition(" ")[0] for column in _DETAILS]
    rows = database.rows("SELECT id, title, day, metadata FROM documents")
    found = [
        (number, details(title, day, json.loads(stored))) for number, title, day, stored in rows
    ]
    database.many(
        f"UPDATE documents SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?",
        [(*(values[name] for name in names), number) for number, values in found],
    )


_DETAILS = (
    "author TEXT NOT NULL DEFAULT ''",  # as written, several joined by "; "
    "author_plain TEXT NOT NULL DEFAULT ''",  # without regard to case and accents
    "title_plain TEXT NOT NULL DEFAULT ''",
    "description TEXT NOT NULL DEFAULT ''",
    "created TEXT NOT NULL DEFAULT ''",  # YYYY-MM-DD, or ''
    "modified TEXT NOT NULL DEFAULT ''",  # as the document says; '' where its file's time counts
    "year INTEGER",
)


def _pages(database: Database) -> None:
    """Chunks that are found by words only, and of how many pages there is text."""
    database.rows("ALTER TABLE document_chunks ADD COLUMN embedded INTEGER NOT NULL DEFAULT 1")
    database.rows("CREATE INDEX chunks_unembedded ON document_chunks (id) WHERE embedded = 0")
    # JSON list of pages with text, by OCR, without; '' where pages do not count.
    database.rows("ALTER TABLE documents ADD COLUMN coverage TEXT NOT NULL DEFAULT ''")
    database.rows("CREATE INDEX documents_scanned ON documents (coverage) WHERE coverage != ''")


_STEPS: tuple[Callable[[Database], None], ...] = (
    _first,
    _history,
    _file_cards,
    _languages,
    _links,
    _details,
    _pages,
)
VERSION = len(_STEPS)
