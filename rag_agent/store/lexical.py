"""Questions to the word index: passages and paths that hold any of some words, by BM25."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rag_agent.late import LateModule
from rag_agent.store import roots
from rag_agent.store.folding import fold

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent import types
    from rag_agent.store import records
    from rag_agent.store.connection import Database
    from rag_agent.store.filters import Filter
    from rag_agent.types import Definition
else:
    records = LateModule("rag_agent.store.records")
    types = LateModule("rag_agent.types")

# Weights of the columns text, stem, folders, names (RANKING.md, point 11).
PASSAGE_WEIGHTS = (1.0, 2.0, 1.0, 2.0)
PATH_WEIGHTS = (2.0, 1.0)  # name, folders
_FREQUENCIES = 20_000  # words that are remembered
POSTINGS = 20_000  # rows of the word index that are read for one question

_CHUNKS_OF_PASSAGES = "passages_fts AS f CROSS JOIN passages AS p ON p.id = f.rowid"
_PASSAGE_JOIN = (
    # CROSS JOIN keeps the order: the other way round FTS5 would be asked once a passage.
    f"{_CHUNKS_OF_PASSAGES} "
    "CROSS JOIN document_chunks AS c ON c.id = p.chunk_id "
    "CROSS JOIN documents AS d ON d.id = c.document_id"
)


def match(
    database: Database,
    words: Sequence[str],
    k: int,
    where: Filter | None = None,
    postings: int = POSTINGS,
    also: Sequence[int] = (),
) -> list[tuple[int, str]]:
    """(chunk id, text) of passages with at least one of the words, highest score first; ties by id.

    After them come those whose ids are ``also`` given.

    Rarest words first, until reading one more would pass the budget of ``postings``: a word that
    half of the passages hold says little and costs most. Words left out come back when the rare
    ones alone do not fill ``k``.
    """
    found = [identifier for identifier, _ in ranked(database, words, k, where, postings)]
    return _with_text(database, list(dict.fromkeys([*found, *also])))


def ranked(
    database: Database,
    words: Sequence[str],
    k: int,
    where: Filter | None = None,
    postings: int = POSTINGS,
) -> list[tuple[int, float]]:
    """The same passages by their ids: (id, score)."""
    frequencies = passage_frequencies(database, words)
    rarest = rarest_first(frequencies)
    if not rarest or k < 1:
        return []
    within = affordable([frequencies[word] for word in rarest], postings)
    found = _ranked(database, rarest[:within], k, where)
    if len(found) < k and within < len(rarest):
        # One more word is enough without a filter: it has more passages than the budget. A filter
        # may leave none of them.
        more = len(rarest) if where else within + 1
        found = _ranked(database, rarest[:more], k, where)
    return found


def match_phrase(
    database: Database, words: Sequence[str], k: int, where: Filter | None = None
) -> list[tuple[int, int]]:
    """(passage id, chunk id) of up to ``k`` passages that hold all of the words in a row.

    None where even the rarest word is in more passages than are read for one question.
    """
    frequencies = passage_frequencies(database, words)
    if not words or any(word not in frequencies for word in words):
        return []
    if min(frequencies.values()) > POSTINGS:
        return []
    condition, bindings = roots.condition(database, where, chunks=True)
    tables = _PASSAGE_JOIN if condition else _CHUNKS_OF_PASSAGES
    return database.rows(
        f"SELECT p.id, p.chunk_id FROM {tables} WHERE passages_fts MATCH ?{condition} "
        "ORDER BY f.rowid LIMIT ?",
        (_quoted(" ".join(words)), *bindings, k),
    )


def match_paths(
    database: Database, words: Sequence[str], k: int, where: Filter | None = None
) -> list[tuple[int, float]]:
    """(document id, score) of documents whose file name or folders hold any of the words."""
    if k < 1 or not words:
        return []
    condition, bindings = roots.condition(database, where, chunks=False)
    documents = "CROSS JOIN documents AS d ON d.id = f.rowid" if condition else ""
    return database.rows(
        f"SELECT f.rowid, -bm25(paths_fts, {PATH_WEIGHTS[0]}, {PATH_WEIGHTS[1]}) AS score "
        f"FROM paths_fts AS f {documents} "
        f"WHERE paths_fts MATCH ?{condition} ORDER BY score DESC, f.rowid LIMIT ?",
        (any_of(words), *bindings, k),
    )


def definitions(
    database: Database, names: Sequence[str], where: Filter | None = None
) -> list[tuple[int, Definition]]:
    """(chunk id, definition) of everything with one of these names, whatever the case."""
    condition, bindings = roots.condition(database, where, chunks=True)
    rows = database.rows(
        "SELECT n.chunk_id, n.name, n.kind, n.start_line, n.end_line "
        "FROM json_each(?) AS w CROSS JOIN definitions AS n ON n.folded = w.value "
        "CROSS JOIN document_chunks AS c ON c.id = n.chunk_id "
        "CROSS JOIN documents AS d ON d.id = c.document_id "
        f"WHERE TRUE{condition} ORDER BY n.chunk_id, n.start_line",
        (json.dumps(sorted({fold(name) for name in names})), *bindings),
    )
    return [(chunk_id, types.Definition(*rest)) for chunk_id, *rest in rows]


def passage_frequencies(database: Database, words: Sequence[str]) -> dict[str, int]:
    """In how many passages each word stands; words that none has are absent.

    Figures of common words are those of the last ``refresh_statistics``.
    """
    with database.snapshot():
        # A search asks twice: once for how rare the words are, once for which it can afford.
        known = database.recalled(
            "frequencies",
            words,
            _FREQUENCIES,
            lambda missing: _frequencies(database, missing).items(),
        )
        # Never above the number of passages, which shrinks before the figures are refreshed.
        most = passage_count(database)
    return {word: min(known[word], most) for word in words if known[word] and most}


def _frequencies(database: Database, words: Sequence[str]) -> dict[str, int]:
    found = dict.fromkeys(words, 0)
    wanted = [word for word in found if word and "\0" not in word]
    # Common words from a small table: counting one live reads all of its postings.
    rows = database.rows(
        "SELECT w.value, coalesce("
        "    (SELECT passages FROM common_words WHERE word = w.value),"
        "    (SELECT doc FROM passage_words WHERE term = w.value), 0"
        ") FROM json_each(?) AS w",
        (json.dumps(wanted),),
    )
    found.update(rows)
    return found


def passage_count(database: Database) -> int:
    """How many passages there are."""
    return database.remembered("passage count", lambda: _passage_count(database))


def _passage_count(database: Database) -> int:
    return int(database.value("SELECT coalesce(sum(passages), 0) FROM documents"))


def average_passage_words(database: Database) -> float:
    """Mean length of a passage's text in words; 0 without passages."""
    return database.remembered("average passage", lambda: _average_passage_words(database))


