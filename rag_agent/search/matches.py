"""What the candidates of a question are made of: files, and what is known of their chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.store import Outline, StoredChunk
    from rag_agent.types import Definition, StoredDocument


class ChunkMatch:
    """One chunk that may answer.

    ``passages`` are the BM25 of those of its passages that matched, ``bm25`` that of the chunk as
    a whole, ``cosine`` is None where the chunk has no vector yet, ``counts`` says how often those
    passages have the words of the question, ``covered`` what share of the question the best one
    has, ``asked`` are the definitions in it whose name stands in the question, ``alike`` says how
    alike the best name that it defines is to the question, None where that is not known yet,
    ``verbatim`` what share of the question it has word for word (``search.verbatim``).
    """

    __slots__ = (
        "alike",
        "asked",
        "bm25",
        "cosine",
        "counts",
        "covered",
        "passages",
        "stored",
        "verbatim",
    )

    def __init__(
        self,
        stored: Outline | StoredChunk,
        passages: tuple[float, ...] = (),
        bm25: float = 0.0,
        cosine: float | None = None,
        counts: Mapping[str, int] | None = None,
        covered: float = 0.0,
        asked: tuple[Definition, ...] = (),
        alike: float | None = None,
        verbatim: float = 0.0,
    ) -> None:
        self.alike = alike
        self.stored = stored
        self.passages = passages
        self.bm25 = bm25
        self.cosine = cosine
        self.counts = counts or {}
        self.covered = covered
        self.asked = asked
        self.verbatim = verbatim


class FileMatch:
    """A file and its candidate chunks. There is at least one chunk.

    ``card`` is the raw cosine of the file's card, None where it has none yet. ``commits`` says how
    much the messages of commits that changed it speak for it, in [0, 1]; ``by_path`` is the BM25
    of its path, 0 where that did not find it; ``near`` how near it is by links to the document that
    the search starts from, in [0, 1]; ``nearby`` how near each other words of the question stand in
    the best chunk of a document (``search.nearby``).
    """

    __slots__ = (
        "by_path",
        "card",
        "chunks",
        "commits",
        "document",
        "near",
        "nearby",
        "shown_path",
    )

    def __init__(
        self,
        document: StoredDocument,
        shown_path: str,
        chunks: tuple[ChunkMatch, ...],
        card: float | None = None,
        commits: float = 0.0,
    ) -> None:
        self.document = document
        self.shown_path = shown_path
        self.chunks = chunks
        self.card = card
        self.commits = commits
        self.by_path: float = 0.0
        self.near: float = 0.0
        self.nearby: float = 0.0

    def best_passages(self, count: int | None) -> list[float]:
        """The BM25 of the file's best passages, or of all, highest first."""
        scores = (score for chunk in self.chunks for score in chunk.passages)
        return sorted(scores, reverse=True)[:count]

    def best_cosines(self, count: int) -> list[float]:
        """The cosines of the file's nearest chunks, highest first; empty without vectors."""
        cosines = (chunk.cosine for chunk in self.chunks if chunk.cosine is not None)
        return sorted(cosines, reverse=True)[:count]

    @property
    def bm25(self) -> float:
        """BM25 of the best chunk as a whole."""
        return self.best.bm25

    @property
    def best(self) -> ChunkMatch:
        """The chunk with the highest BM25; of equals the first in the index."""
        return min(self.chunks, key=lambda chunk: (-chunk.bm25, chunk.stored.id))


def by_file(chunks: Sequence[ChunkMatch]) -> list[FileMatch]:
    """The chunks gathered by the file they belong to."""
    gathered: dict[int, list[ChunkMatch]] = {}
    for chunk in chunks:
        gathered.setdefault(chunk.stored.document.id, []).append(chunk)
    return [
        FileMatch(own[0].stored.document, own[0].stored.shown_path, tuple(own))
        for own in gathered.values()
    ]
