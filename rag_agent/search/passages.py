"""Inside a file that was found: which lines to show, and how sure one may be of them."""

from __future__ import annotations

from itertools import chain

from rag_agent.search.lexical import count_words, path_words
from rag_agent.search.places import score_chunks
from rag_agent.search.pointing import points_at_definition, points_at_file, strangeness

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.matches import FileMatch
    from rag_agent.search.question import Question
    from rag_agent.types import Chunk, Evidence

_SHOWN = 3  # chunks a file: with 3, 2, 1, 1 … the changed lines of 75 % of bug fixes are shown
# A long document answers in more places than a source file: with five the right lines of 97 % of
# questions about documents of 160 chunks are shown, with three of 94 %.
_SHOWN_OF_LONG = 5
_LONG = 40  # chunks, some 60 pages
# A further chunk must be worth showing beside the best one.
_LEAST_SHARE = 0.4


def choose_chunks(question: Question, file: FileMatch, alpha: float) -> list[Chunk]:
    """The best chunk and a few more, best first, under the path that people see.

    These are up to two, of a long document four.
    """
    from dataclasses import replace

    shown = choose_places(question, file, alpha)
    return [replace(file.chunks[place].stored.chunk, path=file.shown_path) for place in shown]


def choose_places(question: Question, file: FileMatch, alpha: float) -> list[int]:
    """Where in ``file.chunks`` these stand."""
    scores = score_chunks(question, file, alpha)
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    least = scores[order[0]] * _LEAST_SHARE
    return [order[0], *(place for place in order[1 : _most(file)] if scores[place] > least)]


def _most(file: FileMatch) -> int:
    is_long = file.document.kind == "prose" and file.document.chunks >= _LONG
    return _SHOWN_OF_LONG if is_long else _SHOWN


def evidence(question: Question, file: FileMatch) -> Evidence:
    """What of the question the file has, on scales that do not depend on other files."""
    from rag_agent.types import Evidence

    return Evidence(*measures(question, file))


def measures(
    question: Question, file: FileMatch
) -> tuple[float | None, float, float, float, int, float, float, float, float]:
    """The fields of ``Evidence`` in their order."""
    found = {word for chunk in file.chunks for word in chunk.counts}
    if not any(chunk.passages for chunk in file.chunks):
        # Found by meaning or by name: its words were not counted yet.
        for chunk in file.chunks[:_SHOWN]:
            found.update(count_words(question, chunk.stored.chunk.text)[0])
    found.update(path_words(file.document.path))
    cosines = file.best_cosines(1)
    bm25 = max(file.best_passages(1), default=0.0)
    return (
        cosines[0] if cosines else None,
        question.coverage(found),
        bm25,
        bm25 / question.weight if question.weight else 0.0,
        len(question.words),
        question.familiar,
        points_at_definition(question, chain.from_iterable(chunk.asked for chunk in file.chunks)),
        points_at_file(question, file.document.path),
        strangeness(question),
    )
