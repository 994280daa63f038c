"""The files that may answer a prompt by its words: as ``search.candidates``, without numpy."""

from __future__ import annotations

import math

from rag_agent.search import fusion
from rag_agent.search.facts import corpus_of
from rag_agent.search.lexical import CANDIDATES, count_chunk, count_passage
from rag_agent.search.matches import ChunkMatch, FileMatch, by_file
from rag_agent.search.nearby import nearby
from rag_agent.search.verbatim import holders, least_covered, wording_of
from rag_agent.store.folding import fold

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from rag_agent.search.lexical import Counted
    from rag_agent.search.question import Question
    from rag_agent.store.glance import Glance, GlancedPassage

WORDS_ALONE = 1.0
"""What BM25 weighs where there is no meaning."""

_READ = 40  # passages, the best by FTS5, that choose the files to look at
_PLACES = 3  # of a file's passages speak for it
_FILES = 12  # the best of them, of which all that matched is read


class _Stored:
    """What ``ChunkMatch`` wants of a stored chunk."""

    __slots__ = ("best", "chunk", "document", "id", "shown_path")

    def __init__(self, chunk: Any, document: Any, best: GlancedPassage) -> None:
        self.id = chunk.id
        self.chunk = chunk
        self.document = document
        self.shown_path = document.shown_path
        self.best = best


def scored_files(glance: Glance, question: Question) -> list[tuple[float, FileMatch]]:
    """Files that may answer with their scores, by the program's own rules."""
    literal = holders(question, glance)
    literally = set(literal.values())
    matched = glance.match(list(question.words), CANDIDATES, [*literal])
    known: dict[GlancedPassage, Counted] = {}
    first = [*matched[:_READ], *(one for one in matched[_READ:] if one.chunk_id in literally)]
    promising = _gathered(glance, question, first, known)
    _compare(question, promising, literally)
    promising.sort(key=lambda file: (-_promise(question, file), file.shown_path))
    documents: list[Any] = [file.document for file in promising[:_FILES]]
    chosen = {document.id for document in documents}
    whole = [passage for passage in matched if passage.document_id in chosen]
    files = _gathered(glance, question, whole, known, with_definitions=True)
    _compare(question, files, literally)
    votes = glance.history_votes(list(question.words))
    for file in files:
        file.commits = votes.get(file.document.id, 0.0)
        if file.document.kind == "prose":
            file.nearby = nearby(question, file.best.counts, file.best.stored.chunk.text)
    parts = fusion.score(question, files, WORDS_ALONE, corpus_of(glance))
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


def _compare(question: Question, files: Sequence[FileMatch], literally: Collection[int]) -> None:
    """Say of the chunks of files what they have of the question word for word.

    ``literally`` are the ids of chunks that hold a literal of it.
    """
    wording = wording_of(question)
    if wording.says_little:
        return
    least = least_covered(question)
    named = wording.named([file.document.path for file in files])
    for place, file in enumerate(files):
        document = file.document
        for chunk in file.chunks:
            stored = chunk.stored
            if place in named or chunk.asked or chunk.covered >= least or stored.id in literally:
                defined = {one.name.lower() for one in chunk.asked}
                chunk.verbatim = wording.share(
                    stored.chunk.text, document.path, document.kind, defined
                )


def _promise(question: Question, file: FileMatch) -> float:
    """What speaks for a file before what it defines is read: its words, and these in a row."""
    words = math.fsum(file.best_passages(_PLACES)) / (_PLACES * question.most)
    return words + max(chunk.verbatim for chunk in file.chunks)
