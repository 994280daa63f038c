"""Progress and cancellation in one function type.

A ``Report`` is called between transactions, in the thread that works. To stop the work, raise from
it: ``KeyboardInterrupt`` on the command line, the cancellation of the MCP server, any exception in
a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is. ``total`` is None while it is not known; ``item`` is a path.

    Of ``answer``, the questions of an evaluation, ``item`` is a question's id.
    ``unchanged`` counts the files, of those that are done, that needed no work.
    """

    stage: Literal["scan", "extract", "embed", "rerank", "answer", "export", "import"]
    done: int
    total: int | None = None
    item: str = ""
    unchanged: int = 0


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report to nobody."""
