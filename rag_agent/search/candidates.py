"""From all sources to the files that may answer: passages, paths, definitions, vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import nsmallest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag_agent.search import dense, lexical
from rag_agent.search.columns import Candidates
from rag_agent.search.definitions import weight_of
from rag_agent.search.dense import NoReading, Reading
from rag_agent.search.heads import facts_of
from rag_agent.search.of_paths import row_of
from rag_agent.search.pointing import gives_lines, lines_given
from rag_agent.search.question import Question
from rag_agent.search.verbatim import holders, least_covered, wording_of
from rag_agent.tokens import words
from rag_agent.types import Definition

if TYPE_CHECKING:
    from rag_agent.store import Filter, Store

_PATHS = 50  # documents by the words of their paths
_UNSEEN = 5  # of those that nothing else found: each costs reading its chunks
_CHUNKS_OF_UNSEEN = 40
_CHUNKS_BY_CARD = 3  # nothing says yet which of them answers
# Chunks that are compared word for word with the question: those with most of it, and what has as
# much as the last of them.
_COMPARED, _MOST_COMPARED = 12, 60
_LINES = 50  # that a question may give of files; a log has more of them
_DEFINITIONS = 100  # a name such as "get" is defined a thousand times; the weightiest are kept


def find_candidates(
    store: Store,
    question: Question,
    reading: Reading | NoReading,
    where: Filter | None,
    linked: Mapping[int, float] | None = None,
) -> Candidates:
    """The files that may answer, with what is known of their chunks, in no order.

    ``linked`` says how near by links documents are to where the search starts from.
    """
    literal = holders(question, store, where)
    found = store.match_counts(list(question.words), lexical.CANDIDATES, where, [*literal])
    asked = _definitions(store, question, where)
    by_path = dict(store.match_paths(list(question.words), _PATHS, where))
    commits = store.history_votes(list(question.words))
    chunks = _Chunks(store)
    chunks.add([*found.chunk_ids, *asked, *literal.values()])
    chunks.look_at_paths(question)
    meaning, _ = reading.result()  # until here the question was embedded meanwhile
    if meaning:
        chunks.add(dense.nearest(store, meaning, where))
    # Votes know no filter, which a question with one does not need them for.
    unseen = _unseen([by_path, {} if where else commits], chunks.documents)
    unseen += _named(store, question, chunks.documents, where)
    chunks.add(store.first_chunks(unseen, _CHUNKS_OF_UNSEEN, where))
    if meaning:
        by_card = [
            document
            for document in dense.nearest_cards(store, meaning, where)
            if document not in chunks.documents
        ]
        chunks.add(store.first_chunks(by_card, _CHUNKS_BY_CARD, where))
    chunks.add(_at_given_lines(store, question, chunks.documents, where))
    files = Candidates(question, [*chunks.ids], chunks.owners(), found, asked, store)
    _look_word_for_word(store, files, [*literal.values(), *asked])
    if meaning:
        files.cosines = store.cosines(meaning.model, meaning.vector, files.ids.tolist())
        files.cards = store.card_cosines(meaning.model, meaning.vector, files.documents)
    files.commits = np.array([commits.get(one, 0.0) for one in files.documents])
    files.by_path = np.array([by_path.get(one, 0.0) for one in files.documents])
    if linked:
        files.near = np.array([linked.get(one, 0.0) for one in files.documents])
    return files


class _Chunks:
    """Chunks as they are found; ``documents`` are the ids of those that they belong to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owners: list[NDArray[np.int64]] = []
        self.ids: dict[int, None] = {}
        self.documents: set[int] = set()

    def add(self, chunk_ids: Iterable[int]) -> None:
        """Add those that are not there yet."""
        fresh = [one for one in dict.fromkeys(chunk_ids) if one not in self.ids]
        if not fresh:
            return
        owners = self._store.owners(fresh)
        self.ids.update(dict.fromkeys(fresh))
        self._owners.append(owners)
        documents = set(owners[0].tolist()) - self.documents
        self.documents |= documents
        for head in self._store.shown([*documents]).values():
            facts_of(head)  # remembered there

    def look_at_paths(self, question: Question) -> None:
        """Work out what paths tell of the question, which is remembered with it."""
        for head in self._store.shown([*self.documents]).values():
            row_of(question, facts_of(head))

    def owners(self) -> NDArray[np.int64]:
        """As ``Store.owners``, of all."""
        none = np.empty((2, 0), dtype=np.int64)
        return np.concatenate([none, *self._owners], axis=1)


