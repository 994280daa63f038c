"""What the path of a file tells about a question, for the signals that need no more than that.

It is measured file by file and remembered with the question, so that a search can do it while it
waits for the question's vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_agent.search.signals import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_agent.search.heads import HeadFacts
    from rag_agent.search.path_classes import PathFacts
    from rag_agent.search.question import Question
    from rag_agent.types import Kind

_TITLE = "defined names: title"
# Nothing but 0 for a path that shares no word with the question, as most do not.
_SHARED_KEYS = (
    "file name: name covered",
    "file name: whole name",
    "file name: question in name",
    "file name: rarest word",
    "folders: nearest folder",
    "folders: all folders",
    "folders: question in folders",
    "folders: question in path",
)
_WRITTEN_KEYS = ("file name: as written", "file name: with its ending")
KEYS = (*_SHARED_KEYS, *_WRITTEN_KEYS, _TITLE)


def _measures(keys: Sequence[str]) -> list[Callable[[Any], float | None]]:
    by_key = {signal.key: signal.measure for signal in SIGNALS}
    return [by_key[key] for key in keys]


_SHARED, _WRITTEN = _measures(_SHARED_KEYS), _measures(_WRITTEN_KEYS)
_NOTHING = (0.0,) * len(_SHARED)


class PathView:
    """A file as signals see it that look at nothing but its path."""

    __slots__ = ("kind", "path", "question")

    def __init__(self, question: Question, path: PathFacts, kind: Kind) -> None:
        self.question = question
        self.path = path
        self.kind = kind


def row_of(question: Question, facts: HeadFacts) -> tuple[float, ...]:
    """The values of the signals in ``KEYS``."""
    row = question.path_rows.get(facts)
    if row is None:
        view = PathView(question, facts.path, facts.kind)
        shared = _NOTHING
        if question.shares(facts.names, facts.beginnings):
            shared = tuple(measure(view) or 0.0 for measure in _SHARED)
        written = tuple(measure(view) or 0.0 for measure in _WRITTEN)
        title = question.share_of(facts.title) if facts.title else 0.0
        row = question.path_rows[facts] = (*shared, *written, title)
    return row
