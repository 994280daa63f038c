"""Bring the index in step with the disk: one document, one transaction.

A sync may stop anywhere; the next one goes on from what is stored.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from rag_agent.chunk import VERSION as CHUNKS
from rag_agent.chunk import chunk
from rag_agent.errors import ExtractError, MissingDependency, TooLarge
from rag_agent.extract import VERSION as EXTRACTION
from rag_agent.extract import extract
from rag_agent.extract.languages import language_of
from rag_agent.extract.ocr import state
from rag_agent.extract.passing import PASSING
from rag_agent.masking import VERSION as MASKING
from rag_agent.masking import mask
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.sync import consent
from rag_agent.sync.admission import size_limit
from rag_agent.sync.bare import note_bare
from rag_agent.sync.content import reject
from rag_agent.sync.known import Known
from rag_agent.sync.reasons import TOO_LARGE, UNREADABLE
from rag_agent.sync.regular import read_regular
from rag_agent.sync.retries import Retries
from rag_agent.sync.texts import TextCache
from rag_agent.sync.walk import Candidate, WalkRules, admit, walk
from rag_agent.types import Document, Root, Skipped, Source, StoredDocument, SyncReport

# Files that read as unchanged under another version of the pipeline are chunked again.
PIPELINE = f"extract {EXTRACTION}, mask {MASKING}, chunk {CHUNKS}"
_PIPELINE_KEY = "pipeline"
_SCAN_EVERY = 500  # files between two reports of the scan


@dataclass(slots=True)
class _Tally:
    """What has been done so far."""

    retries: Retries
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    chunks: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sync_documents(
    store: Store,
    root: Root,
    rules: WalkRules,
    report: Report,
    *,
    under: str = "",
    anew: bool = False,
    texts: TextCache | None = None,
) -> SyncReport:
    """Store what is new or changed below ``root``, forget what is gone. Vectors are not made here.

    ``under`` narrows to one folder or file below the root, as a POSIX path. ``anew`` reads and
    chunks every file again, which keeps the vectors of text that did not change. ``texts`` holds
    the text of documents that were extracted before.

    Raises:
        WalkError: the root is not there; nothing is forgotten then.
    """
    started = time.monotonic()
    store.look_at_root(root)
    tally = _Tally(Retries(store, root))
    known = Known(store, root, under)
    decided = {
        s.path: s
        for s in store.skipped(root)
        if s.size >= 0
        and consent.still_holds(s, rules.exclude_tags)
        and not (s.reason in PASSING and tally.retries.due(s.path))
    }
    unwanted = store.tagged(root, rules.exclude_tags)
    candidates: list[Candidate] = []
    entered: list[str] = []
    for candidate in walk(Path(root.path), rules, tally.skipped.append, under, entered.append):
        candidates.append(candidate)
        if len(candidates) % _SCAN_EVERY == 0:
            report(Progress("scan", len(candidates), None, candidate.path))
    report(Progress("scan", len(candidates), len(candidates)))
    present = chain((c.path for c in candidates), (s.path for s in tally.skipped))
    note_bare(store, root, entered, present, under)

    anew = anew or store.meta(_PIPELINE_KEY) != PIPELINE
    irreplaceable = _read_by_lost_ocr(store, root, rules, under) if anew else frozenset()
    for done, candidate in enumerate(candidates):
        report(
            Progress("extract", done, len(candidates), candidate.path, unchanged=tally.unchanged)
        )
        stored = known.take(candidate.path)
        earlier = decided.get(candidate.path)
        # A setting may be newer than the file: it is read again for the reason to be told.
        is_unwanted = stored is not None and stored.id in unwanted
        again = is_unwanted or (anew and candidate.path not in irreplaceable)
        if not again and stored is not None and _same_state(candidate, stored.source):
            tally.unchanged += 1
        elif not again and earlier is not None and _same_state(candidate, earlier):
            tally.skipped.append(earlier)
            if stored is not None:
                known.leave(stored)
        elif (
            not _sync_one(store, root, candidate, stored, tally, rules, texts, anew=again)
            and stored is not None
        ):
            known.leave(stored)
    # Of what could not be looked at, files and folders, nothing is known: it is not forgotten.
    unread = tuple(s.path.rstrip("/") + "/" for s in tally.skipped if s.reason == UNREADABLE)
    gone = [d.id for d in known.left() if not f"{d.path}/".startswith(unread)]
    store.forget(gone)
    tally.retries.keep((candidate.path for candidate in candidates), under)
    store.set_skipped(root, tally.skipped, under)
    report(Progress("extract", len(candidates), len(candidates), unchanged=tally.unchanged))
    return SyncReport(
        added=tally.added,
        changed=tally.changed,
        removed=len(gone),
        unchanged=tally.unchanged,
        chunks=tally.chunks,
        skipped=tuple(tally.skipped),
        warnings=tuple(tally.warnings),
        seconds=time.monotonic() - started,
    )


def _read_by_lost_ocr(store: Store, root: Root, rules: WalkRules, under: str) -> frozenset[str]:
    """Documents with text that OCR has read, where there is none now to read it again."""
    read = frozenset(path for path, c in store.page_coverage(root, under).items() if c.ocr)
    return read if read and not state(rules.ocr) else frozenset()


def finish(store: Store, *, complete: bool) -> None:
    """Note that every root was synced under this pipeline, and refresh what searching plans with.

    Only a complete sync may say so: after an interrupted one the files that were not reached are
    still of the old pipeline.
    """
    if complete:
        note_pipeline(store)
    store.refresh_statistics()


def note_pipeline(store: Store) -> None:
    """Note that all that the index holds came out of this pipeline."""
    store.set_meta(_PIPELINE_KEY, PIPELINE)


def sync_file(
    store: Store, root: Root, path: str, rules: WalkRules, texts: TextCache | None = None
) -> bool:
    """Store or forget the one file at ``path``; true when the index holds its present content."""
    store.look_at_root(root)
    stored = store.documents(root, path).get(path)
    found = admit(Path(root.path), path, rules)
    if isinstance(found, Skipped):
        if stored is not None and found.reason != UNREADABLE and not is_emptied(store, root):
            store.forget([stored.id])
        return False
    tally = _Tally(Retries(store, root))
    kept = _sync_one(store, root, found, stored, tally, rules, texts, anew=False)
    if not kept and stored is not None:
        store.forget([stored.id])
    store.set_skipped(root, tally.skipped, path)
    return kept


def is_emptied(store: Store, root: Root) -> bool:
    """Whether there is nothing at all in a folder of which the index holds documents.

    That is how the place of a disk looks that is not mounted, which must not cost the index of it.
    """
    try:
        with os.scandir(root.path) as entries:
            if next(entries, None) is not None:
                return False
    except OSError:  # it is a file, or not there
        return False
    return bool(store.documents_after(root, "", "", 1))


def read_document(
    candidate: Candidate, rules: WalkRules, *, engine: str = "", texts: TextCache | None = None
) -> tuple[Document, Source]:
    """The document at a path as it is now, with secrets removed, and the state it was read in.

    With ``engine``, what OCR there is (``extract.ocr.state``), the text of pictures, too, which
    takes seconds a page. ``texts`` holds what was extracted before.

    Raises:
        ExtractError: its content is not for the index, or it cannot be parsed.
        OSError: it cannot be read.
    """
    data, source = _read(candidate, rules)
    return _document(data, candidate.path, rules, source.sha256, texts, engine), source


def source_of(candidate: Candidate, rules: WalkRules) -> Source:
    """The state of a file as it is now, by its bytes.

    Raises:
        ExtractError: its content is not for the index, whatever is in it: a private key.
        OSError: it cannot be read.
    """
    data, source = _read(candidate, rules)
    rejected = reject(data, candidate.path)
    if rejected is not None:
        raise ExtractError(candidate.path, *rejected)
    return source


def _sync_one(
    store: Store,
    root: Root,
    candidate: Candidate,
    stored: StoredDocument | None,
    tally: _Tally,
    rules: WalkRules,
    texts: TextCache | None,
    *,
    anew: bool,
) -> bool:
    """True when the index holds this file; what it could not take is tallied with its reason."""
    size, mtime_ns = candidate.size, candidate.mtime_ns
    try:
        data, source = _read(candidate, rules)
        size, mtime_ns = source.size, source.mtime_ns
        if stored is not None and not anew and source.sha256 == stored.source.sha256:
            store.touch(stored.id, source)
            tally.unchanged += 1
            return True
        document = _document(data, candidate.path, rules, source.sha256, texts)
    except FileNotFoundError:
        return False  # it vanished since the walk, which is no fault of anybody
    except OSError as error:
        # Nothing is known against what the index has of it.
        tally.skipped.append(Skipped(candidate.path, UNREADABLE, error.strerror or str(error)))
        return stored is not None
    except MissingDependency as error:
        # Without its state, so that it is tried again: the library may be installed by then.
        tally.skipped.append(Skipped(candidate.path, error.reason, error.detail))
        return False
    except ExtractError as error:
        skipped = Skipped(candidate.path, error.reason, error.detail, size, mtime_ns)
        tally.skipped.append(skipped)
        if error.reason in PASSING:
            tally.retries.failed(candidate.path)
        return False
    chunks = chunk(document)
    store.put(root, document, source, chunks)
    tally.retries.settled(candidate.path)
    tally.warnings.extend(f"{candidate.path}: {warning}" for warning in document.warnings)
    tally.chunks += len(chunks)
    if stored is None:
        tally.added += 1
    elif source.sha256 == stored.source.sha256:
        tally.unchanged += 1
    else:
        tally.changed += 1
    return True


def _read(candidate: Candidate, rules: WalkRules) -> tuple[bytes, Source]:
    """The bytes of a file and the state they belong to.

    Raises:
        TooLarge: it has grown since the walk.
        OSError: it cannot be read.
    """
    limit = size_limit(language_of(candidate.path), rules)
    data, source = read_regular(candidate.location, limit)
    if len(data) > limit:
        raise TooLarge(candidate.path, TOO_LARGE, f"has grown over {limit / 1e6:.1f} MB")
    return data, source


def _document(
    data: bytes,
    path: str,
    rules: WalkRules,
    sha256: str,
    texts: TextCache | None,
    engine: str = "",
) -> Document:
    rejected = reject(data, path)
    if rejected is not None:
        raise ExtractError(path, *rejected)
    kept = texts.get(path, sha256, engine) if texts else None
    if kept is not None:
        consent.check(kept, rules.exclude_tags)
        return kept
    document = extract(data, path, ocr=rules.ocr if engine else None)
    consent.check(document, rules.exclude_tags)
    document = masked(document)
    if texts:
        texts.put(document, sha256, engine)
    return document


def masked(document: Document) -> Document:
    """The document without the secrets in its text, in what it says of itself and is said of it.

    A tag that holds one goes, a link leads to what is left of its target.
    """
    text, removed = mask(document.text)
    title, in_title = mask(document.title)
    # With its name in front, as a value alone may look like no secret (api_key: 7f3a…).
    metadata = {
        name: mask(f"{name}: {value}")[0].removeprefix(f"{name}: ")
        for name, value in document.metadata.items()
    }
    # What is left out of these is counted in the text, where it stands as well.
    aliases = tuple(mask(alias)[0] for alias in document.aliases)
    tags = tuple(tag for tag in document.tags if mask(tag)[0] == tag)
    links = tuple(replace(link, target=mask(link.target)[0]) for link in document.links)
    removed += in_title
    warnings = [mask(warning)[0] for warning in document.warnings]
    if removed:
        warnings.append(f"{removed} secret{'s' if removed > 1 else ''} removed from the text")
    return replace(
        document,
        text=text,
        title=title,
        metadata=metadata,
        aliases=aliases,
        tags=tags,
        links=links,
        warnings=tuple(warnings),
    )


def _same_state(candidate: Candidate, state: Source | Skipped) -> bool:
    return (candidate.size, candidate.mtime_ns) == (state.size, state.mtime_ns)
