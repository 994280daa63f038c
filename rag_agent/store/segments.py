"""A memory-mapped copy of the word index in columns, and the same of passages that came later.

What ``copies`` says holds of the file. Layout: header; of each passage its id, its chunk and its
document (int64); of each word its hash, ascending, and where its postings begin (uint64, int64); of
each posting its passage's place (int32), how often the text has the word, and how often the row has
it with the weights of the columns (uint16); of each passage the words of its text and of its whole
row (int32).
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rag_agent.store import copies, lexical
from rag_agent.store.beside import path_words
from rag_agent.store.connection import Database
from rag_agent.store.records import passage_text
from rag_agent.tokens import count_words, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST = 500  # passages; of fewer all that a search reads is read fast enough
# Passages, of some 200,000 chunks. Writing the copy takes some 2 KB of memory for each, as of each
# it has a hundred words, of 20 bytes.
LARGEST = 500_000
NEWER = 2_000  # passages that are counted as they come until the copy is written anew
_KEY = "words"
_HEADER = struct.Struct(f"<8s{copies.MARK}sQQQQ")  # magic, mark, passages, words, postings, last id
_MAGIC = b"ragword2"
_OF_TEXT, _OF_STEM, _OF_FOLDERS, _OF_NAMES = (int(one) for one in lexical.PASSAGE_WEIGHTS)
_BATCH = 2_000  # passages
_BLOCK = 500_000  # words of passages that are sorted at once, which takes 40 MB


class Segment:
    """Passages and their postings; ``last`` is the highest id that there was."""

    def __init__(
        self,
        last: int,
        ids: NDArray[np.int64],
        chunks: NDArray[np.int64],
        documents: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        starts: NDArray[np.int64],
        places: NDArray[np.int32],
        counts: NDArray[np.uint16],
        weights: NDArray[np.uint16],
        lengths: NDArray[np.int32],
        sizes: NDArray[np.int32],
    ) -> None:
        self.last = last
        self.source: copies.Mapped | None = None  # whose bytes these are
        self.ids, self.chunks, self.documents = ids, chunks, documents
        self.hashes, self.starts = hashes, starts
        self.places, self.counts, self.weights = places, counts, weights
        self.lengths, self.sizes = lengths, sizes

    def slice_of(self, word: str) -> slice:
        """Where the postings of a word stand."""
        return slice_of(self.hashes, self.starts, word)


def slice_of(hashes: NDArray[np.uint64], starts: NDArray[np.int64], word: str) -> slice:
    """Where the postings of a word stand; ``hashes`` ascend."""
    import numpy as np

    key = np.uint64(hash_of(word))
    place = int(hashes.searchsorted(key))
    if place == len(hashes) or hashes[place] != key:
        return slice(0, 0)
    return slice(int(starts[place]), int(starts[place + 1]))


def path_for(database: Database) -> Path:
    """Where the copy of the words lies."""
    return database.path.with_name(f"{database.path.stem}-words.bin")


def written(database: Database) -> str:
    """Tells apart any two copies of the words."""
    return copies.written(database, _KEY)


def refresh(database: Database) -> None:
    """Write the copy if that is due, or remove it; needs the write lock."""
    present = lexical.passage_count(database)
    if not SMALLEST <= present <= LARGEST:
        copies.remove(path_for(database))
    elif _drifted(database, present):
        copies.renew(
            database, path_for(database), _KEY, lambda mark, stream: _write(database, mark, stream)
        )
    # Whoever has the old one open reads the new one after the next change.
    database.kept.pop("postings", None)


def damaged(database: Database) -> list[Path]:
    """The copy, if it is not what was written, and waits for the next refresh."""
    return copies.damaged(database, path_for(database), _KEY)


def _drifted(database: Database, present: int) -> bool:
    copied = open_copy(database)
    if copied is None or not copies.is_sound(database, path_for(database), _KEY):
        return True
    old: int = database.value("SELECT count(*) FROM passages WHERE id <= ?", (copied.last,))
    changed = (len(copied.ids) - old) + (present - old)
    return changed > copies.DRIFT * len(copied.ids) or present - old > NEWER // 2


def open_copy(database: Database) -> Segment | None:
    """The copy, if the file is whole and belongs to this database."""
    import numpy as np

    source = copies.mapped(path_for(database), _HEADER.size)
    if source is None:
        return None
    data = source.data
    magic, mark, passages, terms, postings, last = _HEADER.unpack(data[: _HEADER.size].tobytes())
    layout = (
        (np.dtype("<i8"), passages),
        (np.dtype("<i8"), passages),
        (np.dtype("<i8"), passages),
        (np.dtype("<u8"), terms),
        (np.dtype("<i8"), terms + 1),
        (np.dtype("<i4"), postings),
        (np.dtype("<u2"), postings),
        (np.dtype("<u2"), postings),
        (np.dtype("<i4"), passages),
        (np.dtype("<i4"), passages),
    )
    if magic != _MAGIC or not copies.belongs(database, _KEY, mark):
        return None
    columns = copies.columns(data, _HEADER.size, layout)
    if columns is None:
        return None
    segment = Segment(last, *columns)
    segment.source = source
    return segment if _is_usable(segment) else None


def _is_usable(segment: Segment) -> bool:
    """Whether no number in it leads out of it, so that a search comes to its end."""
    import numpy as np

    starts, places = segment.starts, segment.places
    return bool(
        starts[0] == 0
        and starts[-1] == len(places)
        and (np.diff(starts) >= 0).all()
        and (not len(places) or (places.min() >= 0 and places.max() < len(segment.ids)))
    )


def _write(database: Database, mark: bytes, stream: BinaryIO) -> None:
    made = made_of(passages_after(database, 0), 0)
    stream.write(
        _HEADER.pack(_MAGIC, mark, len(made.ids), len(made.hashes), len(made.places), made.last)
    )
    for column in (
        *(made.ids, made.chunks, made.documents, made.hashes, made.starts),
        *(made.places, made.counts, made.weights, made.lengths, made.sizes),
    ):
        stream.write(column.tobytes())


# (id, chunk id, document id, text, heading, path, names of the definitions that begin in it)
_Row = tuple[int, int, int, str, str, str, Sequence[str]]


def passages_after(database: Database, after: int) -> Iterable[_Row]:
    """Passages with higher ids than ``after``, by id, with all that their words are made of."""
    while True:
        rows = database.rows(
            "SELECT p.id, p.chunk_id, p.start_line, p.end_line, p.begin, p.length, p.own_text, "
            "       c.text, c.heading, d.path, d.id "
            "FROM passages AS p CROSS JOIN document_chunks AS c ON c.id = p.chunk_id "
            "CROSS JOIN documents AS d ON d.id = c.document_id "
            "WHERE p.id > ? ORDER BY p.id LIMIT ?",
            (after, _BATCH),
        )
        if not rows:
            return
        after = rows[-1][0]
        names: dict[int, list[tuple[int, str]]] = {}
        for chunk_id, line, name in database.rows(
            "SELECT chunk_id, start_line, name FROM definitions "
            "WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(sorted({row[1] for row in rows})),),
        ):
            names.setdefault(chunk_id, []).append((line, name))
        for identifier, chunk_id, start, end, begin, length, own, text, heading, path, doc in rows:
            defined = [name for line, name in names.get(chunk_id, ()) if start <= line <= end]
            passage = passage_text(text, begin, length, own)
            yield identifier, chunk_id, doc, passage, heading, path, defined


class _Vocabulary(dict[str, int]):
    """Numbers words in the order of their first use."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def made_of(rows: Iterable[_Row], last: int) -> Segment:
    """Passages in columns; ``last`` is the highest id there was before them."""
    import numpy as np

    numbers = _Vocabulary()
    ids, chunks, documents = array("q"), array("q"), array("q")
    lengths, sizes = array("i"), array("i")
    blocks: list[_Block] = []
    entries = _Entries()
    number_of = numbers.__getitem__
    for identifier, chunk_id, document_id, text, heading, path, names in rows:
        of_text = count_words(text)
        named = [word for name in (*names, heading) for word in words(name)]
        stem, folders = path_words(path)
        more = (
            *((word, _OF_STEM) for word in stem),
            *((word, _OF_FOLDERS) for word in folders),
            *((word, _OF_NAMES) for word in named),
        )
        entries.places.extend([len(ids)] * (len(of_text) + len(more)))
        ids.append(identifier)
        chunks.append(chunk_id)
        documents.append(document_id)
        lengths.append(of_text.total())
        sizes.append(of_text.total() + len(more))
        entries.terms.extend(map(number_of, of_text))
        entries.counts.extend(of_text.values())
        entries.weights.extend(of_text.values())
        entries.terms.extend(number_of(word) for word, _ in more)
        entries.counts.extend(0 for _ in more)
        entries.weights.extend(weight for _, weight in more)
        if len(entries.terms) >= _BLOCK:
            blocks.append(entries.sorted())
            entries = _Entries()
    blocks.append(entries.sorted())
    hashes = np.array([hash_of(word) for word in numbers], dtype="<u8")
    order = np.argsort(hashes)
    ranks = np.empty(len(hashes), dtype=np.int32)
    ranks[order] = np.arange(len(hashes), dtype=np.int32)
    return Segment(
        ids[-1] if ids else last,
        np.array(ids, dtype="<i8"),
        np.array(chunks, dtype="<i8"),
        np.array(documents, dtype="<i8"),
        hashes[order],
        *_by_word(blocks, ranks),
        np.array(lengths, dtype="<i4"),
        np.array(sizes, dtype="<i4"),
    )


