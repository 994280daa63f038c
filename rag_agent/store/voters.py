"""A memory-mapped copy of what commits said and changed, for histories of hundreds of commits.

What ``copies`` says holds of the file, but that it is of use only as long as the tables are as they
were when it was written: histories change rarely. Layout: header; of each commit its id and where
its changes begin (int64); of each word its hash, ascending, and where its postings begin (uint64,
int64); of each posting the place of its commit and how often that has the word (int32); of each
commit the words of its message (int32); of each change its document (int64) and the share of the
commit's score that it gets (float64).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rag_agent.store import bm25, copies, history, lexical, segments
from rag_agent.store.connection import Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST = 200  # commits; of fewer the tables tell as fast
_KEY = "history"
_STATE = 6  # numbers that tell apart any two states of the tables
# Magic, mark, commits, words, postings, changes, state.
_HEADER = struct.Struct(f"<8s{copies.MARK}sQQQQ{_STATE}q")
_MAGIC = b"raghist1"


def votes(database: Database, words: Sequence[str], k: int = history.VOTERS) -> dict[int, float]:
    """As ``history.votes``, by the copy where there is one of the present state."""
    with database.snapshot():
        known = database.remembered("voters", lambda: _current(database))
        if known is None or not known.source.is_whole():
            return history.votes(database, words, k)
    return known.votes(words, k)


class Voters:
    """The commits with a vote, in the order of their ids, with their words and changes."""

    def __init__(self, columns: Sequence[NDArray[Any]], source: copies.Mapped) -> None:
        self.source = source
        (
            self._ids,
            self._begins,
            self._hashes,
            self._starts,
            self._places,
            self._counts,
            sizes,
            self._documents,
            self._shares,
        ) = columns
        self._norms = bm25.norms(sizes, float(sizes.mean()))

    def votes(self, words: Sequence[str], k: int) -> dict[int, float]:
        """As ``history.votes``."""
        import numpy as np

        places, scores = self._nearest(words, k)
        begins = self._begins[places]
        counts = self._begins[places + 1] - begins
        if not counts.any():
            return {}
        changes = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        documents, which = np.unique(self._documents[changes], return_inverse=True)
        given = np.repeat(scores**2, counts) * self._shares[changes]
        found = np.bincount(which, weights=given)
        most = found.max()
        shares = (found / most).tolist() if most > 0 else []
        return dict(zip(documents.tolist(), shares, strict=False))

    def _nearest(
        self, words: Sequence[str], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places and scores of the best ``k``, and of those that are as good as the last."""
        import numpy as np

        holders = [
            (len(self._places[own]), word, own)
            for word in dict.fromkeys(words)
            if len(self._places[own := segments.slice_of(self._hashes, self._starts, word)])
        ]
        scores = np.zeros(len(self._ids))
        holders.sort(key=lambda holder: holder[:2])
        within = lexical.affordable([count for count, _, _ in holders], history.POSTINGS)
        for _, _, own in holders[:within]:
            bm25.add(scores, self._places[own], self._counts[own], self._norms, len(scores))
        found = bm25.highest(scores, k)
        return found, scores[found]


def path_for(database: Database) -> Path:
    """Where the copy of the history lies."""
    return database.path.with_name(f"{database.path.stem}-history.bin")


def refresh(database: Database) -> None:
    """Write the copy if that is due, or remove it; needs the write lock."""
    path = path_for(database)
    if history.commit_count(database) < SMALLEST:
        copies.remove(path)
    elif _current(database) is None or not copies.is_sound(database, path, _KEY):
        copies.renew(database, path, _KEY, lambda mark, stream: _write(database, mark, stream))


def damaged(database: Database) -> list[Path]:
    """The copy, if it is not what was written, and waits for the next refresh."""
    return copies.damaged(database, path_for(database), _KEY)


