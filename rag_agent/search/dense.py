"""The question as a vector, and the chunks nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
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
    """The question that becomes a vector, in a thread of its own while its words are looked up."""

    def __init__(self, embedder: Embedder, model: int, text: str) -> None:
        self._embedder = embedder
        self._model = model
        self._text = text
        self._found: Future[tuple[Meaning | None, Sequence[str]]] = Future()
        try:
            Thread(target=self._run, name="rag_agent-question").start()
        except RuntimeError:  # there are too many already, or the interpreter is about to end
            self._run()

    def result(self) -> tuple[Meaning | None, Sequence[str]]:
        """The meaning; without one a sentence that says why."""
        return self._found.result()

    def _run(self) -> None:
        try:
            found = self._embed()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._found.set_exception(error)
        else:
            self._found.set_result(found)

    def _embed(self) -> tuple[Meaning | None, Sequence[str]]:
        try:
            return Meaning(self._model, self._embedder.embed_query(self._text)), ()
        except EmbedError as error:
            return None, (f"Ranked by words only: {error}",)


class NoReading:
    """In the place of a ``Reading`` where there are no vectors to compare with."""

    def __init__(self, why: str) -> None:
        self._why = why

    def result(self) -> tuple[Meaning | None, Sequence[str]]:
        """No meaning, and a sentence that says why."""
        return None, (f"Ranked by words only: {self._why}.",)


def read_meaning(store: Store, embedder: Embedder | None, text: str) -> Reading | NoReading:
    """What is to be asked for the question's vector."""
    if embedder is None:
        return NoReading("no embedding model is loaded")
    model = store.find_model(embedder.fingerprint)
    if model is None:
        return NoReading("nothing is embedded with the present model yet")
    return Reading(embedder, model, text[:_LONGEST_QUESTION])


def nearest(store: Store, meaning: Meaning, where: Filter | None) -> list[int]:
    """Ids of the nearest chunks."""
    found = store.nearest(meaning.model, meaning.vector, CANDIDATES, where)
    return [chunk for chunk, _ in found]


def nearest_cards(store: Store, meaning: Meaning, where: Filter | None) -> list[int]:
    """Documents whose cards are nearest, nearest first; none once every chunk has its vector."""
    if not store.count_pending(meaning.model):
        return []
    found = store.nearest_cards(meaning.model, meaning.vector, CARDS, where)
    return [document for document, _ in found]
