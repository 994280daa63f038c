"""What is known of a candidate in the light of a question, gathered once for all signals."""

from __future__ import annotations

import math
from functools import lru_cache

from rag_agent.search.definitions import Likeness, weight_of, written_as_code
from rag_agent.search.lexical import bm25_of_file
from rag_agent.search.path_classes import path_facts
from rag_agent.tokens import query_words, words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_agent.search.matches import FileMatch
    from rag_agent.search.path_classes import PathFacts
    from rag_agent.search.question import Question
    from rag_agent.store import Store
    from rag_agent.store.glance import Glance
    from rag_agent.types import Kind, StoredDocument

PLACES = 3  # of its best places as many speak for a file


class Corpus:
    """What an index holds.

    ``average`` is the mean length of its passages in words, ``languages`` says how many files of
    code each language has as a share of the most common one's.
    """

    __slots__ = ("average", "languages")

    def __init__(self, average: float, languages: Mapping[str, float]) -> None:
        self.average = average
        self.languages = languages


def corpus_of(store: Store | Glance) -> Corpus:
    """What the index that is open holds."""
    return Corpus(store.average_passage_words(), store.language_shares())


class Facts:
    """A file before a question. BM25 and cosines are raw, shares are in [0, 1].

    ``passages`` and ``chunks`` are BM25, best first, the chunks' not empty; ``whole`` is the BM25
    of all that matched. ``covered`` are shares of the question by rarity. ``asked`` are the
    weights of the definitions that the question names, ``named_as_code`` is high for the few
    definitions of a name that can be nothing else. ``common`` is how common the language of code is
    here. ``titled`` is the share of a document's title that the question has, ``verbatim`` that of
    the question which one of the chunks has word for word. ``size`` counts the
    file's chunks, ``defined`` the definitions in those that are candidates. What is not known is
    None.
    """

    __slots__ = (
        "asked",
        "card",
        "chunks",
        "commits",
        "common",
        "cosine",
        "cosine_of_three",
        "covered",
        "covered_by_chunk",
        "covered_by_passage",
        "defined",
        "file",
        "in_headings",
        "kind",
        "named_as_code",
        "names",
        "near",
        "nearby",
        "passages",
        "path",
        "question",
        "size",
        "titled",
        "verbatim",
        "whole",
    )

    def __init__(self, question: Question, file: FileMatch, corpus: Corpus) -> None:
        document = file.document
        self.question: Question = question
        self.file: FileMatch = file
        self.kind: Kind = document.kind
        is_code = document.kind == "code"
        self.common: float = corpus.languages.get(document.language, 0.0) if is_code else 0.0
        self.path: PathFacts = path_facts(document.path)
        self.size: int = max(document.chunks, len(file.chunks))
        self.passages: list[float] = file.best_passages(None)
        self.chunks: list[float] = sorted((chunk.bm25 for chunk in file.chunks), reverse=True)
        counts: dict[str, int] = {}
        for chunk in file.chunks:
            for word, count in chunk.counts.items():
                counts[word] = counts.get(word, 0) + count
        self.whole: float = bm25_of_file(question, counts, self.size, corpus.average)
        self.covered: float = question.coverage(counts)
        self.covered_by_chunk: float = max(question.coverage(chunk.counts) for chunk in file.chunks)
        self.covered_by_passage: float = max(chunk.covered for chunk in file.chunks)
        cosines = file.best_cosines(PLACES)
        self.cosine: float | None = cosines[0] if cosines else None
        self.cosine_of_three: float | None = math.fsum(cosines) / len(cosines) if cosines else None
        self.card: float | None = file.card
        self.commits: float = file.commits
        self.near: float = file.near
        self.nearby: float = file.nearby
        definitions = [found for c in file.chunks for found in c.stored.chunk.definitions]
        self.defined: int = len(definitions)
        self.names: Likeness = Likeness(question, definitions)
        self.in_headings: float = max(
            (
                question.coverage(words(heading))
                for heading in {chunk.stored.chunk.heading for chunk in file.chunks}
                if heading
            ),
            default=0.0,
        )
        self.titled: float = titled(question, document)
        self.verbatim: float = max(chunk.verbatim for chunk in file.chunks)
        named = [found for chunk in file.chunks for found in chunk.asked]
        self.asked: list[float] = [weight_of(found, question) for found in named]
        self.named_as_code: float = max(
            (1.0 for found in named if written_as_code(found.name)), default=0.0
        )


def titled(question: Question, document: StoredDocument) -> float:
    """The share of a document's title that the question has; what is no document has none."""
    return question.share_of(title_words(document.title)) if document.kind == "prose" else 0.0


@lru_cache(maxsize=10_000)
def title_words(title: str) -> tuple[str, ...]:
    """The words of a title that carry meaning."""
    return tuple(query_words(title))
