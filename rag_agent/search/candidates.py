"""From all sources to the files that may answer: passages, paths, definitions, vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rag_agent.search import dense, lexical
from rag_agent.search.definitions import weight_of
from rag_agent.search.dense import NoReading, Reading
from rag_agent.search.matches import ChunkMatch, FileMatch, by_file
from rag_agent.search.question import Question
from rag_agent.types import Definition

if TYPE_CHECKING:
    from rag_agent.store import CountedPassage, Filter, Outline, Store

_PATHS = 50  # documents by the words of their paths
_UNSEEN = 5  # of those that nothing else found: each costs reading its chunks
_CHUNKS_OF_UNSEEN = 40
_CHUNKS_BY_CARD = 3  # nothing says yet which of them answers
_DEFINITIONS = 100  # a name such as "get" is defined a thousand times; the weightiest are kept


def find_candidates(
    store: Store, question: Question, reading: Reading | NoReading, where: Filter | None
) -> list[FileMatch]:
    """The files that may answer, with what is known of their chunks, in no order."""
    passages = _passages(store, question, where)
    asked = _definitions(store, question, where)
    meaning, _ = reading.result()
    near = dense.nearest(store, meaning, where) if meaning else {}
    chunks = store.outlines([*dict.fromkeys([*passages, *near, *asked])])
    by_path = dict(store.match_paths(list(question.words), _PATHS, where))
    commits = store.history_votes(list(question.words))
    # Votes know no filter, which a question with one does not need them for.
    voted = {} if where else commits
    unseen = _unseen(store, [by_path, voted], {c.document.id for c in chunks.values()})
    cosines = dict(near)
    if meaning:
        seen = {c.document.id for c in [*chunks.values(), *unseen.values()]}
        unseen.update(_by_card(store, dense.nearest_cards(store, meaning, where), seen))
        missing = [identifier for identifier in [*chunks, *unseen] if identifier not in cosines]
        cosines.update(dense.cosines(store, meaning, missing))
    average = store.average_passage_words()
    files = by_file(
        [
            _match(question, stored, passages.get(stored.id, []), cosines, asked, average)
            for stored in [*chunks.values(), *unseen.values()]
        ]
    )
    cards = dense.cards(store, meaning, [file.document.id for file in files]) if meaning else {}
    for file in files:
        file.card = cards.get(file.document.id)
        file.commits = commits.get(file.document.id, 0.0)
        file.by_path = by_path.get(file.document.id, 0.0)
    return files


def _passages(
    store: Store, question: Question, where: Filter | None
) -> dict[int, list[CountedPassage]]:
    """By chunk, the passages that matched."""
    found: dict[int, list[CountedPassage]] = {}
    for match in store.match_counts(list(question.words), lexical.CANDIDATES, where):
        found.setdefault(match.chunk_id, []).append(match)
    return found


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
    store: Store, sources: Sequence[Mapping[int, float]], seen: set[int]
) -> dict[int, Outline]:
    """Chunks of documents that only their paths or the commits that changed them found."""
    unseen: dict[int, None] = {}
    for scores in sources:
        missing = [document for document in scores if document not in seen]
        best = sorted(missing, key=lambda document: -scores[document])[:_UNSEEN]
        unseen.update(dict.fromkeys(best))
    return store.first_outlines([*unseen], _CHUNKS_OF_UNSEEN)


def _by_card(store: Store, near: Sequence[int], seen: set[int]) -> dict[int, Outline]:
    """The first chunks of files that only their cards found."""
    return store.first_outlines([one for one in near if one not in seen], _CHUNKS_BY_CARD)


def _match(
    question: Question,
    stored: Outline,
    found: Sequence[CountedPassage],
    cosines: Mapping[int, float],
    asked: Mapping[int, Sequence[Definition]],
    average: float,
) -> ChunkMatch:
    everything, path = stored.passages, stored.document.path
    passages = [
        lexical.score_passage(question, one.counts, one.length, path, average) for one in found
    ]
    score, counts = lexical.count_chunk(question, passages, everything, path, average)
    return ChunkMatch(
        stored=stored,
        passages=tuple(sorted((score for score, _, _ in passages), reverse=True)),
        bm25=score,
        cosine=cosines.get(stored.id),
        counts=counts,
        covered=max((question.coverage(found) for _, found, _ in passages), default=0.0),
        asked=tuple(asked.get(stored.id, ())),
    )
