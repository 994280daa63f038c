"""Which passages hold a word and how often, told without reading their texts.

FTS5 finds passages, but does not say how often they hold a word. This asks a copy of its index
(``segments``); scores are those of FTS5's ``bm25()``, so that it makes no difference to a search
which of the two is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rag_agent.store import bm25, lexical, segments
from rag_agent.store.connection import Database
from rag_agent.store.records import CountedPassages
from rag_agent.tokens import passage_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.store.filters import Filter
    from rag_agent.store.segments import Segment

    Holders = tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16]]
    Owners = NDArray[np.int64]

_REMEMBERED = 100  # words of the present question and of some before


def match(
    database: Database,
    asked: Sequence[str],
    k: int,
    where: Filter | None = None,
    postings: int = lexical.POSTINGS,
    also: Sequence[int] = (),
) -> CountedPassages:
    """The passages that ``lexical.match`` finds, in its order, with how often they have the words.

    Counted are all words that are ``asked``, those too that were left out of the search. The
    passages whose ids are ``also`` given follow, unless they are among those.
    """
    with database.snapshot():
        known = None if where else current(database)
        if known is None:
            return _from_texts(lexical.match(database, asked, k, where, postings, also), asked)
        frequencies = lexical.passage_frequencies(database, asked)
    best = known.best_within(lexical.rarest_first(frequencies), frequencies, k, postings)
    best = known.with_also(best, also)
    return CountedPassages(
        known.chunks[best].tolist(), known.counts(asked, best), known.lengths[best].astype(float)
    )


def owners(database: Database, chunk_ids: Sequence[int]) -> Owners:
    """Of each chunk its document and how many passages it has, of shape (2, chunks).

    Both are 0 for a chunk that is gone.
    """
    import numpy as np

    wanted = np.array(chunk_ids, dtype=np.int64)
    with database.snapshot():
        known = current(database)
        if known is None:
            return _owners_from_table(database, wanted)
        found = known.owners(wanted)
        missing = found[0] == 0  # it has no passages, or is gone
        if missing.any():
            found[:, missing] = _owners_from_table(database, wanted[missing])
    return found


def _owners_from_table(database: Database, wanted: NDArray[np.int64]) -> Owners:
    import numpy as np

    rows = database.rows(
        "SELECT coalesce(c.document_id, 0), "
        "       (SELECT count(*) FROM passages WHERE chunk_id = w.value) "
        "FROM json_each(?) AS w LEFT JOIN document_chunks AS c ON c.id = w.value "
        "ORDER BY w.key",
        (json.dumps(wanted.tolist()),),
    )
    found: Owners = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return found


def _from_texts(found: Sequence[tuple[int, str]], asked: Sequence[str]) -> CountedPassages:
    import numpy as np

    counted = [passage_counts(text) for _, text in found]
    counts = [[counts.get(word, 0) for word in asked] for counts, _ in counted]
    return CountedPassages(
        [chunk for chunk, _ in found],
        np.array(counts, dtype=np.float64).reshape(len(found), len(asked)),
        np.array([length for _, length in counted], dtype=np.float64),
    )


def current(database: Database) -> Postings | None:
    """The postings of the present state, inside a snapshot; None where there is no copy to use."""
    found = database.remembered("postings", lambda: _current(database))
    return found if found and found.is_whole() else None


def _current(database: Database) -> Postings | None:
    written, present = _state(database)
    now = (written, present, segments.written(database))
    state, found = database.kept.get("postings", (None, None))
    if state != now:
        copied = segments.open_copy(database)
        found = None if copied is None else _with_newer(database, copied, written, present)
        database.kept["postings"] = (now, found)
    known: Postings | None = found
    return known


def _state(database: Database) -> tuple[int, int]:
    """Tells apart any two states of the passages: ids are never used again."""
    written = database.value("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
    return int(written or 0), int(database.value("SELECT count(*) FROM passages"))


def _with_newer(database: Database, copied: Segment, written: int, present: int) -> Postings | None:
    import numpy as np

    old = present
    if written != copied.last:
        old = database.value("SELECT count(*) FROM passages WHERE id <= ?", (copied.last,))
    if present - old > segments.NEWER:
        return None
    newer = None
    if present > old:
        newer = segments.made_of(segments.passages_after(database, copied.last), copied.last)
    living = None
    if old != len(copied.ids):
        rows = database.rows("SELECT id FROM passages WHERE id <= ?", (copied.last,))
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        living = np.isin(copied.ids, ids, assume_unique=True)
        if newer:
            living = np.concatenate([living, np.ones(len(newer.ids), dtype=np.bool_)])
    return Postings(copied, newer, living)


class Postings:
    """What is known of the words of the passages of one state of the index.

    Passages are named by their places, in the order of their ids. ``chunks`` has the id of the
    chunk of each, ``lengths`` the words of its text.
    """

    def __init__(
        self, copied: Segment, newer: Segment | None, living: NDArray[np.bool_] | None
    ) -> None:
        import numpy as np

        self._segments = [copied, newer] if newer else [copied]
        self._living = living
        self.ids = np.concatenate([one.ids for one in self._segments])
        self.chunks = np.concatenate([one.chunks for one in self._segments])
        self.lengths = np.concatenate([one.lengths for one in self._segments])
        documents = np.concatenate([one.documents for one in self._segments])
        there = slice(None) if living is None else living
        self._owned, first, self._passages = np.unique(
            self.chunks[there], return_index=True, return_counts=True
        )
        self._owners = documents[there][first]
        sizes = np.concatenate([one.sizes for one in self._segments]).astype(np.float64)
        kept = sizes if living is None else sizes[living]
        self.total = len(kept)
        average = float(kept.sum()) / self.total if self.total else 1.0
        self._norms = bm25.norms(sizes, average)
        self._found: dict[str, Holders] = {}

    def owners(self, chunk_ids: NDArray[np.int64]) -> Owners:
        """As ``owners``."""
        import numpy as np

        found: Owners = np.zeros((2, len(chunk_ids)), dtype=np.int64)
        if not len(self._owned):
            return found
        at = self._owned.searchsorted(chunk_ids)
        at[at == len(self._owned)] = 0
        found[0], found[1] = self._owners[at], self._passages[at]
        found[:, self._owned[at] != chunk_ids] = 0
        return found

    def is_whole(self) -> bool:
        """Whether all of it can still be read."""
        return all(one.source is None or one.source.is_whole() for one in self._segments)

    def best_within(
        self, asked: Sequence[str], frequencies: Mapping[str, int], k: int, postings: int
    ) -> NDArray[np.int64]:
        """As ``lexical.ranked``: of rarest words as many as the budget of postings allows."""
        import numpy as np

        if not asked or k < 1:
            return np.empty(0, dtype=np.int64)
        within = lexical.affordable([frequencies[word] for word in asked], postings)
        found = self.best(asked[:within], k)
        if len(found) < k and within < len(asked):
            found = self.best(asked[: within + 1], k)
        return found

    def best(self, asked: Sequence[str], k: int) -> NDArray[np.int64]:
        """Places of the ``k`` passages with the highest scores; ties by id."""
        import numpy as np

        scores = np.zeros(len(self.ids))
        for word in asked:
            places, _, weights = self._of(word)
            bm25.add(scores, places, weights, self._norms, self.total)
        matched = bm25.highest(scores, k)
        return matched[np.argsort(-scores[matched], kind="stable")][:k]

    def with_also(self, places: NDArray[np.int64], ids: Sequence[int]) -> NDArray[np.int64]:
        """Places, followed by those of the passages with these ids that are not among them."""
        import numpy as np

        if not ids:
            return places
        wanted = np.array(ids, dtype=np.int64)
        at = self.ids.searchsorted(wanted)
        known = at < len(self.ids)
        known[known] = self.ids[at[known]] == wanted[known]
        more = at[known]
        if self._living is not None:
            more = more[self._living[more]]
        return np.concatenate([places, more[~np.isin(more, places)]])

    def counts(self, asked: Sequence[str], places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of shape (places, words): how often the text of each passage has each word."""
        import numpy as np

        found = np.zeros((len(places), len(asked)))
        rows = np.full(len(self.ids), -1, dtype=np.int32)
        rows[places] = np.arange(len(places), dtype=np.int32)
        for number, word in enumerate(asked):
            holders, counts, _ = self._of(word)
            where = rows[holders]
            among = where >= 0
            found[where[among], number] = counts[among]
        return found

    def _of(self, word: str) -> Holders:
        """Postings of a word: places, counts, weighted counts."""
        import numpy as np

        known = self._found.get(word)
        if known is not None:
            return known
        parts, first = [], 0
        for segment in self._segments:
            own = segment.slice_of(word)
            places = segment.places[own].astype(np.int64) + first
            parts.append((places, segment.counts[own], segment.weights[own]))
            first += len(segment.ids)
        places, counts, weights = parts[0]
        if len(parts) > 1:
            places = np.concatenate([part[0] for part in parts])
            counts = np.concatenate([part[1] for part in parts])
            weights = np.concatenate([part[2] for part in parts])
        if self._living is not None:
            there = self._living[places]
            places, counts, weights = places[there], counts[there], weights[there]
        if len(self._found) > _REMEMBERED:
            self._found.clear()
        self._found[word] = (places, counts, weights)
        return self._found[word]
