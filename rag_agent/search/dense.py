"""The question as a vector, and the chunks nearest to it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.errors import EmbedError

if TYPE_CHECKING:
    from rag_agent.store import Filter, Store
    from rag_agent.types import Embedder, Vector

CARDS = 30  # files by their cards, while chunks lack vectors
CANDIDATES = 100  # chunks; 200 rank no better and take longer to read
_LONGEST_QUESTION = 4_000  # characters; far beyond the window of any model here


@dataclass(frozen=True, slots=True)
class Meaning:
    """The question's vector, and the id of its model in the store."""

    model: int
    vector: Vector


class Reading:
    """The question on its way to a vector, which is made while its words are looked up.

    The model computes outside of Python's lock, for two to twenty milliseconds, so on a second core
    that costs a search nothing.
    """

    def __init__(self, embedder: Embedder, model: int, text: str) -> None:
        self._embedder = embedder
        self._model = model
        self._text = text
        self._vector: Vector | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._embed, name="question", daemon=True)
        self._thread.start()

    def result(self) -> tuple[Meaning | None, Sequence[str]]:
        """The meaning, waited for; without one a sentence that says why."""
        self._thread.join()
        if isinstance(self._error, EmbedError):
            return None, (f"Ranked by words only: {self._error}",)
        if self._error is not None:
            raise self._error
        assert self._vector is not None
        return Meaning(self._model, self._vector), ()

    def _embed(self) -> None:
        try:
            self._vector = self._embedder.embed_query(self._text)
        except Exception as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error


class NoReading:
    """In the place of a ``Reading`` where there are no vectors to compare with."""

    def __init__(self, why: str) -> None:
        self._why = why

    def result(self) -> tuple[Meaning | None, Sequence[str]]:
        """No meaning, and a sentence that says why."""
        return None, (f"Ranked by words only: {self._why}.",)


def read_meaning(store: Store, embedder: Embedder | None, text: str) -> Reading | NoReading:
    """Begin to make the question a vector."""
    if embedder is None:
        return NoReading("no embedding model is loaded")
    model = store.find_model(embedder.fingerprint)
    if model is None:
        return NoReading("nothing is embedded with the present model yet")
    return Reading(embedder, model, text[:_LONGEST_QUESTION])


def nearest(store: Store, meaning: Meaning, where: Filter | None) -> dict[int, float]:
    """Raw cosine of the nearest chunks by id."""
    return dict(store.nearest(meaning.model, meaning.vector, CANDIDATES, where))


def nearest_cards(store: Store, meaning: Meaning, where: Filter | None) -> list[int]:
    """Documents whose cards are nearest, nearest first; none once every chunk has its vector."""
    if not store.count_pending(meaning.model):
        return []
    found = store.nearest_cards(meaning.model, meaning.vector, CARDS, where)
    return [document for document, _ in found]


def cosines(store: Store, meaning: Meaning, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Raw cosine of those of the chunks that have a vector."""
    return store.cosines(meaning.model, meaning.vector, chunk_ids) if chunk_ids else {}


def cards(store: Store, meaning: Meaning, document_ids: Sequence[int]) -> dict[int, float]:
    """Raw cosine of the cards of those of the documents that have one."""
    return store.card_cosines(meaning.model, meaning.vector, document_ids) if document_ids else {}
