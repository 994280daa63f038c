"""From all sources to the files that may answer: passages, paths, definitions, vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag_agent.search import dense, lexical
from rag_agent.search.columns import Candidates
from rag_agent.search.definitions import weight_of
from rag_agent.search.dense import NoReading, Reading
from rag_agent.search.names import Names
from rag_agent.search.question import Question
from rag_agent.types import Definition

if TYPE_CHECKING:
    from rag_agent.store import Filter, Outline, Store

_PATHS = 50  # documents by the words of their paths
_UNSEEN = 5  # of those that nothing else found: each costs reading its chunks
_CHUNKS_OF_UNSEEN = 40
_CHUNKS_BY_CARD = 3  # nothing says yet which of them answers
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
    found = store.match_counts(list(question.words), lexical.CANDIDATES, where)
    asked = _definitions(store, question, where)
    by_path = dict(store.match_paths(list(question.words), _PATHS, where))
    commits = store.history_votes(list(question.words))
    meaning, _ = reading.result()
    near = dense.nearest(store, meaning, where) if meaning else {}
    outlines = store.outlines([*dict.fromkeys([*found.chunk_ids, *near, *asked])])
    # Votes know no filter, which a question with one does not need them for.
    voted = {} if where else commits
    unseen = _unseen(store, [by_path, voted], {c.document.id for c in outlines.values()}, where)
    cosines = dict(near)
    if meaning:
        seen = {c.document.id for c in [*outlines.values(), *unseen.values()]}
        unseen.update(_by_card(store, dense.nearest_cards(store, meaning, where), seen, where))
        missing = [identifier for identifier in [*outlines, *unseen] if identifier not in cosines]
        cosines.update(dense.cosines(store, meaning, missing))
    files = Candidates(
        question,
        [*outlines.values(), *unseen.values()],
        found,
        cosines,
        asked,
        store.average_passage_words(),
        store.memory.setdefault("names", Names()),
    )
    documents = [head.document.id for head in files.heads]
    cards = dense.cards(store, meaning, documents) if meaning else {}
    files.cards = np.array([cards.get(document, np.nan) for document in documents])
    files.commits = np.array([commits.get(document, 0.0) for document in documents])
    files.near = np.array([(linked or {}).get(document, 0.0) for document in documents])
    files.by_path = np.array([by_path.get(document, 0.0) for document in documents])
    return files


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


def _unseen(
    store: Store,
    sources: Sequence[Mapping[int, float]],
    seen: set[int],
    where: Filter | None,
) -> dict[int, Outline]:
    """Chunks of documents that only their paths or the commits that changed them found."""
    unseen: dict[int, None] = {}
    for scores in sources:
        missing = [document for document in scores if document not in seen]
        best = sorted(missing, key=lambda document: -scores[document])[:_UNSEEN]
        unseen.update(dict.fromkeys(best))
    return store.first_outlines([*unseen], _CHUNKS_OF_UNSEEN, where)


def _by_card(
    store: Store, near: Sequence[int], seen: set[int], where: Filter | None
) -> dict[int, Outline]:
    """The first chunks of files that only their cards found."""
    return store.first_outlines([one for one in near if one not in seen], _CHUNKS_BY_CARD, where)
