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
from rag_agent.search import fusion
from rag_agent.search.facts import corpus_of
from rag_agent.search.lexical import CANDIDATES, count_chunk, count_passage
from rag_agent.search.matches import ChunkMatch, FileMatch, by_file
from rag_agent.search.nearby import nearby
from rag_agent.search.passages import choose_places, measures
from rag_agent.search.question import Question, read_question
from rag_agent.store.folding import fold
from rag_agent.tokens import estimate_tokens

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from rag_agent.hook.settings import Settings
    from rag_agent.search.lexical import Counted
    from rag_agent.store.glance import Glance, GlancedPassage

_READ = 40  # passages, the best by FTS5, that choose the files to look at
_PLACES = 3  # of a file's passages speak for it
_FILES = 12  # the best of them, of which all that matched is read
_WORDS_ALONE = 1.0  # what BM25 weighs where there is no meaning


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


class _Stored:
    """What ``ChunkMatch`` wants of a stored chunk."""

    __slots__ = ("best", "chunk", "document", "id", "shown_path")

    def __init__(self, chunk: Any, document: Any, best: GlancedPassage) -> None:
        self.id = chunk.id
        self.chunk = chunk
        self.document = document
        self.shown_path = document.shown_path
        self.best = best


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
        scored = _files(glance, question)
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


def _files(glance: Glance, question: Question) -> list[tuple[float, FileMatch]]:
    """Files that may answer with their scores, by the program's own rules."""
    matched = glance.match(list(question.words), CANDIDATES)
    known: dict[GlancedPassage, Counted] = {}
    promising = _gathered(glance, question, matched[:_READ], known)
    promising.sort(key=lambda file: (-sum(file.best_passages(_PLACES)), file.shown_path))
    documents: list[Any] = [file.document for file in promising[:_FILES]]
    chosen = {document.id for document in documents}
    whole = [passage for passage in matched if passage.document_id in chosen]
    files = _gathered(glance, question, whole, known, with_definitions=True)
    votes = glance.history_votes(list(question.words))
    for file in files:
        file.commits = votes.get(file.document.id, 0.0)
        if file.document.kind == "prose":
            file.nearby = nearby(question, file.best.counts, file.best.stored.chunk.text)
    parts = fusion.score(question, files, _WORDS_ALONE, corpus_of(glance))
    return [(sum(own.values()), file) for own, file in zip(parts, files, strict=True)]


def _gathered(
    glance: Glance,
    question: Question,
    matched: Sequence[GlancedPassage],
    known: dict[GlancedPassage, Counted],
    *,
    with_definitions: bool = False,
) -> list[FileMatch]:
    """The files of passages, with the BM25 of these and of their chunks.

    ``known`` are passages that are counted already, and gets the others.
    """
    average = glance.average_passage_words()
    chunks = glance.chunks({passage.chunk_id for passage in matched})
    documents = glance.files({passage.document_id for passage in matched})
    defined = glance.definitions(chunks) if with_definitions else {}
    names = {fold(name) for name in question.names}
    by_chunk: dict[int, list[GlancedPassage]] = {}
    for passage in matched:
        by_chunk.setdefault(passage.chunk_id, []).append(passage)
    matches = []
    for identifier, passages in by_chunk.items():
        chunk, document = chunks[identifier], documents[passages[0].document_id]
        chunk.definitions = defined.get(identifier, [])
        for passage in passages:
            if passage not in known:
                text = passage.text(chunk.text)
                known[passage] = count_passage(question, text, document.path, average)
        counted = [known[passage] for passage in passages]
        score, counts = count_chunk(question, counted, chunk.passages, document.path, average)
        best = max(range(len(counted)), key=lambda place: counted[place][0])
        asked: Any = tuple(each for each in chunk.definitions if fold(each.name) in names)
        stored: Any = _Stored(chunk, document, passages[best])
        matches.append(
            ChunkMatch(
                stored=stored,
                passages=tuple(sorted((one for one, _, _ in counted), reverse=True)),
                bm25=score,
                counts=counts,
                covered=max(question.coverage(found) for _, found, _ in counted),
                asked=asked,
            )
        )
    return by_file(matches)


def _found(question: Question, file: FileMatch) -> Found:
    places = choose_places(question, file, _WORDS_ALONE)
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
