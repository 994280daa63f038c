"""Scanned pages and pictures are read by OCR when all other text can be found already.

Each takes seconds. So words and vectors of all other files come first, and a sync that is stopped
meanwhile goes on with the next file. What was left for want of tesseract is read once it is there,
and what it failed on is tried again (``retries``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from rag_agent.chunk import chunk
from rag_agent.errors import ExtractError, WalkError
from rag_agent.extract.image import NO_TEXT
from rag_agent.extract.languages import IMAGE, language_of
from rag_agent.extract.ocr import ADVICE, LATER, NEEDED, state
from rag_agent.extract.passing import OCR, PASSING
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.sync.reasons import PICTURES, UNREADABLE
from rag_agent.sync.retries import Retries
from rag_agent.sync.sync import read_document
from rag_agent.sync.texts import TextCache
from rag_agent.sync.walk import Candidate, WalkRules, admit
from rag_agent.tracked import place_in
from rag_agent.types import Coverage, Document, Root, Skipped, Source, SyncReport

_WAITING = frozenset((NEEDED, PICTURES))
_STAYS = "what was read of it before stays"


Lock = Callable[[], AbstractContextManager[object]]


def read_pictures(
    store: Store,
    followed: Sequence[Path],
    targets: Sequence[Path],
    rules: WalkRules,
    report: Report,
    done: SyncReport,
    *,
    lock: Lock,
    texts: TextCache | None = None,
) -> SyncReport:
    """``done``, a sync of the ``targets``, with what OCR adds to it; as it is where there is none.

    A document is read again only when the OCR is another one than has looked at it (its program
    was installed since, or has other languages or limits), or when it failed and the time has come.
    What an earlier OCR has read stays when a later one fails. The write lock is taken for each file
    once it is read: that may take seconds, and nobody has to wait for it.
    """
    roots = {root.path: root for root in store.roots()}
    skipped: list[Skipped] = []
    for target in targets:
        base, under = place_in(followed, target)
        root = roots.get(str(base))
        if root is None:
            continue
        reading = _Reading(store, root, rules, report, lock, texts, under)
        with suppress(WalkError):  # its disk is not there now, which the sync has told
            done = reading.all(done)
        skipped += reading.skipped.values()
    return replace(done, skipped=tuple(skipped))


class _Reading:
    """One pass over what waits for OCR, of one root at and below a path."""

    def __init__(
        self,
        store: Store,
        root: Root,
        rules: WalkRules,
        report: Report,
        lock: Lock,
        texts: TextCache | None,
        under: str,
    ) -> None:
        self._store, self._root, self._rules = store, root, rules
        self._report, self._lock, self._texts = report, lock, texts
        self._under = under
        self._known = store.page_coverage(root, under)
        self._retries = Retries(store, root)
        self.skipped = {
            item.path: item
            for item in store.skipped(root)
            if not under or f"{item.path}/".startswith(f"{under}/")
        }
        self._added = self._chunks = 0
        self._warnings: dict[str, tuple[str, ...]] = {}

    def all(self, done: SyncReport) -> SyncReport:
        """What was done, with what is done here."""
        engine, waiting = self._waiting()
        room = self._rules.pictures - sum(map(_is_picture, self._known))
        room -= sum(item.reason == NO_TEXT for item in self.skipped.values())
        for number, path in enumerate(sorted(waiting, key=_is_picture)):
            found = admit(Path(self._root.path), path, self._rules)
            if not isinstance(found, Candidate):
                continue
            fresh = path not in self._known
            if fresh and room <= 0:
                detail = f"{self._rules.pictures} are read; raise ocrPictures to read more"
                self._leave(_skipped(found, PICTURES, detail))
                continue
            room -= fresh
            self._report(Progress("extract", number, len(waiting), path))
            self._read(found, engine, fresh=fresh)
        told = [
            warning
            for warning in done.warnings
            if not any(warning.startswith(f"{path}: ") for path in self._warnings)
        ]
        told += [f"{path}: {one}" for path, ones in self._warnings.items() for one in ones]
        return replace(
            done,
            added=done.added + self._added,
            chunks=done.chunks + self._chunks,
            warnings=tuple(told),
        )

    def _waiting(self) -> tuple[str, list[str]]:
        """What OCR there is, "" for none, and the paths of what it is to look at."""
        pictured = {path: c for path, c in self._known.items() if c.ocr or c.without}
        items = self.skipped.values()
        waiting = [item.path for item in items if item.reason in _WAITING]
        failed = [i.path for i in items if i.reason in PASSING and _is_picture(i.path)]
        # Asking tesseract takes as long as a sync of a thousand files without changes.
        engine = state(self._rules.ocr) if pictured or waiting or failed else ""
        if not engine:
            return "", []
        due = self._retries.due
        waiting += [path for path in failed if due(path, engine)]
        waiting += [
            path
            for path, looked in pictured.items()
            if not _is_done(looked, engine) and due(path, engine)
        ]
        return engine, waiting

    def _read(self, found: Candidate, engine: str, *, fresh: bool) -> None:
        path = found.path
        try:
            document, source = _by_ocr(found, self._rules, engine, self._texts)
        except FileNotFoundError:
            return  # it vanished since the walk
        except OSError as error:
            self._leave(Skipped(path, UNREADABLE, error.strerror or str(error)))
            return
        except ExtractError as error:
            if error.reason in PASSING or not fresh:
                with self._lock():
                    self._retries.failed(path, engine)
            if fresh:
                self._leave(_skipped(found, error.reason, error.detail))
            else:
                self._warnings[path] = (f"{error.reason}; {_STAYS}",)
            return
        with self._lock():
            if document.coverage is not None and _is_done(document.coverage, engine):
                self._retries.settled(path)
            else:
                self._retries.failed(path, engine)
                if _is_less(document.coverage, self._known.get(path)):
                    self._warnings[path] = (f"{OCR}; {_STAYS}",)
                    return
            chunks = chunk(document)
            self._store.put(self._root, document, source, chunks)
            if self.skipped.pop(path, None) is not None:
                self._store.set_skipped(self._root, (), path)
        self._warnings[path] = document.warnings
        self._added += fresh
        self._chunks += len(chunks)

    def _leave(self, item: Skipped) -> None:
        """Note it at once: who stops this meanwhile is not to see it begin from the first again."""
        known = self.skipped.get(item.path)
        if known == item:
            return
        with self._lock():
            # All others may have been looked at by a sync since this pass began, and this one, too.
            now = {other.path: other for other in self._store.skipped(self._root)}
            if _state(now.get(item.path)) == _state(known):
                self._store.set_skipped(self._root, (item,), item.path)
        self.skipped[item.path] = item


def _by_ocr(
    found: Candidate, rules: WalkRules, engine: str, texts: TextCache | None
) -> tuple[Document, Source]:
    """The document with the text of its pictures; without, and why, when only OCR fails.

    Raises:
        ExtractError: it is a picture, of which nothing is left then, or no document any more.
        OSError: it cannot be read.
    """
    try:
        return read_document(found, rules, engine=engine, texts=texts)
    except ExtractError as error:
        if _is_picture(found.path):
            raise
        document, source = read_document(found, rules, texts=texts)
        if document.coverage is None:
            raise
        without = document.coverage.without
        why = " ".join(filter(None, (error.reason, error.detail)))
        told = f"{without} pages have no text (OCR failed, {LATER}: {why})"
        others = (warning for warning in document.warnings if ADVICE not in warning)
        tried = replace(
            document,
            warnings=(*others, told),
            coverage=replace(document.coverage, engine=engine, failed=without),
        )
        return tried, source


def _state(item: Skipped | None) -> tuple[str, int, int] | None:
    """Of which state of a file it was said; a sync that looks again may know the time better."""
    return None if item is None else (item.reason, item.size, abs(item.mtime_ns))


def _is_done(looked: Coverage, engine: str) -> bool:
    """Whether this OCR has looked at every page that its limits allow."""
    return looked.engine == engine and not looked.failed


def _is_less(found: Coverage | None, before: Coverage | None) -> bool:
    """Whether OCR that failed has read fewer pages than are in the index already."""
    return before is not None and before.ocr > (found.ocr if found else 0)


def _is_picture(path: str) -> bool:
    language = language_of(path)
    return language is not None and language.name == IMAGE


def _skipped(found: Candidate, reason: str, detail: str) -> Skipped:
    return Skipped(found.path, reason, detail, found.size, found.mtime_ns)