def _named(
    store: Store, question: Question, documents: Set[int], where: Filter | None
) -> list[int]:
    """The documents whose paths the question gives, but for those that are there already.

    Stop words and all: of ``make.bat`` no word would be looked for otherwise.
    """
    named: list[int] = []
    for literal in wording_of(question).literals:
        if "." in literal.written or "/" in literal.written:
            found = [one for one, _ in store.match_paths(words(literal.written), _PATHS, where)]
            heads = store.shown([one for one in found if one not in documents])
            named += [n for n, head in heads.items() if literal.is_path(head.document.path.lower())]
    return named[:_UNSEEN]


def _look_word_for_word(store: Store, files: Candidates, literal: Sequence[int]) -> None:
    """Compare the question word for word with some chunks and those with most of its words."""
    wording = wording_of(files.question)
    if wording.says_little:
        return
    telling = np.flatnonzero(files.covered >= least_covered(files.question))
    needed = wording.needed(files.words)
    if needed is not None:
        has = files.counts[telling] > 0
        some = [has[:, row].all(axis=1) for row in needed]
        telling = telling[np.any(some, axis=0)] if some else telling[:0]
    telling = telling[np.argsort(-files.covered[telling], kind="stable")]
    if len(telling) > _COMPARED:
        # All that have as much of it as the last.
        alike = files.covered[telling] >= files.covered[telling[_COMPARED - 1]]
        telling = telling[alike][:_MOST_COMPARED]
    named = wording.named([head.document.path for head in files.heads])
    either = np.isin(files.ids, literal) | np.isin(files.file_of, named)
    places = np.union1d(telling, np.flatnonzero(either))
    ids = files.ids[places].tolist()
    texts = store.texts(ids)
    for place, identifier in zip(places.tolist(), ids, strict=True):
        document = files.heads[files.file_of[place]].document
        defined = {one.name.lower() for one in files.asked.get(identifier, ())}
        files.verbatim[place] = wording.share(
            texts.get(identifier, ""), document.path, document.kind, defined
        )


def _definitions(
    store: Store, question: Question, where: Filter | None
) -> dict[int, list[Definition]]:
    """By chunk, the weightiest definitions whose names stand in the question."""
    if not question.names:
        return {}
    pairs = store.definitions(question.names, where)
    if len(pairs) > _DEFINITIONS:
        pairs = sorted(pairs, key=lambda pair: -weight_of(pair[1], question))[:_DEFINITIONS]
    found: dict[int, list[Definition]] = {}
    for chunk_id, definition in pairs:
        found.setdefault(chunk_id, []).append(definition)
    return found


def _at_given_lines(
    store: Store, question: Question, documents: Set[int], where: Filter | None
) -> list[int]:
    """The chunks of documents that have the lines of them which the question gives."""
    if not gives_lines(question):
        return []
    given = [
        (document, line)
        for document, head in store.shown([*documents]).items()
        for line in lines_given(question, head.document.path)
    ]
    return store.chunks_at(sorted(given)[:_LINES], where)


def _unseen(sources: Sequence[Mapping[int, float]], seen: Set[int]) -> list[int]:
    """The best documents that only their paths or the commits that changed them found."""
    unseen: dict[int, None] = {}
    for scores in sources:
        # Of equals the first: that sums of votes are rounded otherwise must make no difference.
        missing = [(-round(score, 9), one) for one, score in scores.items() if one not in seen]
        unseen.update(dict.fromkeys(document for _, document in nsmallest(_UNSEEN, missing)))
    return [*unseen]
