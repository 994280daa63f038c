"""What keeps the index fast and sound: statistics, free space, counts, checks."""

from __future__ import annotations

from pathlib import Path

from rag_agent.store import copies, history, lexical, matrix, segments, voters
from rag_agent.store.connection import Database
from rag_agent.store.records import Counts

# A word in fewer passages is counted live faster than looked up (its postings fit on a page).
COMMON = 500
# Share of passages written or removed since the last count that makes the counts worth renewing.
_DRIFT = 0.02
_FREE_PAGES = 0.2  # share of the file that may lie idle before it is given back


def refresh_statistics(database: Database) -> None:
    """Renew what is derived; cheap when little changed. Needs the write lock."""
    _count_common_words(database)
    database.rows("PRAGMA optimize")
    copies.remove_unfinished(database)
    matrix.refresh(database)
    segments.refresh(database)
    voters.refresh(database)
    _release_space(database)


def _count_common_words(database: Database) -> None:
    last = database.value("SELECT value FROM meta WHERE key = 'words_counted_at'")
    written = int(database.value("SELECT seq FROM sqlite_sequence WHERE name = 'passages'") or 0)
    present = lexical.passage_count(database)
    if last is not None:
        last_written, last_present = (int(part) for part in last.split())
        changed = max(written - last_written, abs(present - last_present))
        if changed <= _DRIFT * last_present:
            return
    with database.transaction():
        database.rows("DELETE FROM common_words")
        database.rows(
            "INSERT INTO common_words SELECT term, doc FROM passage_words WHERE doc >= ?",
            (COMMON,),
        )
        database.rows(
            "INSERT OR REPLACE INTO meta VALUES ('words_counted_at', ?)", (f"{written} {present}",)
        )


def _release_space(database: Database) -> None:
    free = database.value("PRAGMA freelist_count")
    if free > _FREE_PAGES * database.value("PRAGMA page_count"):
        database.rows("PRAGMA incremental_vacuum")
    # Also shortens the -wal file; where a reader holds it, the next refresh does.
    with database.without_waiting():
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def counts(database: Database) -> Counts:
    """How much the store holds, of one moment."""
    with database.snapshot():
        documents, chunks, passages = database.rows(
            "SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(passages), 0) FROM documents"
        )[0]
        return Counts(
            documents=documents,
            chunks=chunks,
            passages=passages,
            bytes=_size(database),
            unembedded=database.value("SELECT count(*) FROM document_chunks WHERE embedded = 0"),
            commits=history.commit_count(database),
            vectors=dict(
                database.rows(
                    "SELECT m.id, (SELECT count(*) FROM vectors WHERE model_id = m.id) "
                    "FROM models AS m"
                )
            ),
            languages=dict(
                database.rows(
                    "SELECT language, count(*) AS n FROM documents WHERE language != '' "
                    "GROUP BY language ORDER BY n DESC, language"
                )
            ),
            kinds=dict(
                database.rows("SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY kind")
            ),
            cards=dict(
                database.rows(
                    "SELECT m.id, (SELECT count(*) FROM cards WHERE model_id = m.id) "
                    "FROM models AS m"
                )
            ),
        )


def _size(database: Database) -> int:
    ours = [database.path.with_name(database.path.name + end) for end in ("", "-wal")]
    copied = [*matrix.files(database), segments.path_for(database), voters.path_for(database)]
    return sum(_bytes(path) for path in [*ours, *copied])


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


# What must hold and cannot be declared: a query that counts offenders, and the sentence.
_INVARIANTS = (
    (
        "SELECT count(*) FROM pragma_foreign_key_check",
        "{} rows belong to documents, chunks or models that are gone",
    ),
    (
        "SELECT (SELECT count(*) FROM passages) != (SELECT count(*) FROM passages_fts_docsize)",
        "the word index does not cover the passages",
    ),
    (
        "SELECT (SELECT count(*) FROM documents) != (SELECT count(*) FROM paths_fts_docsize)",
        "the path index does not cover the documents",
    ),
    (
        "SELECT (SELECT count(*) FROM history_commits WHERE files > 0) "
        "!= (SELECT count(*) FROM history_fts_docsize)",
        "the words of commits do not belong to the commits",
    ),
    (
        "SELECT count(*) FROM documents AS d WHERE d.chunks != "
        "(SELECT count(*) FROM document_chunks WHERE document_id = d.id)",
        "{} documents lack chunks",
    ),
    (
        "SELECT count(*) FROM vectors AS v JOIN models AS m ON m.id = v.model_id "
        "WHERE length(v.embedding) != 4 * m.dim",
        "{} vectors have a wrong length",
    ),
    (
        "SELECT count(*) FROM cards AS k JOIN models AS m ON m.id = k.model_id "
        "WHERE length(k.embedding) != 4 * m.dim",
        "{} file cards have a wrong length",
    ),
)


def check(database: Database) -> list[str]:
    """Problems as sentences; SQLite's own check (with FTS5's) first."""
    found = [row[0] for row in database.rows("PRAGMA integrity_check(20)")]
    problems = [] if found == ["ok"] else found
    for query, sentence in _INVARIANTS:
        offenders = database.value(query)
        if offenders:
            problems.append(sentence.format(offenders))
    return problems


def damaged_copies(database: Database) -> list[str]:
    """Names of derived files that are not what was written; the next refresh writes them anew."""
    copied = (*matrix.damaged(database), *segments.damaged(database), *voters.damaged(database))
    return [path.name for path in copied]
