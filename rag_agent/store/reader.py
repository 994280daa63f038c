"""What is asked of an index; nothing here writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent.late import LateModule
from rag_agent.store import history, lexical, reading, roots
from rag_agent.store.connection import Database
from rag_agent.store.filters import Filter
from rag_agent.store.records import (
    CountedPassages,
    Counts,
    Outline,
    Pending,
    PendingCard,
    Place,
    ShownDocument,
    StoredChunk,
)
from rag_agent.types import Coverage, Definition, Link, Root, Skipped, StoredDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_agent.store import (
        cards,
        dense,
        exporting,
        links,
        maintenance,
        postings,
        unmatched,
        voters,
        writing,
    )
    from rag_agent.store.connection import VectorEngine
    from rag_agent.store.exporting import WholeDocument
    from rag_agent.store.filters import Clause
    from rag_agent.types import Vector
else:
    cards = LateModule("rag_agent.store.cards")
    dense = LateModule("rag_agent.store.dense")
    exporting = LateModule("rag_agent.store.exporting")
    links = LateModule("rag_agent.store.links")
    maintenance = LateModule("rag_agent.store.maintenance")
    postings = LateModule("rag_agent.store.postings")
    unmatched = LateModule("rag_agent.store.unmatched")
    voters = LateModule("rag_agent.store.voters")
    writing = LateModule("rag_agent.store.writing")


class Reader:
    """An index to read. Belongs to one thread at a time; every method may raise ``StoreError``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.memory: dict[str, Any] = {}
        """What users of the index keep as long as it is open."""

    @property
    def path(self) -> Path:
        """The database file."""
        return self._database.path

    @property
    def vector_engine(self) -> VectorEngine:
        """What computes cosines in SQL; numpy where sqlite-vec cannot be loaded."""
        return self._database.load_vectors()

    def snapshot(self) -> AbstractContextManager[None]:
        """Several reads of one state, whatever is written meanwhile. Keep it short."""
        return self._database.snapshot()

    # Roots

    def roots(self) -> list[Root]:
        """All tracked roots, oldest first."""
        return roots.all_roots(self._database)

    def shown_path(self, root: Root, path: str) -> str:
        """``path`` itself while there is one root; of several see ``Shown``."""
        return roots.Shown(self._database).path(root.id, path)

    # Writing

    def meta(self, key: str) -> str | None:
        """The text under a key."""
        found: str | None = self._database.value("SELECT value FROM meta WHERE key = ?", (key,))
        return found

    # Vectors

    def find_model(self, fingerprint: str) -> int | None:
        """Id of a model, None when it is unknown here."""
        return dense.find_model(self._database, fingerprint)

    def models(self) -> dict[int, str]:
        """The fingerprint of every model that vectors were ever wanted of, by id."""
        return dense.fingerprints(self._database)

    def pending(self, model: int, limit: int, after: int = 0) -> list[Pending]:
        """Up to ``limit`` chunks with ids above ``after`` that lack a vector of the model."""
        return dense.pending(self._database, model, limit, after)

    def pending_of(self, model: int, document_id: int) -> list[Pending]:
        """All chunks of a document that lack a vector of the model."""
        return dense.pending_of(self._database, model, document_id)

    def count_pending(self, model: int) -> int:
        """How many chunks lack a vector of the model."""
        return dense.count_pending(self._database, model)

    def nearest(
        self, model: int, vector: Vector, k: int, where: Filter | None = None
    ) -> list[tuple[int, float]]:
        """The ``k`` (chunk id, raw cosine) nearest to the vector, highest first; exact."""
        return dense.nearest(self._database, model, vector, k, where)

    def cosines(self, model: int, vector: Vector, chunk_ids: Sequence[int]) -> NDArray[np.float64]:
        """Raw cosine of each of these chunks, NaN where it has no vector."""
        return dense.cosines(self._database, model, vector, chunk_ids)

    def chunk_vector(self, model: int, chunk_id: int) -> Vector | None:
        """Shape (dim,); None where the chunk has no vector of the model."""
        return dense.vector_of(self._database, model, chunk_id)

    def card_vector(self, model: int, document_id: int) -> Vector | None:
        """Shape (dim,); None where the document has no card of the model."""
        return cards.vector_of(self._database, model, document_id)

    # File cards: one vector a document, made before those of its chunks

    def pending_cards(self, model: int, limit: int, after: int = 0) -> list[PendingCard]:
        """Up to ``limit`` documents with ids above ``after`` that lack a card of the model."""
        return cards.pending(self._database, model, limit, after)

    def nearest_cards(
        self, model: int, vector: Vector, k: int, where: Filter | None = None
    ) -> list[tuple[int, float]]:
        """The ``k`` (document id, raw cosine) with the nearest cards, highest first; exact."""
        return cards.nearest(self._database, model, vector, k, where)

    def card_cosines(
        self, model: int, vector: Vector, document_ids: Sequence[int]
    ) -> NDArray[np.float64]:
        """Raw cosine of the card of each of these documents, NaN where it has none."""
        return cards.cosines(self._database, model, vector, document_ids)

    # Words

    def match_counts(
        self, words: Sequence[str], k: int, where: Filter | None = None, also: Sequence[int] = ()
    ) -> CountedPassages:
        """The ``k`` best passages that hold any of the stems, with how often each has them.

        ``also`` are ids of passages that are counted like them, after them.
        """
        return postings.match(self._database, words, k, where, also=also)

    def match_phrase(
        self, words: Sequence[str], k: int, where: Filter | None = None
    ) -> list[tuple[int, int]]:
        """(passage id, chunk id) of up to ``k`` passages that hold all of the stems in a row."""
        return lexical.match_phrase(self._database, words, k, where)

    def match_paths(
        self, words: Sequence[str], k: int, where: Filter | None = None
    ) -> list[tuple[int, float]]:
        """The ``k`` best (document id, score) by words of file name and folders."""
        return lexical.match_paths(self._database, words, k, where)

    def passage_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many passages each stem stands; absent when in none."""
        return lexical.passage_frequencies(self._database, words)

    def passage_count(self) -> int:
        """How many passages there are."""
        return lexical.passage_count(self._database)

    def language_shares(self) -> dict[str, float]:
        """How many files of code each language has, as a share of the most common one's."""
        return lexical.language_shares(self._database)

    def average_passage_words(self) -> float:
        """Mean number of words in a passage, 0 without passages."""
        return lexical.average_passage_words(self._database)

    # Git history

    def history_votes(self, words: Sequence[str], k: int = history.VOTERS) -> dict[int, float]:
        """How much commits that speak of these stems speak for each document, in [0, 1]."""
        return voters.votes(self._database, words, k)

    # Links, as written

    def links_of(self, document_ids: Sequence[int]) -> dict[int, list[Link]]:
        """The links of each of these documents, in order."""
        return links.of(self._database, document_ids)

    def linking(self, names: Iterable[str]) -> dict[int, bool]:
        """The documents with a link that may mean a document with one of these names, by id.

        With whether they have links upwards (``../``), which may lead out of a vault.
        """
        return links.linking(self._database, names)

    def places(self, document_ids: Sequence[int]) -> dict[int, Place]:
        """Where these documents lie, by id; those that are gone are absent."""
        return links.places(self._database, document_ids)

    def places_named(self, names: Iterable[str]) -> dict[str, list[Place]]:
        """Where the documents lie that links with these names may mean, by their own names."""
        return links.named(self._database, names)

    # What a filter leaves

    def count_matching(self, where: Filter) -> int:
        """How many documents with text a filter leaves."""
        return unmatched.count(self._database, where)

    def excluding(self, where: Filter, document_ids: Sequence[int]) -> dict[int, list[Clause]]:
        """For each of the documents the clauses of a filter that exclude it."""
        return unmatched.excluding(self._database, where, document_ids)

    def filter_values(self, field: str) -> list[tuple[str, int]]:
        """What there is of a field of filters that takes words, with counts, most first."""
        return unmatched.values(self._database, field)

    def filter_span(self, field: str) -> tuple[str, str] | None:
        """The least and the highest value of a field that is compared, None without any."""
        return unmatched.span(self._database, field)

    # Documents and chunks

    def documents(self, root: Root, under: str = "") -> dict[str, StoredDocument]:
        """The documents of a root at or below ``under``, by path."""
        condition, bindings = writing.below("d.path", under)
        found = reading.documents(
            self._database, f"d.root_id = ? AND {condition}", (root.id, *bindings)
        )
        return {document.path: document for document in found}

    def documents_after(
        self, root: Root, under: str, after: str, limit: int
    ) -> list[StoredDocument]:
        """Up to ``limit`` documents of ``documents``, by path, from behind the path ``after``."""
        condition, bindings = writing.below("d.path", under)
        return reading.documents(
            self._database,
            f"d.root_id = ? AND {condition} AND d.path > ?",
            (root.id, *bindings, after),
            limit,
        )

    def tagged(self, root: Root, tags: Sequence[str]) -> set[int]:
        """Ids of the documents of a root with any of the tags, or one below it."""
        return reading.tagged(self._database, root, tags)

    def document(self, document_id: int) -> StoredDocument | None:
        """One document, None when it is gone."""
        found = reading.documents(self._database, "d.id = ?", (document_id,))
        return found[0] if found else None

    def files(self, most: int) -> Sequence[reading.File]:
        """Where the files of all documents lie, and their states; none if more than ``most``."""
        return self._database.remembered(
            f"files {most}", lambda: reading.files(self._database, most)
        )

    def documents_by_id(self, document_ids: Sequence[int]) -> dict[int, StoredDocument]:
        """Documents by id; those that are gone are absent."""
        ids = json.dumps([int(identifier) for identifier in document_ids])
        found = reading.documents(
            self._database, "d.id IN (SELECT value FROM json_each(?))", (ids,)
        )
        return {document.id: document for document in found}

    def find(self, pattern: str) -> list[StoredDocument]:
        """Documents by shown path or path in their root, in order and without regard to case.

        ``*`` stands for any characters, ``/`` included, ``?`` for one; text without either is
        looked for anywhere in the path. A pattern without ``/`` may be that of a file's name.
        """
        return reading.find(self._database, pattern)

    def chunks(self, chunk_ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Chunks by id with their definitions; those that are gone are absent."""
        ids = json.dumps([int(identifier) for identifier in chunk_ids])
        found = reading.chunks(self._database, "c.id IN (SELECT value FROM json_each(?))", (ids,))
        return {chunk.id: chunk for chunk in found}

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """All chunks of a document with their passages, in order."""
        return reading.chunks(self._database, "c.document_id = ?", (document_id,), whole=True)

    def outlines(self, chunk_ids: Sequence[int]) -> dict[int, Outline]:
        """Chunks by id without their texts; those that are gone are absent.

        What was read is remembered until the index changes: questions of one session meet the same
        chunks again and again.
        """
        return reading.outlines(self._database, chunk_ids)

    def texts(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """The texts of chunks by id; those that are gone are absent."""
        return reading.texts(self._database, chunk_ids)

    def first_chunks(
        self, document_ids: Sequence[int], most: int, where: Filter | None = None
    ) -> list[int]:
        """Ids of the first chunks of documents, up to so many of each."""
        return reading.first_chunks(self._database, document_ids, most, where)

    def chunks_at(
        self, places: Sequence[tuple[int, int]], where: Filter | None = None
    ) -> list[int]:
        """Ids of the chunks in which lines of documents stand, given as (document, line)."""
        return reading.chunks_at(self._database, places, where)

    def owners(self, chunk_ids: Sequence[int]) -> NDArray[np.int64]:
        """Of each chunk its document's id and how many passages it has, of shape (2, chunks).

        Both are 0 for a chunk that is gone.
        """
        return postings.owners(self._database, chunk_ids)

    def shown(self, document_ids: Sequence[int]) -> dict[int, ShownDocument]:
        """Documents by id under the paths they are shown with; those that are gone are absent.

        What was read is remembered until the index changes.
        """
        return reading.shown(self._database, document_ids)

    def definitions(
        self, names: Sequence[str], where: Filter | None = None
    ) -> list[tuple[int, Definition]]:
        """(chunk id, definition) of everything with one of these names, whatever the case."""
        return lexical.definitions(self._database, names, where)

    def next_document(self, after: int) -> WholeDocument | None:
        """The document with the lowest id above ``after`` as it was put, None behind the last."""
        return exporting.next_document(self._database, after)

    def vectors_of(self, model: int, document_id: int) -> dict[int, bytes]:
        """The vector of each of a document's chunks that has one, by the chunk's id."""
        return exporting.vectors_of(self._database, model, document_id)

    def unembedded_of(self, document_id: int) -> set[int]:
        """Ids of a document's chunks that are found by words only."""
        return exporting.unembedded_of(self._database, document_id)

    def card_of(self, model: int, document_id: int) -> tuple[bytes, bytes] | None:
        """What a document's card was made of, as a digest, and its vector; None without one."""
        return exporting.card_of(self._database, model, document_id)

    def dim_of(self, model: int) -> int:
        """How long the vectors of a model are."""
        return exporting.dim_of(self._database, model)

    def skipped(self, root: Root | None = None) -> list[Skipped]:
        """Files that were seen and not indexed: of one root by their paths in it, else as shown."""
        return reading.skipped(self._database, root)

    def folders(self, root: Root) -> dict[str, tuple[set[str], set[str]]]:
        """The folders of a root that hold documents or what is left out, or such: "" is the root.

        Of each the names of the documents in it, and those of what was seen there and left out.
        """
        return reading.folders(self._database, root)

    def warnings(self) -> list[str]:
        """What extractors noted about indexed documents, each with the path it is about."""
        return reading.warnings(self._database)

    def page_coverage(self, root: Root | None = None, under: str = "") -> dict[str, Coverage]:
        """Of how many pages there is text, of documents whose pages may be pictures.

        Of one root by the paths in it, at or below ``under``; else of all as shown.
        """
        if root is None:
            with self.snapshot():
                shown = roots.Shown(self._database)
                found = reading.page_coverage(self._database)
            return {shown.path(root_id, path): coverage for root_id, path, coverage in found}
        condition, bindings = writing.below("path", under)
        found = reading.page_coverage(
            self._database, f"root_id = ? AND {condition}", (root.id, *bindings)
        )
        return {path: coverage for _, path, coverage in found}

    def counts(self) -> Counts:
        """How much there is."""
        return maintenance.counts(self._database)

    def check(self) -> list[str]:
        """What is wrong with the file, as sentences; empty when it is sound."""
        return maintenance.check(self._database)

    def damaged_copies(self) -> list[str]:
        """Names of files beside it that were damaged; ``refresh_statistics`` mends them."""
        return maintenance.damaged_copies(self._database)