class _Block(NamedTuple):
    """Postings of consecutive passages by the numbers of their words, then by their places."""

    terms: NDArray[np.int32]
    places: NDArray[np.int32]
    counts: NDArray[np.uint16]
    weights: NDArray[np.uint16]


class _Entries:
    """Words of consecutive passages as they come: which word, whose, how often, with what weight.

    A passage that has a word in its text and in its path has two entries of it.
    """

    def __init__(self) -> None:
        self.terms, self.places = array("i"), array("i")
        self.counts, self.weights = array("i"), array("i")

    def sorted(self) -> _Block:
        """The same as postings, of which a passage has one a word: its entries are added."""
        import numpy as np

        terms, places = np.array(self.terms, dtype="<i4"), np.array(self.places, dtype="<i4")
        order = np.argsort(terms, kind="stable")  # of one word they are in order already
        terms, places = terms[order], places[order]
        is_first = np.ones(len(terms), dtype=np.bool_)
        is_first[1:] = (terms[1:] != terms[:-1]) | (places[1:] != places[:-1])
        first = np.flatnonzero(is_first)
        most = np.iinfo(np.uint16).max
        counts, weights = (
            # reduceat() wants at least one place to begin at.
            np.add.reduceat(np.array(column, dtype=np.int64)[order], first) if len(first) else first
            for column in (self.counts, self.weights)
        )
        return _Block(
            terms[first],
            places[first],
            np.minimum(counts, most).astype("<u2"),
            np.minimum(weights, most).astype("<u2"),
        )


def _by_word(
    blocks: list[_Block], ranks: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16], NDArray[np.uint16]]:
    """Where the postings of each word begin, in the order of ``ranks``, and the postings.

    These are places, counts, weights. Block after block is put where it belongs and let go of.
    """
    import numpy as np

    starts = np.zeros(len(ranks) + 1, dtype="<i8")
    for block in blocks:
        starts[1:] += np.bincount(ranks[block.terms], minlength=len(ranks))
    np.cumsum(starts, out=starts)
    free = starts[:-1].copy()  # of each word where its next posting goes
    places = np.empty(starts[-1], dtype="<i4")
    counts, weights = np.empty(starts[-1], dtype="<u2"), np.empty(starts[-1], dtype="<u2")
    while blocks:
        block = blocks.pop(0)
        terms, first, run = np.unique(block.terms, return_index=True, return_counts=True)
        at = ranks[terms]
        into = np.arange(len(block.terms)) + np.repeat(free[at] - first, run)
        places[into], counts[into], weights[into] = block.places, block.counts, block.weights
        free[at] += run
    return starts, places, counts, weights


@lru_cache(maxsize=1000)
def hash_of(word: str) -> int:
    """The number of a word in a copy, of 64 bits: two words of a project do not share one."""
    data = word.encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
