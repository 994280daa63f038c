"""An index brought in step with the disk: words first, then vectors, then what OCR reads."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from rag_agent import legacy
from rag_agent.access import Access
from rag_agent.engines import Engines
from rag_agent.errors import StoreBusy
from rag_agent.progress import Report
from rag_agent.status import LAST_SYNC
from rag_agent.store import set_aside_if_corrupt
from rag_agent.sync.arrivals import LOOKED
from rag_agent.sync.history import sync_history
from rag_agent.sync.pictures import read_pictures
from rag_agent.sync.roots import sync_roots
from rag_agent.sync.vectors import Embedded, embed_pending
from rag_agent.sync.walk import check_root
from rag_agent.tracking import Tracking
from rag_agent.types import SyncReport

_log = logging.getLogger(__name__)


class Syncing:
    """What fills one index. ``Index`` says what its methods take and raise."""

    def __init__(self, files: Access, tracking: Tracking, engines: Engines) -> None:
        self._files, self._tracking, self._engines = files, tracking, engines

    def sync(
        self,
        path: str | Path | None,
        report: Report,
        *,
        force: bool = False,
        vectors: bool = True,
        pictures: bool = True,
        anew: bool = False,
        trust_cache: bool = True,
    ) -> SyncReport:
        """One path or all that is tracked."""
        started, began = time.monotonic(), time.time_ns()
        files, tracking = self._files, self._tracking
        if path is None and not tracking.paths and not legacy.legacy_files(files.folder):
            path = files.base
        # Before anything is created: a path that is refused leaves nothing behind.
        target = None if path is None else check_root(tracking.absolute(path), force=force)
        notices = (*tracking.take_over_legacy(), *tracking.added(target))
        targets = tracking.add(target)
        followed = tracking.paths
        is_all = set(targets) == set(followed)
        with files.writing() as (store, lock):
            telling = lock.telling(report)
            done = sync_roots(
                store,
                followed,
                targets,
                tracking.rules(),
                telling,
                kept=tracking.left_out,
                force=force,
                anew=anew,
                texts=self._engines.texts(trusted=trust_cache),
            )
            sync_history(store, telling, enabled=tracking.config.rag_history, anew=anew)
            store.set_meta(LAST_SYNC, datetime.now(timezone.utc).isoformat(timespec="seconds"))
            if is_all:
                store.set_meta(LOOKED, str(began))
        if tracking.home and is_all and not tracking.warnings:
            legacy.remove_index(files.folder)  # whose files are all in the index now
        done = replace(done, warnings=(*notices, *tracking.warnings, *done.warnings))
        if vectors:
            done = self._with_vectors(done, report, trust_cache)
        if pictures:
            read = self._with_pictures(targets, done, report, trust_cache)
            has_more = vectors and read.chunks > done.chunks
            done = self._with_vectors(read, report, trust_cache) if has_more else read
        return replace(done, pending=self._count_pending(), seconds=time.monotonic() - started)

    def rebuild(self, report: Report, *, force: bool) -> SyncReport:
        """Everything anew."""
        started = time.monotonic()
        notices: tuple[str, ...] = ()
        if force:
            self._files.close()
            aside = set_aside_if_corrupt(self._files.database)
            if aside is not None:
                notices = (f"the corrupt index was moved to {aside}; delete it when you like",)
        # Not cleared first: what lies on a disk that is not there now could not be read again.
        done = self.sync(
            None, report, anew=True, vectors=False, pictures=False, trust_cache=not force
        )
        # Without a model none could be made in their place.
        if force and self._engines.embedder.get() is not None:
            with self._files.writing() as (store, _):
                store.forget_vectors()
        done = self._with_vectors(done, report, not force)
        done = self._with_pictures(self._tracking.paths, done, report, not force)
        done = self._with_vectors(done, report, not force)
        return replace(
            done,
            pending=self._count_pending(),
            warnings=(*notices, *done.warnings),
            seconds=time.monotonic() - started,
        )

    def embed(self, report: Report, *, trust_cache: bool = True) -> Embedded:
        """The vectors that are missing, unless there is no model or another process makes them."""
        embedder = self._engines.embedder.get()
        if embedder is None:
            return Embedded()
        try:
            with self._files.embedding() as (store, lock):
                embedded = embed_pending(
                    store,
                    embedder,
                    self._engines.embeddings(),
                    lock.telling(report),
                    lock=self._files.write_lock,
                    trust_cache=trust_cache,
                )
                with self._files.write_lock():
                    store.refresh_statistics()
        except StoreBusy as busy:
            _log.info("vectors are left to another process: %s", busy)
            return Embedded()
        return embedded

    def read_pictures(self, report: Report) -> SyncReport:
        """What waits for OCR."""
        if self._files.reader() is None:
            return SyncReport()
        return self._with_pictures(self._tracking.paths, SyncReport(), report, trust_cache=True)

    def _with_vectors(self, done: SyncReport, report: Report, trust_cache: bool) -> SyncReport:
        """What was done, with the vectors that were missing."""
        made = self.embed(report, trust_cache=trust_cache)
        embedded, reused = done.embedded + made.computed, done.reused + made.reused
        return replace(done, embedded=embedded, reused=reused)

    def _with_pictures(
        self, targets: Sequence[Path], done: SyncReport, report: Report, trust_cache: bool
    ) -> SyncReport:
        """What was done, with what OCR reads."""
        try:
            # As for vectors: one process at a time, which locks others out for moments only.
            with self._files.embedding() as (store, lock):
                return read_pictures(
                    store,
                    self._tracking.paths,
                    targets,
                    self._tracking.rules(),
                    lock.telling(report),
                    done,
                    lock=self._files.write_lock,
                    texts=self._engines.texts(trusted=trust_cache),
                )
        except StoreBusy as busy:
            _log.info("pictures are left to another process: %s", busy)
            return done

    def _count_pending(self) -> int:
        store = self._files.reader()
        embedder = self._engines.embedder.get()
        if store is None or embedder is None:
            return 0
        model = store.find_model(embedder.fingerprint)
        if model is not None:
            return store.count_pending(model)
        counts = store.counts()
        return counts.chunks - counts.unembedded
