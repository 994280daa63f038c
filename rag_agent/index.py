"""The front door: wires store, model, walk and search together, and holds nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rag_agent import paths
from rag_agent.access import Access
from rag_agent.catching_up import CatchingUp
from rag_agent.config import Config
from rag_agent.context import build_context
from rag_agent.engines import Engines
from rag_agent.errors import NOTHING_INDEXED, EmbedError, StoreMissing
from rag_agent.progress import Report, silent
from rag_agent.related import relate, starts_of, with_addresses
from rag_agent.search import SearchOptions, search
from rag_agent.status import LAST_SYNC, describe, diagnose, notes_on
from rag_agent.store.memory import TurnMemory
from rag_agent.sync.arrivals import LOOKED
from rag_agent.sync.freshness import outdated, outdated_documents, true_to_disk
from rag_agent.sync.vectors import Embedded
from rag_agent.sync.walk import check_root
from rag_agent.syncing import Syncing
from rag_agent.tracking import Tracking
from rag_agent.types import (
    Check,
    Context,
    Hit,
    Related,
    Scope,
    SearchResults,
    Status,
    StoredDocument,
    SyncReport,
)

if TYPE_CHECKING:
    from rag_agent.exchange import ImportReport

_DEEPER = 100  # hits that are looked at beyond those wanted, where some are not there any more
_LEFT_OUT = "hits outside of the project are left out; `rag-agent status` says which path allows it"
_MORE_WAIT = "more new files wait to be read: run `rag-agent refresh`"


def open(path: str | Path = ".", *, environ: Mapping[str, str] | None = None) -> Index:
    """The index in scope of a folder: ``$PI_RAG_DIR``, else the nearest ``.pi/rag``, else global.

    Nothing is created before something is indexed; where no index is in scope then, the folder gets
    a ``.pi/rag`` of its own.
    """
    base = paths.expanded(os.fspath(path)).resolve()
    folder, scope = paths.store_folder(base, os.environ if environ is None else environ)
    return Index(base, folder, scope)


class Index:
    """One index: its documents, its vectors and its settings. Close it, or use ``with``.

    One thread at a time; other threads and processes open their own.
    """

    def __init__(self, base: Path, folder: Path, scope: Scope) -> None:
        self.base = base
        self._files = Access(base, folder, scope)
        self._tracking = Tracking(self._files)
        self._engines = Engines(self._tracking)
        self._syncing = Syncing(self._files, self._tracking, self._engines)
        self._catching_up = CatchingUp(self._files, self._tracking, self._engines)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index file and the caches; the next call opens them again."""
        self._files.close()
        self._engines.close()

    @property
    def folder(self) -> Path:
        """Where the index lies."""
        return self._files.folder

    @property
    def scope(self) -> Scope:
        """Whether that is the project's folder, the user's, or one that the environment names."""
        return self._files.scope

    # settings

    @property
    def config(self) -> Config:
        """The settings as config.json holds them now."""
        return self._tracking.config

    def configure(self, **changes: object) -> Config:
        """Change settings by their names in ``Config`` and save them."""
        return self._tracking.configure(changes)

    @property
    def tracked_paths(self) -> tuple[Path, ...]:
        """Absolute paths of what this index follows."""
        return self._tracking.paths

    # into the index

    def sync(
        self,
        path: str | Path | None = None,
        *,
        report: Report = silent,
        force: bool = False,
        vectors: bool = True,
        pictures: bool = True,
        anew: bool = False,
        trust_cache: bool = True,
    ) -> SyncReport:
        """Bring the index in step with the disk.

        Args:
            path: a folder or file to sync, tracked from now on, relative to the opened folder;
                None for all that is tracked, and for the opened folder when nothing is.
            report: called as the work goes on; raise from it to stop, nothing done is lost.
            force: index even the home folder or the root of a disk.
            vectors: false leaves the vectors to a later ``embed()``; words are searchable.
            pictures: false leaves OCR, which comes last, to a later ``read_pictures()``.
            anew: read and cut unchanged files too.
            trust_cache: false also parses documents again whose text the cache has, and computes
                their vectors anew.

        Raises:
            WalkError: the path does not exist or must not be indexed.
            StoreBusy: another process is writing.
        """
        return self._syncing.sync(
            path,
            report,
            force=force,
            vectors=vectors,
            pictures=pictures,
            anew=anew,
            trust_cache=trust_cache,
        )

    def read_pictures(self, report: Report = silent) -> SyncReport:
        """Read by OCR what waits for it; nothing without OCR, or while another process does it."""
        return self._syncing.read_pictures(report)

    def embed(self, report: Report = silent, *, trust_cache: bool = True) -> Embedded:
        """Embed the chunks that have no vector yet; nothing without a model or a second embedder.

        Why there is no model, ``model_problem`` says.
        """
        return self._syncing.embed(report, trust_cache=trust_cache)

    def refresh(self, report: Report = silent) -> SyncReport:
        """Sync everything that is tracked."""
        return self.sync(report=report)

    def rebuild(self, *, force: bool = False, report: Report = silent) -> SyncReport:
        """Read and cut every tracked file again; unchanged text keeps its vectors.

        The text of documents comes from the cache where that has it. ``force`` parses them again,
        computes every vector of the present model anew and drops those of other models, unless it
        cannot be loaded, and moves an index file that is found corrupt aside, where it is kept.
        """
        return self._syncing.rebuild(report, force=force)

    def clear(self) -> None:
        """Empty the index; settings and tracked paths stay."""
        with self._files.writing() as (store, _):
            store.clear()
            store.set_meta(LOOKED, "")  # it stays empty until somebody fills it

    def clear_other_models(self) -> int:
        """Remove the vectors of models other than the present one; returns how many that were.

        Raises:
            EmbedError: the present model cannot be loaded.
        """
        embedder = self._engines.embedder.get()
        if embedder is None:
            raise EmbedError(self._engines.embedder.problem)
        with self._files.writing() as (store, _):
            removed = store.forget_vectors(keep=store.model(embedder.fingerprint, embedder.dim))
            store.refresh_statistics()
        return removed

    def import_chunks(
        self,
        lines: Iterable[bytes | str],
        path: str | Path | None = None,
        *,
        report: Report = silent,
    ) -> ImportReport:
        """Take over what ``export_chunks`` gave, for files that have the same bytes here.

        The folders of the export are tracked from now on: those of a project where this index's
        project lies, others where they were. ``path`` says where an export's only folder lies.

        Raises:
            StoreError: the lines are no export, or one of a newer rag_agent.
            WalkError: the path does not exist or must not be indexed.
            StoreBusy: another process is writing.
        """
        from rag_agent.exchange import adopt, folders_here, places_in, read_export

        problems: list[str] = []
        export = read_export(lines, problems.append)
        here = None if path is None else check_root(self._tracking.absolute(path))
        base = self.base if self.scope == "global" else self._tracking.project or self.base
        folders = folders_here(export.header, base, here, problems.append)
        self._files.create()
        for folder in folders:
            self._tracking.add(folder)
        with self._files.writing() as (store, lock):
            places = places_in(store, folders, self.tracked_paths)
            telling = lock.telling(report)
            done = adopt(
                store,
                export,
                places,
                self._tracking.rules(),
                self._engines.texts(),
                problems.append,
                telling,
            )
        return replace(done, problems=tuple(problems))

    # out of the index

    def export_chunks(self, *, vectors: bool = False, report: Report = silent) -> Iterator[str]:
        """The index as lines of JSON, one a file and one a chunk, read as they are asked for.

        ``vectors`` adds those of the present model.

        Raises:
            StoreMissing: nothing is indexed.
            EmbedError: vectors are wanted and the model cannot be loaded.
        """
        from rag_agent.exchange import export_lines

        store = self._files.reader()
        if store is None:
            raise StoreMissing(NOTHING_INDEXED)
        fingerprint = None
        if vectors:
            embedder = self._engines.embedder.get()
            if embedder is None:
                raise EmbedError(self._engines.embedder.problem)
            fingerprint = embedder.fingerprint
        roots = self._tracking.portable([Path(root.path) for root in store.roots()])
        return export_lines(store, roots, fingerprint, report)

    def search(
        self,
        query: str,
        limit: int = 10,
        where: str = "",
        *,
        hurried: bool = False,
        rerank: bool = True,
    ) -> SearchResults:
        """The files that answer a query, best first, each with its best lines as they are on disk.

        A ``hurried`` search does not wait for the model, but asks words alone until it is loaded
        (``warm_up``), nor for changed files, which ``catch_up`` is to take in later. Neither it nor
        one with ``rerank`` false uses the reranker of the settings.

        Raises:
            QueryError: an empty query, or a filter that does not parse.
        """
        started = time.monotonic()
        store = self._files.reader()
        if store is None:
            return SearchResults(
                query, "lexical", (), 0.0, (NOTHING_INDEXED,), nothing_indexed=True
            )
        waits = not hurried and self._catching_up.look(store)
        settings, model = self.config, self._engines.embedder
        asking = partial(
            search,
            store,
            query,
            embedder=model.loaded if hurried else model.get(),
            options=SearchOptions(alpha=settings.rag_alpha),
            where=where,
            reranking=self._engines.reranking() if rerank and not hurried else None,
        )
        found = asking(limit=limit)
        results = self._permitted(found)
        changed = [*outdated_documents(results), *outdated(starts_of(store, where))]
        if changed and hurried:
            self._catching_up.leave(changed)
        elif changed and self._catching_up.take_in(changed):
            found = asking(limit=limit)
            results = self._permitted(found)
        if changed:
            results = true_to_disk(results, self._tracking.rules())
        if len(results) < len(found) == limit:
            # What is not there may have stood before what is: files of a disk that is away.
            deeper = self._permitted(asking(limit=limit + _DEEPER))
            deeper = true_to_disk(deeper, self._tracking.rules())
            results = replace(deeper, hits=deeper.hits[:limit])
        results = with_addresses(results)
        if not results.hits and not store.passage_count():
            return replace(results, notes=(self._why_empty(),), nothing_indexed=True)
        notes = [*notes_on(self.folder, results.mode, model.problem)]
        notes += [_MORE_WAIT] * waits
        took = (time.monotonic() - started) * 1000
        return replace(results, took_ms=took, notes=(*results.notes, *notes))

    def related(
        self, path: str | Path, line: int | None = None, *, depth: int = 1, limit: int = 10
    ) -> Related:
        """What is near a document: what links to it and what it links to, and what is like it.

        ``path`` is as hits show it, relative to the opened folder or absolute; the end of it will
        do where only one document has that. ``line`` says which place of it the files are to be
        like. Links are followed forward and back, up to ``depth``, at most 10; ``limit`` is for
        links and for files each.

        Raises:
            QueryError: no document is meant by the path, or more than one.
        """
        store = self._files.reader()
        if store is None:
            return Related(str(path), line, (), 0, (), "lexical", notes=(NOTHING_INDEXED,))
        self._catching_up.look(store)
        relating = partial(
            relate,
            store,
            os.fspath(path),
            line,
            depth=depth,
            limit=limit,
            embedder=self._engines.embedder.get(),
            base=self.base.as_posix(),
        )
        found, documents = relating()
        changed = outdated(documents)
        if changed and self._catching_up.take_in(changed):
            found, documents = relating()
            changed = outdated(documents)
        notes = (f"{len(changed)} file(s) have changed since indexing",) if changed else ()
        return replace(found, notes=(*found.notes, *notes))

    def warm_up(self, seconds: float = 0.0) -> None:
        """Load the model in a thread of its own, so that hurried searches come to have vectors.

        Waits for it, but no longer than so many ``seconds``.
        """
        self._engines.embedder.load_ahead(seconds)

    def catch_up(self) -> None:
        """Take in the changed files that hurried searches came across, new ones and gone ones."""
        self._catching_up.take_in_what_was_left()
        if store := self._files.reader():
            self._catching_up.look(store)

    @property
    def memory(self) -> TurnMemory | None:
        """What agents' sessions were shown; None where nothing is indexed or can be remembered."""
        return self._files.memory

    @property
    def last_sync(self) -> str:
        """When a sync last ended, ISO 8601; empty before the first."""
        store = self._files.reader()
        return (store.meta(LAST_SYNC) or "") if store else ""

    def find(self, glob: str) -> list[StoredDocument]:
        """Indexed files whose path matches a glob, or holds a plain text."""
        store = self._files.reader()
        return [] if store is None else store.find(glob)

    def context(self, prompt: str, budget: int | None = None) -> Context:
        """What to put before an agent's turn for this prompt; empty when nothing is relevant.

        ``budget`` is in tokens; None takes the setting.
        """
        settings = self.config
        return build_context(
            prompt,
            # As before a turn, which has no time for it.
            lambda query: self.search(query, limit=settings.rag_top_k, rerank=False),
            enabled=settings.rag_enabled,
            threshold=settings.rag_score_threshold,
            budget=settings.rag_token_budget if budget is None else budget,
        )

    def status(self) -> Status:
        """What there is to know about this index, read from its data."""
        found = describe(
            self._files.reader(),
            self.folder,
            self.scope,
            self.config,
            self.tracked_paths,
            self._engines.embedder.get(),
            self._engines.embedder.problem,
            self._files.memory_if_any,
        )
        return replace(found, warnings=(*self._tracking.warnings, *found.warnings))

    def doctor(self) -> list[Check]:
        """Every part of the installation and the index tried for real."""
        return diagnose(
            self.folder,
            lambda: self.config,
            self._files.reader,
            self._engines.load_embedder,
            self._engines.download_reranker,
        )

    def shown_path(self, document: StoredDocument) -> str:
        """The path of a document as hits show it."""
        store = self._files.reader()
        return document.path if store is None else store.shown_path(document.root, document.path)

    # inside

    def _permitted(self, results: SearchResults) -> SearchResults:
        """Without hits in folders that this index may not read."""
        hits = tuple(
            replace(hit, doubles=tuple(double for double in hit.doubles if self._may_show(double)))
            for hit in results.hits
            if self._may_show(hit)
        )
        notes = results.notes if len(hits) == len(results) else (*results.notes, _LEFT_OUT)
        return replace(results, hits=hits, notes=notes)

    def _may_show(self, hit: Hit) -> bool:
        return hit.document is None or self._tracking.may_read(hit.document.root.path)

    def _why_empty(self) -> str:
        """What to do where there is an index with nothing in it."""
        if not self.tracked_paths:
            return NOTHING_INDEXED
        return "the index is empty; run `rag-agent refresh` to fill it again"
