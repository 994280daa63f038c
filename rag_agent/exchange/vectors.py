"""Vectors of an export, for the chunks here that say the same."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag_agent.embed import MODELS, passage_text
from rag_agent.errors import ModelMismatch
from rag_agent.exchange.lines import ChunkLine, HeaderLine
from rag_agent.exchange.reading import Group, Problem
from rag_agent.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNIT = 0.01  # how far the length of a vector may be from 1
_LARGEST = 65_536  # numbers of a vector of a model that is not known here


class Vectors:
    """Puts the vectors of one export into a store. ``given`` counts those that it put."""

    def __init__(self, store: Store, header: HeaderLine, problem: Problem) -> None:
        self.given = 0
        self._store = store
        self._problem = problem
        self._dim = header.dim or 0
        self._model = _model(store, header, problem)

    def put(self, document_id: int, group: Group) -> None:
        """Give vectors to those chunks that lack one and say what a chunk of the export says.

        And to the document as a whole, where what it would be made of is the same.
        """
        import numpy as np

        if self._model is None:
            return
        store, line = self._store, group.document
        given = {
            passage_text(
                line.path, line.title, one.heading, one.text, line.description, line.tags
            ): vector
            for one, vector in self._of_chunks(group)
        }
        wanted = {
            p.id: given[text]
            for p in store.pending_of(self._model, document_id)
            if (text := passage_text(p.path, p.title, p.heading, p.text, p.description, p.tags))
            in given
        }
        if wanted:
            store.put_vectors(self._model, list(wanted), np.stack(list(wanted.values())))
            self.given += len(wanted)
        pending = store.pending_cards(self._model, 1, document_id - 1)
        if line.card is None or not pending or pending[0].document_id != document_id:
            return
        if pending[0].digest.hex() == line.card.digest:
            card = _vector(line.card.vector, self._dim)
            if card is None:
                self._problem(f"line {group.line}: the card of {line.path} is no vector")
            else:
                store.put_cards(self._model, pending, card[np.newaxis, :])
                self.given += 1

    def _of_chunks(self, group: Group) -> Iterator[tuple[ChunkLine, NDArray[np.float32]]]:
        for number, line in enumerate(group.chunks, start=group.line + 1):
            if line.vector is None:
                continue
            vector = _vector(line.vector, self._dim)
            if vector is None:
                self._problem(f"line {number}: the vector of {line.path} is none, and is made anew")
            else:
                yield line, vector


def _model(store: Store, header: HeaderLine, problem: Problem) -> int | None:
    """The store's id of the model whose vectors are taken, None where none can be."""
    if header.model is None and header.dim is None:
        return None
    if not header.model or header.dim is None:
        problem("line 1: a model and how many numbers its vectors have only count together")
        return None
    # A fingerprint begins with the model's name; how long its vectors are no revision changes.
    known = MODELS.get(header.model.partition("@")[0])
    if not 1 <= header.dim <= _LARGEST or (known is not None and known.dim != header.dim):
        should = f"{known.dim:,}" if known else f"1 to {_LARGEST:,}"
        problem(
            f"line 1: vectors of {str(header.dim)[:20]} numbers are none of {header.model[:100]}, "
            f"whose have {should}; they are made anew"
        )
        return None
    try:
        return store.model(header.model, header.dim)
    except ModelMismatch as error:
        problem(f"line 1: {error}")
        return None


def _vector(text: str, dim: int) -> NDArray[np.float32] | None:
    """The numbers, None where they are not as many as there should be or no unit vector."""
    import numpy as np

    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) != 4 * dim:
        return None
    vector = np.frombuffer(data, "<f4")
    if not np.isfinite(vector).all():
        return None
    length = float(np.linalg.norm(vector.astype(np.float64)))  # the squares need more room
    # Zeros stand for what the model could not give (store.dense.finite).
    return vector if length == 0 or abs(length - 1) <= _UNIT else None