def _current(database: Database) -> Voters | None:
    """The copy, if the file is whole, belongs to this database and is of its present state."""
    import numpy as np

    source = copies.mapped(path_for(database), _HEADER.size)
    if source is None:
        return None
    data = source.data
    magic, mark, commits, terms, postings, changes, *state = _HEADER.unpack(
        data[: _HEADER.size].tobytes()
    )
    layout = (
        (np.dtype("<i8"), commits),
        (np.dtype("<i8"), commits + 1),
        (np.dtype("<u8"), terms),
        (np.dtype("<i8"), terms + 1),
        (np.dtype("<i4"), postings),
        (np.dtype("<i4"), postings),
        (np.dtype("<i4"), commits),
        (np.dtype("<i8"), changes),
        (np.dtype("<f8"), changes),
    )
    if magic != _MAGIC or not copies.belongs(database, _KEY, mark) or state != _state(database):
        return None
    columns = copies.columns(data, _HEADER.size, layout)
    return Voters(columns, source) if columns and _is_usable(columns) else None


def _is_usable(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether no number in it leads out of it."""
    import numpy as np

    ids, begins, _, starts, places, _, _, documents, shares = columns
    return bool(
        all(
            column[0] == 0 and column[-1] == count and (np.diff(column) >= 0).all()
            for column, count in ((begins, len(documents)), (starts, len(places)))
        )
        and (not len(places) or (places.min() >= 0 and places.max() < len(ids)))
        and ((shares >= 0) & (shares <= 1)).all()
    )


def _state(database: Database) -> list[int]:
    """Of two states of the tables that differ, these differ too."""
    return [
        *database.rows(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'history_commits'), 0), "
            "       (SELECT count(*) FROM history_commits)"
        )[0],
        *database.rows(
            "SELECT count(*), coalesce(sum(document_id), 0), coalesce(sum(commits), 0), "
            "       coalesce(sum(document_id * commits), 0) FROM history_files"
        )[0],
    ]


def _write(database: Database, mark: bytes, stream: BinaryIO) -> None:
    import numpy as np

    rows = database.rows("SELECT id FROM history_commits WHERE files > 0 ORDER BY id")
    ids = np.array(rows, dtype="<i8").reshape(-1)
    words = _words(database, ids)
    changes = [
        (commit, document, history.share(files, others))
        for commit, files, others, document in database.rows(
            "SELECT c.id, c.files, f.commits, f.document_id FROM history_commits AS c "
            "CROSS JOIN history_changes AS h ON h.commit_id = c.id "
            "CROSS JOIN history_files AS f ON f.file = h.file "
            "WHERE c.files > 0 ORDER BY c.id"
        )
    ]
    begins = np.searchsorted(
        np.array([change[0] for change in changes], dtype="<i8"), ids, side="left"
    )
    columns = (
        ids,
        np.append(begins, len(changes)).astype("<i8"),
        *words,
        np.array([change[1] for change in changes], dtype="<i8"),
        np.array([change[2] for change in changes], dtype="<f8"),
    )
    counts = (len(ids), len(words[0]), len(words[2]), len(changes))
    stream.write(_HEADER.pack(_MAGIC, mark, *counts, *_state(database)))
    for column in columns:
        stream.write(column.tobytes())


def _words(database: Database, ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Hashes, starts, places, counts, sizes."""
    import numpy as np

    database.rows(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.history_instances "
        "USING fts5vocab (main, history_fts, instance)"
    )
    rows = database.rows(
        "SELECT term, doc, count(*) FROM temp.history_instances GROUP BY term, doc"
    )
    terms = list(dict.fromkeys(term for term, _, _ in rows))
    hashes = np.array([segments.hash_of(term) for term in terms], dtype="<u8")
    number_of = {term: number for number, term in enumerate(terms)}
    rank = np.empty(len(terms), dtype=np.int64)
    rank[np.argsort(hashes)] = np.arange(len(terms))
    owners = rank[[number_of[term] for term, _, _ in rows]] if rows else np.empty(0, np.int64)
    places = np.searchsorted(ids, np.array([commit for _, commit, _ in rows], dtype=np.int64))
    counts = np.array([count for _, _, count in rows], dtype="<i4")
    order = np.lexsort((places, owners))
    starts = np.append(0, np.cumsum(np.bincount(owners, minlength=len(terms))))
    sizes = np.bincount(places, weights=counts, minlength=len(ids))
    return (
        np.sort(hashes),
        starts.astype("<i8"),
        places[order].astype("<i4"),
        counts[order],
        sizes.astype("<i4"),
    )
