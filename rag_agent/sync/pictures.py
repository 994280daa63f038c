"""Scanned pages and pictures are read by OCR when all other text is in the index already.

Each takes seconds. So what a file has of text is searchable first, and a sync that is stopped
meanwhile goes on with the next page. What was left for want of tesseract is read once it is there,
and what it failed on is tried again (``retries``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_agent.chunk import chunk
from rag_agent.errors import ExtractError
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
from rag_agent.types import Coverage, Document, Root, Skipped, Source, SyncReport

_WAITING = frozenset((NEEDED, PICTURES))
_STAYS = "what was read of it before stays"


def read_pictures(
    store: Store,
    root: Root,
    rules: WalkRules,
    report: Report,
    done: SyncReport,
    *,
    under: str = "",
    texts: TextCache | None = None,
) -> SyncReport:
    """``done`` with what OCR added to it; nothing happens where there is no OCR.

    A document is read again only when the OCR is another one than has looked at it (its program
    was installed since, or has other languages or limits), or when it failed and the time has come.
    What an earlier OCR has read stays when a later one fails.
    """
    known = store.page_coverage(root, under)
    pictured = {path: c for path, c in known.items() if c.ocr or c.without}
    waiting = [item.path for item in done.skipped if item.reason in _WAITING]
    failed = [i.path for i in done.skipped if i.reason in PASSING and _is_picture(i.path)]
    # Asking tesseract takes as long as a sync of a thousand files without changes.
    engine = state(rules.ocr) if pictured or waiting or failed else ""
    if not engine:
        return done
    retries = Retries(store, root)
    waiting += [path for path in failed if retries.due(path, engine)]
    waiting += [
        path
        for path, looked in pictured.items()
        if not _is_done(looked, engine) and retries.due(path, engine)
    ]
    room = rules.pictures - sum(map(_is_picture, known))
    room -= sum(item.reason == NO_TEXT for item in done.skipped)
    skipped = {item.path: item for item in done.skipped}
    warnings = list(done.warnings)
    added = chunks = 0
    for number, path in enumerate(sorted(waiting, key=_is_picture)):
        found = admit(Path(root.path), path, rules)
        if not isinstance(found, Candidate):
            continue
        fresh = path not in known
        if fresh and room <= 0:
            skipped[path] = _skipped(found, PICTURES, _too_many(rules.pictures))
            continue
        room -= fresh
        report(Progress("extract", number, len(waiting), path))
        try:
            document, source = _by_ocr(found, rules, engine, texts)
        except FileNotFoundError:
            continue  # it vanished since the walk
        except OSError as error:
            skipped[path] = Skipped(path, UNREADABLE, error.strerror or str(error))
            continue
        except ExtractError as error:
            if error.reason in PASSING or not fresh:
                retries.failed(path, engine)
            if fresh:
                skipped[path] = _skipped(found, error.reason, error.detail)
            else:
                warnings.append(f"{path}: {error.reason}; {_STAYS}")
            continue
        if document.coverage is not None and _is_done(document.coverage, engine):
            retries.settled(path)
        else:
            retries.failed(path, engine)
            if _is_less(document.coverage, known.get(path)):
                warnings.append(f"{path}: {OCR}; {_STAYS}")
                continue
        parts = chunk(document)
        store.put(root, document, source, parts)
        skipped.pop(path, None)
        warnings = [told for told in warnings if not told.startswith(f"{path}: ")]
        warnings += [f"{path}: {warning}" for warning in document.warnings]
        added += fresh
        chunks += len(parts)
    _note(store, root, done.skipped, tuple(skipped.values()), under)
    return replace(
        done,
        added=done.added + added,
        chunks=done.chunks + chunks,
        skipped=tuple(skipped.values()),
        warnings=tuple(warnings),
    )


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


def _is_done(looked: Coverage, engine: str) -> bool:
    """Whether this OCR has looked at every page that its limits allow."""
    return looked.engine == engine and not looked.failed


def _is_less(found: Coverage | None, before: Coverage | None) -> bool:
    """Whether OCR that failed has read fewer pages than are in the index already."""
    return before is not None and before.ocr > (found.ocr if found else 0)


def _note(
    store: Store, root: Root, before: Sequence[Skipped], now: Sequence[Skipped], under: str
) -> None:
    if now != before:
        store.set_skipped(root, now, under)


def _is_picture(path: str) -> bool:
    language = language_of(path)
    return language is not None and language.name == IMAGE


def _skipped(found: Candidate, reason: str, detail: str) -> Skipped:
    return Skipped(found.path, reason, detail, found.size, found.mtime_ns)


def _too_many(most: int) -> str:
    return f"{most} are read; raise ocrPictures to read more"
