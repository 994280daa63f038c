"""Inside a file that was found: which lines to show, and how sure one may be of them."""

from __future__ import annotations

from itertools import chain

from rag_agent.search.lexical import count_words, path_words
from rag_agent.search.places import score_chunks
from rag_agent.search.pointing import (
    lines_given,
    points_at_definition,
    points_at_file,
    strangeness,
)
from rag_agent.search.verbatim import wording_of

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_agent.search.matches import ChunkMatch, FileMatch
    from rag_agent.search.question import Question
    from rag_agent.types import Kind

_SHOWN = 3  # chunks a file: with 3, 2, 1, 1 … the changed lines of 75 % of bug fixes are shown
# A long document answers in more places than a source file: with five the right lines of 97 % of
# questions about documents of 160 chunks are shown, with three of 94 %.
_SHOWN_OF_LONG = 5
_LONG = 40  # chunks, some 70,000 characters of prose
# A further chunk must be worth showing beside the best one.
_LEAST_SHARE = 0.4
# Lines of a chunk that are named for what they have word for word, if it has so much of a question.
_MOST_EXACT, _LEAST_EXACT = 3, 0.5


def choose_places(question: Question, file: FileMatch, alpha: float) -> list[int]:
    """Where in ``file.chunks`` the best chunk stands and a few more, best first.

    These are up to two, of a long document four. Where the question gives lines of the file, those
    with a line and then those with a definition that it names, and no others: the rest of what it
    says, as a stack trace, is about other files.
    """
    scores = score_chunks(question, file, alpha)
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    given = _given(question, file)
    if given:
        named = [place for place in order if place not in given and file.chunks[place].asked]
        return [*(place for place in order if place in given), *named][: _most(file)]
    least = scores[order[0]] * _LEAST_SHARE
    return [order[0], *(place for place in order[1 : _most(file)] if scores[place] > least)]


def _given(question: Question, file: FileMatch) -> set[int]:
    """Where the chunks are that have a line which the question gives."""
    lines = lines_given(question, file.document.path)
    spans = [match.stored.chunk for match in file.chunks] if lines else []
    return {
        place
        for place, chunk in enumerate(spans)
        if any(chunk.start <= line <= chunk.end for line in lines)
    }


def _most(file: FileMatch) -> int:
    is_long = file.document.kind == "prose" and file.document.chunks >= _LONG
    return _SHOWN_OF_LONG if is_long else _SHOWN


def uncounted(file: FileMatch) -> tuple[ChunkMatch, ...]:
    """Chunks whose words were not counted yet: those of a file found by meaning or by name."""
    return () if any(chunk.passages for chunk in file.chunks) else file.chunks[:_SHOWN]


def exact_lines(question: Question, match: ChunkMatch, text: str, kind: Kind) -> list[int]:
    """The first lines of a chunk that have a piece of the question word for word.

    None of a chunk that defines what the question names: its definition is what is looked for.
    """
    if match.verbatim < _LEAST_EXACT or match.asked:
        return []
    first = match.stored.chunk.start
    found = wording_of(question).lines(text, kind)
    return [first + line for line in found[:_MOST_EXACT]]


def measures(
    question: Question, file: FileMatch, texts: Iterable[str]
) -> tuple[float | None, float, float, float, int, float, float, float, float, float]:
    """The fields of ``types.Evidence`` in their order: what of the question the file has.

    They are on scales that do not depend on other files. ``texts`` are those of ``uncounted``.
    """
    found = {word for chunk in file.chunks for word in chunk.counts}
    for text in texts:
        found.update(count_words(question, text)[0])
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
        max(chunk.verbatim for chunk in file.chunks) * wording_of(question).known,
    )
