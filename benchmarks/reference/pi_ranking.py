"""How pi-local-rag 0.4.1 ranks, and what of it can be mended.

Described from its db.ts and search.ts (release 0.4.1 of github.com/vahidkowsari/pi-local-rag, MIT),
written anew.

An FTS5 table (tokenizer unicode61) holds text and path of each chunk as two columns of equal
weight. For the ``limit`` best it takes 20 times as many by FTS5's ``bm25()``, at least 200, and 10
times as many, at least 100, by distance of the vectors. Both scores are stretched over their own
candidates to 0…1, a chunk that is in one list only has 0 in the other, the BM25 part grows by half
(to 1 at most) where the path matches, and ``alpha`` 0.4 is the weight of BM25. Without vectors the
BM25 part alone ranks. What scores 0 is dropped. A file may fill all places of the answer.

Checked against its own search.ts and chunking.ts, run in Node over the semble set: the same chunks,
the same ten with the same scores for all 631 questions by words, and, given the same vectors, for
the 210 questions of eleven repositories with vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw

from rag_agent.tokens import STOP_WORDS

if TYPE_CHECKING:
    from reference.pi_files import Piece

ALPHA = 0.4  # weight of BM25
_BOOST = 1.5

_SCHEMA = """
CREATE TABLE chunks(id INTEGER PRIMARY KEY, path TEXT, first INTEGER, last INTEGER);
CREATE VIRTUAL TABLE words USING fts5(text, path);
"""
_MATCHES = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"


@dataclass(frozen=True, slots=True)
class Mends:
    """Which faults of ranking are mended; by default none, the program as it is shipped.

    ``sign``: FTS5's ``bm25()`` is negative, the best match lowest (sqlite.org/fts5.html), and is
    stretched as if the highest were best: the best match gets 0, the last candidate 1.
    ``any_word``: all words of the question must be in one chunk, and an ordinary question finds
    nothing by words.
    ``path_words``: the path matches if it contains the question's first word of two letters or
    more ("how"), whatever it means, or if there is no such word; mended, any that is no stop word.
    """

    sign: bool = False
    any_word: bool = False
    path_words: bool = False


AS_SHIPPED = Mends()
MENDED = Mends(sign=True, any_word=True, path_words=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk that answers, with its blended score."""

    path: str
    start: int
    end: int
    score: float


class PiIndex:
    """The chunks of one folder in a temporary SQLite database, gone when it is closed."""

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(_SCHEMA)
        self._vectors: Any = None

    def add(self, path: str, pieces: Iterable[Piece]) -> None:
        """Index the chunks of a file. ``path`` is what the questions' words are looked for in."""
        with self._connection:
            for piece in pieces:
                self._connection.execute(
                    "INSERT INTO chunks(path, first, last) VALUES (?, ?, ?)",
                    (path, piece.start, piece.end),
                )
                self._connection.execute(
                    "INSERT INTO words(rowid, text, path) VALUES (last_insert_rowid(), ?, ?)",
                    (piece.text, path),
                )

    def set_vectors(self, vectors: Any) -> None:
        """Rows of unit length, one a chunk in the order in which they were added."""
        self._vectors = vectors

    def search(
        self, question: str, vector: Any = None, *, mends: Mends = AS_SHIPPED, limit: int = 10
    ) -> list[Place]:
        """The best chunks; without the question's ``vector`` by words alone."""
        matches = self._matches(question, mends, max(limit * 20, 200))
        bm25 = _stretch({row: -score for row, score in matches.items()} if mends.sign else matches)
        near = {} if vector is None else _stretch(self._nearest(vector, max(limit * 10, 100)))
        looked_for = path_words(question, mends)
        scored: list[Place] = []
        for row in dict.fromkeys([*bm25, *near]):
            path, first, last = self._connection.execute(
                "SELECT path, first, last FROM chunks WHERE id = ?", (row,)
            ).get
            words = bm25.get(row, 0.0)
            if any(word in path.lower() for word in looked_for):
                words = min(1.0, words * _BOOST)
            score = ALPHA * words + (1 - ALPHA) * near.get(row, 0.0) if near else words
            if score > 0:
                scored.append(Place(path, first, last, score))
        return sorted(scored, key=lambda place: -place.score)[:limit]  # a stable sort, as theirs

    def close(self) -> None:
        """Drop everything."""
        self._connection.close()

    def _matches(self, question: str, mends: Mends, limit: int) -> dict[int, float]:
        quoted = ['"' + word.replace('"', '""') + '"' for word in question.split()]
        query = (" OR " if mends.any_word else " ").join(quoted)
        return dict(self._connection.execute(_MATCHES, (query, limit)) if quoted else ())

    def _nearest(self, vector: Any, limit: int) -> dict[int, float]:
        """Cosine of the nearest chunks, the nearest first; equally near ones in order."""
        import numpy as np

        cosines = self._vectors @ vector
        order = np.argsort(-cosines, kind="stable")[:limit]
        return {int(at) + 1: float(cosines[at]) for at in order}  # rows count from 1


def path_words(question: str, mends: Mends) -> Sequence[str]:
    """What a path is looked through for. An empty word is in every path."""
    words = [word for word in question.lower().split() if len(word) > 1]
    if not mends.path_words:
        return words[:1] or [""]
    bare = (word.strip("`'\"()[]{}<>.,:;!?*") for word in words)
    return [word for word in bare if len(word) > 1 and word not in STOP_WORDS]


def _stretch(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores as shares of the way from the lowest to the highest; 1 where all are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {row: (score - low) / (high - low) for row, score in scores.items()}
