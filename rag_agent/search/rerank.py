"""The best files of a search once more, by a model that reads question and text together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_agent.errors import EmbedError

if TYPE_CHECKING:
    from rag_agent.embed.loading import LateModel
    from rag_agent.search.hybrid import Scored
    from rag_agent.types import Reranker

SIGNAL = "reranker"

# Of a pasted log the head says what it is about, and the text needs room beside it in the window.
_LONGEST_QUESTION = 400  # characters, a hundred tokens
# Texts between two looks at the clock: work for as many cores as embedding uses at most.
_BATCH = 4


class Reranking:
    """A reranker at the service of one search, with the time it has for reading, in seconds.

    Loading it, once a process, comes on top. It is waited for and not left to a thread of its own:
    a command that ends while onnxruntime loads is aborted. A search that is asked again, since a
    file has changed, reads only what is new, in the time that is left.
    """

    def __init__(
        self,
        model: LateModel[Reranker],
        top: int,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._top = top
        self._seconds = seconds
        self._clock = clock
        self._left = seconds
        self._known: dict[str, float] = {}

    def rerank(
        self, query: str, ranked: Sequence[Scored], text_of: Callable[[Scored], str]
    ) -> tuple[list[Scored], tuple[str, ...]]:
        """The files in their new order, or as they were and a sentence that says why.

        The model's scores alone order the first ``top``, all of which it has to have read; where
        they are equal the order stays, and the other files stay behind. Each place keeps the score
        that it had, since the model's own are on another scale than those of the rest; the signal
        "reranker" of a file is what that gives to it or takes from it.
        """
        best = ranked[: self._top]
        if len(best) < 2:
            return list(ranked), ()
        reranker = self._model.get()
        if reranker is None:
            return list(ranked), (f"Not reranked: {self._model.problem}.",)
        texts = [text_of(scored) for scored in best]
        try:
            read = self._read(reranker, query[:_LONGEST_QUESTION], texts)
        except EmbedError as error:
            return list(ranked), (f"Not reranked: {error}.",)
        if read < len(texts):
            return list(ranked), (self._why_not_read(read, len(texts)),)
        order = sorted(range(len(best)), key=lambda place: -self._known[texts[place]])
        moved = [_with_score(best[place], at.score) for place, at in zip(order, best, strict=True)]
        return [*moved, *ranked[self._top :]], ()

    def _read(self, reranker: Reranker, query: str, texts: Sequence[str]) -> int:
        """How many of the texts the model has read when it ends, or when the time does."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        before = self._clock()
        for done in range(0, len(missing), _BATCH):
            spent = self._clock() - before
            # Where all would take twice the time, it is given up at once. Twice, since the first
            # texts are the slowest: a model takes its memory in the first run.
            whole = spent * len(missing) / done if done else 0.0
            if spent >= self._left or whole > 2 * self._left:
                break
            batch = missing[done : done + _BATCH]
            self._known.update(zip(batch, reranker.scores(query, batch), strict=True))
        self._left -= self._clock() - before
        return sum(text in self._known for text in texts)

    def _why_not_read(self, read: int, wanted: int) -> str:
        return (
            f"Not reranked: {self._seconds * 1000:,.0f} ms (ragRerankBudgetMs) are enough for about"
            f" {read} of {wanted} files (ragRerankTop)."
        )


def _with_score(scored: Scored, score: float) -> Scored:
    return replace(scored, signals={**scored.signals, SIGNAL: score - scored.score})
