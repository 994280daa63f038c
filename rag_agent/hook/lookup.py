"""The context of a prompt by words alone: as ``context.build`` makes it, without what that loads.

The questions, scores, signals and the gate are the program's own, given rows of a ``Glance`` where
the program gives them nouns of ``types``.
"""

from __future__ import annotations

import os

from rag_agent.context.fence import harmless, one_line
from rag_agent.context.follow import joined, leans_on
from rag_agent.context.gate import certainty, silence
from rag_agent.context.room import fits, named, text_of, with_named
from rag_agent.context.shown import key_of
from rag_agent.hook.candidates import WORDS_ALONE, scored_files
from rag_agent.search.passages import choose_places, measures
from rag_agent.search.question import Question, read_question
from rag_agent.tokens import estimate_tokens

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from rag_agent.hook.settings import Settings
    from rag_agent.search.matches import FileMatch
    from rag_agent.store.glance import Glance


class Answer:
    """What ``types.Context`` holds; ``hits`` have a ``chunk`` and ``more``, all with their text."""

    __slots__ = ("hits", "query", "reasons", "text", "tokens")

    def __init__(self, query: str = "", reasons: tuple[str, ...] = ()) -> None:
        self.text = ""
        self.tokens = 0
        self.hits: list[Found] = []
        self.query = query
        self.reasons = reasons


class Found:
    """A file that answers: its best chunk and up to two more, and the best passage's lines."""

    __slots__ = ("certainty", "chunk", "more", "passage")

    def __init__(self, chunks: Sequence[Shown], passage: Shown, sure: float) -> None:
        self.chunk = chunks[0]
        self.more = tuple(chunks[1:])
        self.passage = passage
        self.certainty = sure


class Shown:
    """Consecutive lines of a file under the path that people see."""

    __slots__ = ("end", "heading", "path", "start", "text")

    def __init__(self, path: str, start: int, end: int, heading: str, text: str) -> None:
        self.path = path
        self.start = start
        self.end = end
        self.heading = heading
        self.text = text


class _Evidence:
    """The fields of ``types.Evidence``."""

    __slots__ = (
        "bm25",
        "cosine",
        "coverage",
        "defined",
        "familiar",
        "file",
        "passage",
        "strange",
        "verbatim",
        "words",
    )

    def __init__(
        self,
        cosine: float | None,
        coverage: float,
        bm25: float,
        passage: float,
        words: int,
        familiar: float,
        defined: float,
        file: float,
        strange: float,
        verbatim: float,
    ) -> None:
        self.cosine = cosine
        self.coverage = coverage
        self.bm25 = bm25
        self.passage = passage
        self.words = words
        self.familiar = familiar
        self.defined = defined
        self.file = file
        self.strange = strange
        self.verbatim = verbatim


def answer(
    glance: Glance,
    prompt: str,
    settings: Settings,
    shown: Collection[bytes],
    before: str,
    budget: int,
) -> Answer:
    """The context for a prompt, empty if there is nothing to say.

    ``shown`` has the keys of chunks that are not to be shown again, ``before`` what the session
    asked last, ``budget`` is in tokens.
    """
    query = joined(prompt, before) if before and leans_on(prompt, before) else prompt
    reason = silence(query)
    if reason:
        return Answer(reasons=(reason,))
    hits = [
        hit
        for hit in search(glance, query, settings.rag_top_k)
        if hit.certainty >= settings.rag_score_threshold and key_of_shown(hit.chunk) not in shown
    ]
    for hit in hits:
        hit.more = tuple(chunk for chunk in hit.more if key_of_shown(chunk) not in shown)
    return _packed(hits, query, budget)


def search(glance: Glance, text: str, limit: int) -> list[Found]:
    """The files that answer by their words, best first, of those that are as they were indexed.

    As ``search.hybrid`` without an embedder, but for files that only their paths or names find.
    """
    question, _ = read_question(glance, text)
    with glance.snapshot():
        scored = scored_files(glance, question)
    files = sorted(scored, key=lambda pair: (-pair[0], pair[1].shown_path))
    found: list[Found] = []
    for _, file in files:
        if len(found) == limit:
            break
        if _is_current(file.document):
            found.append(_found(question, file))
    return found


def key_of_shown(chunk: Shown) -> bytes:
    """The chunk's name in the memory of turns, as the server gives it."""
    stands_for: Any = chunk
    return key_of(stands_for)


def _found(question: Question, file: FileMatch) -> Found:
    places = choose_places(question, file, WORDS_ALONE)
    stored: list[Any] = [file.chunks[place].stored for place in places]
    path = file.shown_path
    chunks = [
        Shown(path, one.chunk.start, one.chunk.end, one.chunk.heading, one.chunk.text)
        for one in stored
    ]
    first, best = stored[0].chunk, stored[0].best
    passage = Shown(path, best.start, best.end, first.heading, best.text(first.text))
    evidence: Any = _Evidence(*measures(question, file, ()))
    return Found(chunks, passage, certainty(evidence))


def _is_current(document: Any) -> bool:
    """Whether the file is as it was indexed: by size and time, else by hash."""
    try:
        found = os.stat(document.absolute)  # noqa: PTH116
        if found.st_size != document.size:
            return False
        if found.st_mtime_ns == document.mtime_ns:
            return True
        import hashlib

        with open(document.absolute, "rb") as stream:  # noqa: PTH123
            return hashlib.sha256(stream.read()).hexdigest() == str(document.sha256)
    except OSError:
        return False


def _packed(hits: Sequence[Found], query: str, budget: int) -> Answer:
    """Each file with all its chunks, else its best ones, else a passage's lines, else named.

    What is not all of its chunk counts as shown like it.
    """
    result = Answer(query)
    blocks: list[str] = []
    left: list[str] = []
    places = [_place(hit.chunk) for hit in hits]
    for number, hit in enumerate(hits):
        ending = named([*left, *places[number + 1 :]], budget)
        choices = [(hit.chunk, *hit.more[:count]) for count in range(len(hit.more), -1, -1)]
        for pieces in (*choices, (hit.passage,)):
            shown = [*blocks, *map(_block, pieces)]
            if fits([*shown, *ending], budget):
                blocks = shown
                hit.more = pieces[1:]
                result.hits.append(hit)
                break
        else:
            left.append(places[number])
    if blocks:
        result.text = text_of(with_named(blocks, left, budget))
        result.tokens = estimate_tokens(result.text)
    return result


def _block(piece: Shown) -> str:
    return f"{_place(piece)}\n{harmless(piece.text)}"


def _place(piece: Shown) -> str:
    place = one_line(f"{piece.path}:{piece.start}-{piece.end}")
    heading = one_line(piece.heading)
    return f"{place}  {heading}" if heading else place
