"""A look at an index for one question in words, without the rest of the program.

A hook that no server answers starts a process for every prompt, in which importing dataclasses
alone takes as long as the search. So rows come as tuples and plain objects here; what they mean,
and whether the file is ours at all, the modules say that ``Store`` uses as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from rag_agent.store import history, lexical, roots
from rag_agent.store.opening import open_database

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rag_agent.store.connection import Database
    from rag_agent.store.filters import Filter
    from rag_agent.types import DefinitionKind

_LAST_SYNC = "last_sync"


class GlancedFile:
    """A document: its place on disk and among hits, and what was true when it was read.

    ``chunks`` counts those that it is cut into.
    """

    __slots__ = (
        "absolute",
        "chunks",
        "id",
        "kind",
        "language",
        "mtime_ns",
        "path",
        "sha256",
        "shown_path",
        "size",
        "title",
    )

    def __init__(
        self,
        id: int,
        path: str,
        kind: str,
        shown_path: str,
        absolute: str,
        language: str,
        title: str,
        chunks: int,
        size: int,
        mtime_ns: int,
        sha256: str,
    ) -> None:
        self.id = id
        self.path = path
        self.kind = kind
        self.shown_path = shown_path
        self.absolute = absolute
        self.language = language
        self.title = title
        self.chunks = chunks
        self.size = size
        self.mtime_ns = mtime_ns
        self.sha256 = sha256


class GlancedDefinition:
    """A name that a chunk defines, as ``types.Definition``."""

    __slots__ = ("end", "kind", "name", "start")

    def __init__(self, name: str, kind: DefinitionKind, start: int, end: int) -> None:
        self.name = name
        self.kind = kind
        self.start = start
        self.end = end


class GlancedChunk:
    """A chunk; ``passages`` counts those it consists of, ``definitions`` are read apart."""

    __slots__ = ("definitions", "end", "heading", "id", "passages", "start", "text")

    def __init__(
        self, id: int, start: int, end: int, heading: str, text: str, passages: int
    ) -> None:
        self.id = id
        self.start = start
        self.end = end
        self.heading = heading
        self.text = text
        self.passages = passages
        self.definitions: list[GlancedDefinition] = []


class GlancedPassage:
    """A passage that has a word: its score by FTS5, where it belongs, which lines it has.

    ``begin`` and ``length`` are a slice of the chunk's text unless there is an ``own_text``.
    """

    __slots__ = ("begin", "chunk_id", "document_id", "end", "length", "own_text", "start")

    def __init__(
        self,
        chunk_id: int,
        document_id: int,
        start: int,
        end: int,
        begin: int,
        length: int,
        own_text: str | None,
    ) -> None:
        self.chunk_id = chunk_id
        self.document_id = document_id
        self.start = start
        self.end = end
        self.begin = begin
        self.length = length
        self.own_text = own_text

    def text(self, chunk_text: str) -> str:
        """The passage's text out of its chunk's."""
        if self.own_text is not None:
            return self.own_text
        return chunk_text[self.begin : self.begin + self.length]


class Glance:
    """An index opened for reading; belongs to one thread. Failures are ``StoreError``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> Glance:
        """Open an index; the errors are those of ``open_database``."""
        return cls(open_database(path, readonly=True))

    def close(self) -> None:
        """Close; a second call does nothing."""
        self._database.close()

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside see one state of the index."""
        return self._database.snapshot()

    def passage_count(self) -> int:
        """How many passages there are."""
        return lexical.passage_count(self._database)

    def average_passage_words(self) -> float:
        """Mean length of a passage's text in words; 0 without passages."""
        return lexical.average_passage_words(self._database)

    def language_shares(self) -> dict[str, float]:
        """How many files of code each language has, as a share of the most common one's."""
        return lexical.language_shares(self._database)

    def passage_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many passages each word stands; words that none has are absent."""
        return lexical.passage_frequencies(self._database, words)

    def last_sync(self) -> str:
        """When the index was last brought up to date, ISO 8601 or empty."""
        return str(
            self._database.value("SELECT value FROM meta WHERE key = ?", (_LAST_SYNC,)) or ""
        )

    def match(self, words: Sequence[str], k: int, also: Sequence[int] = ()) -> list[GlancedPassage]:
        """The best passages with any of the words, by FTS5's BM25.

        After them come those whose ids are ``also`` given.
        """
        ranked = lexical.ranked(self._database, words, k)
        ids = dict.fromkeys([*(identifier for identifier, _ in ranked), *also])
        rows = self._database.rows(
            "SELECT p.chunk_id, c.document_id, p.start_line, p.end_line, p.begin, p.length, "
            "       p.own_text "
            "FROM json_each(?) AS w CROSS JOIN passages AS p ON p.id = w.value "
            "CROSS JOIN document_chunks AS c ON c.id = p.chunk_id ORDER BY w.key",
            (json.dumps([*ids]),),
        )
        return [GlancedPassage(*row) for row in rows]

    def match_phrase(
        self, words: Sequence[str], k: int, where: Filter | None = None
    ) -> list[tuple[int, int]]:
        """(passage id, chunk id) of up to ``k`` passages that hold all of the stems in a row."""
        return lexical.match_phrase(self._database, words, k, where)

    def history_votes(self, words: Sequence[str], k: int = history.VOTERS) -> dict[int, float]:
        """How much commits that speak of these stems speak for each document, in [0, 1]."""
        return history.votes(self._database, words, k)

    def files(self, document_ids: Collection[int]) -> dict[int, GlancedFile]:
        """Documents by id."""
        shown = roots.Shown(self._database)
        rows = self._database.rows(
            "SELECT d.id, d.root_id, d.path, d.kind, d.language, d.title, d.chunks, d.size, "
            "       d.mtime_ns, d.sha256 "
            "FROM json_each(?) AS w CROSS JOIN documents AS d ON d.id = w.value",
            (json.dumps(list(document_ids)),),
        )
        return {
            identifier: GlancedFile(
                identifier,
                path,
                kind,
                shown.path(root, path),
                shown.absolute(root, path),
                language,
                title,
                chunks,
                *source,
            )
            for identifier, root, path, kind, language, title, chunks, *source in rows
        }

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, GlancedChunk]:
        """Chunks by id, without what they define."""
        rows = self._database.rows(
            "SELECT c.id, c.start_line, c.end_line, c.heading, c.text, "
            "       (SELECT count(*) FROM passages WHERE chunk_id = c.id) "
            "FROM json_each(?) AS w CROSS JOIN document_chunks AS c ON c.id = w.value",
            (json.dumps(list(chunk_ids)),),
        )
        return {row[0]: GlancedChunk(*row) for row in rows}

    def texts(self, chunk_ids: Collection[int]) -> dict[int, str]:
        """The texts of chunks by id."""
        return {one: chunk.text for one, chunk in self.chunks(chunk_ids).items()}

    def definitions(self, chunk_ids: Collection[int]) -> dict[int, list[GlancedDefinition]]:
        """What chunks define, by their ids."""
        rows = self._database.rows(
            "SELECT n.chunk_id, n.name, n.kind, n.start_line, n.end_line "
            "FROM json_each(?) AS w CROSS JOIN definitions AS n ON n.chunk_id = w.value "
            "ORDER BY n.chunk_id, n.start_line",
            (json.dumps(list(chunk_ids)),),
        )
        found: dict[int, list[GlancedDefinition]] = {}
        for identifier, *rest in rows:
            found.setdefault(identifier, []).append(GlancedDefinition(*rest))
        return found