def _average_passage_words(database: Database) -> float:
    found = database.value("SELECT CAST(sum(words) AS REAL) / sum(passages) FROM documents")
    return float(found or 0.0)


def language_shares(database: Database) -> dict[str, float]:
    """How many files of code each language has, as a share of the most common one's."""
    return database.remembered("languages", lambda: _language_shares(database))


def _language_shares(database: Database) -> dict[str, float]:
    rows: list[tuple[str, int]] = database.rows(
        "SELECT language, count(*) FROM documents WHERE kind = 'code' GROUP BY language"
    )
    most = max((count for _, count in rows), default=1)
    return {language: count / most for language, count in rows}


def rarest_first(frequencies: Mapping[str, int]) -> list[str]:
    """Words by how many passages hold them, the fewest first."""
    return sorted(frequencies, key=lambda word: (frequencies[word], word))


def affordable(frequencies: Sequence[int], postings: int) -> int:
    """How many of the ascending frequencies fit into the budget; at least one."""
    total = 0
    for count, frequency in enumerate(frequencies):
        total += frequency
        if total > postings:
            return max(count, 1)
    return len(frequencies)


def any_of(words: Sequence[str]) -> str:
    """FTS5's query for any of the words, whatever they hold."""
    return " OR ".join(map(_quoted, words))


def _quoted(words: str) -> str:
    return '"' + words.replace("\0", "").replace('"', '""') + '"'


def _ranked(
    database: Database,
    words: Sequence[str],
    k: int,
    where: Filter | None,
) -> list[tuple[int, float]]:
    score = f"-bm25(passages_fts, {', '.join(map(str, PASSAGE_WEIGHTS))})"
    if where is None:
        return database.rows(
            f"SELECT rowid, {score} AS score FROM passages_fts "
            "WHERE passages_fts MATCH ? ORDER BY score DESC, rowid LIMIT ?",
            (any_of(words), k),
        )
    condition, bindings = roots.condition(database, where, chunks=True)
    return database.rows(
        f"SELECT p.id, {score} AS score FROM {_PASSAGE_JOIN} "
        f"WHERE passages_fts MATCH ?{condition} ORDER BY score DESC, p.id LIMIT ?",
        (any_of(words), *bindings, k),
    )


def _with_text(database: Database, found: Sequence[int]) -> list[tuple[int, str]]:
    rows = database.rows(
        "SELECT c.id, c.text, p.begin, p.length, p.own_text "
        "FROM json_each(?) AS w CROSS JOIN passages AS p ON p.id = w.value "
        "CROSS JOIN document_chunks AS c ON c.id = p.chunk_id ORDER BY w.key",
        (json.dumps(found),),
    )
    return [(chunk, records.passage_text(*slice_of)) for chunk, *slice_of in rows]
