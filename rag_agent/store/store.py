"""The index on disk, as the rest of the program sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rag_agent.late import LateModule
from rag_agent.store import roots
from rag_agent.store.opening import open_database
from rag_agent.store.reader import Reader
from rag_agent.store.records import PendingCard
from rag_agent.types import Chunk, Document, Root, Skipped, Source

if TYPE_CHECKING:
    from rag_agent.store import cards, commits, dense, maintenance, voters, writing
    from rag_agent.types import Matrix
else:
    cards = LateModule("rag_agent.store.cards")
    commits = LateModule("rag_agent.store.commits")
    dense = LateModule("rag_agent.store.dense")
    maintenance = LateModule("rag_agent.store.maintenance")
    voters = LateModule("rag_agent.store.voters")
    writing = LateModule("rag_agent.store.writing")


class Store(Reader):
    """One index file. Belongs to one thread at a time; each writing call is one transaction.

    Writers hold the write lock of ``sync.lock``; readers need nothing and are never blocked. Every
    method may raise ``StoreError`` or one of its kinds.
    """

    @classmethod
    def open(cls, path: Path, *, readonly: bool = False, extension: bool = True) -> Store:
        """Open the file; unless ``readonly`` create it (not its folder) and migrate it.

        Without ``extension`` sqlite-vec is not loaded and numpy computes cosines.

        Raises:
            SchemaTooNew: a newer rag_agent wrote it.
            StoreCorrupt: it failed its integrity check.
            StoreBusy: another process holds it.
            StoreError: it is missing, of another program, or unusable.
        """
        return cls(open_database(path, readonly=readonly, extension=extension))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Roots

    def add_root(self, path: str) -> Root:
        """Track a folder or file; a path that is tracked already gives the root it has."""
        return roots.add(self._database, path)

    def look_at_root(self, root: Root) -> None:
        """Note whether it is a file or a folder now, on which the paths of its documents depend."""
        roots.look_at(self._database, root)

    def remove_root(self, root: Root) -> int:
        """Forget a root and its documents; returns how many documents that were."""
        return roots.remove(self._database, root)

    # Writing

    def put(self, root: Root, document: Document, source: Source, chunks: Sequence[Chunk]) -> int:
        """Replace a document; returns its id. Vectors of chunks whose text stayed are kept."""
        return writing.put(self._database, root, document, source, chunks)

    def touch(self, document_id: int, source: Source) -> None:
        """Note size and time of a file whose content did not change."""
        writing.touch(self._database, document_id, source)

    def note_times(self, sources: Mapping[int, Source]) -> None:
        """As ``touch``, of many by their ids; not of those that have got other content since."""
        writing.note_times(self._database, sources)

    def forget(self, document_ids: Sequence[int]) -> None:
        """Remove documents; unknown ids are ignored."""
        writing.forget(self._database, document_ids)

    def set_skipped(self, root: Root, skipped: Sequence[Skipped], under: str = "") -> None:
        """Replace what is noted as skipped at or below ``under`` ("" is the whole root)."""
        writing.set_skipped(self._database, root, skipped, under)

    def clear(self) -> None:
        """Remove documents, vectors and skipped files, and give the space back; roots stay."""
        writing.clear(self._database)
        maintenance.refresh_statistics(self._database)

    def forget_vectors(self, keep: int | None = None) -> int:
        """Remove vectors and cards of every model but ``keep``; returns how many vectors that were.

        Words stay searchable. ``refresh_statistics`` gives the space back.
        """
        return dense.forget(self._database, keep)

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small text under a key."""
        with self._database.transaction():
            self._database.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def refresh_statistics(self) -> None:
        """After a sync: counts of common words, the planner's statistics, copies, free space."""
        maintenance.refresh_statistics(self._database)

    def refresh_history(self) -> None:
        """After reading commits: renew the copy of the history if they changed."""
        voters.refresh(self._database)

    # Vectors

    def model(self, fingerprint: str, dim: int) -> int:
        """Id of a model, made when missing; ``ModelMismatch`` if ``dim`` is another."""
        return dense.model(self._database, fingerprint, dim)

    def put_vectors(self, model: int, chunk_ids: Sequence[int], vectors: Matrix) -> None:
        """Keep a row of shape (len(chunk_ids), dim) for each chunk; vanished ids are ignored."""
        dense.put_vectors(self._database, model, chunk_ids, vectors)

    # File cards: one vector a document, made before those of its chunks

    def put_cards(self, model: int, made: Sequence[PendingCard], vectors: Matrix) -> None:
        """Keep a row of shape (len(made), dim) for each; a document that changed stays without."""
        cards.put(self._database, model, made, vectors)

    # Git history

    @property
    def commits(self) -> commits.Commits:
        """What is read of the repositories' commits, for writing."""
        return commits.Commits(self._database)
