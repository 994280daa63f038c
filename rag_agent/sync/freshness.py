"""A hit is true to the disk: what changed since it was indexed is synced, relocated or dropped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.errors import ExtractError, WalkError
from rag_agent.sync.regular import read_regular
from rag_agent.types import Chunk, Hit, SearchResults, Skipped, Source, StoredDocument

if TYPE_CHECKING:
    from rag_agent.store import Store
    from rag_agent.store.reading import File
    from rag_agent.sync.walk import WalkRules

# Files whose times are compared with the index before each search, at 2 µs each.
_MOST_LOOKED_AT = 5_000
# A checkout touches them all without a change, and then each is read to learn that.
_MOST_READ = 4_000_000  # bytes, which takes some 30 ms
_MOST_TAKEN_IN = 16


def outdated_documents(results: SearchResults) -> list[StoredDocument]:
    """The documents of these hits and of their doubles whose files have changed or gone."""
    every = (one for hit in results.hits for one in (hit, *hit.doubles))
    return outdated(hit.document for hit in every if hit.document)


def outdated(documents: Iterable[StoredDocument]) -> list[StoredDocument]:
    """Those whose files have changed or gone since they were indexed."""
    return [document for document in documents if not _is_current(document)]


def touched_anywhere(
    store: Store, may_read: Callable[[str], bool] = lambda root: True
) -> tuple[list[StoredDocument], dict[int, Source]]:
    """Of a project of ordinary size up to 16 documents that changed, and some that only seem to.

    A note that just got a word or a tag is no hit for it yet, so nobody else would notice. Of files
    that are gone their folders tell (``arrivals``). The second are by their ids what to note of
    files with other times and the same bytes, so that the next look gets to those behind them.
    """
    changed: list[StoredDocument] = []
    same: dict[int, Source] = {}
    room = _MOST_READ
    readable = {root.id for root in store.roots() if may_read(root.path)}
    for document, size in _touched(store.files(_MOST_LOOKED_AT)):
        if document.root.id not in readable:
            continue
        if size != document.source.size:
            changed.append(document)
        elif room > 0:
            room -= size
            source = _same_bytes(document)
            if source is None:
                changed.append(document)
            else:
                same[document.id] = source
        if len(changed) == _MOST_TAKEN_IN:
            break
    return changed, same


def _touched(files: Sequence[File]) -> Iterator[tuple[StoredDocument, int]]:
    """Those with other sizes or times than they were indexed with, and their sizes now."""
    for location, size, mtime_ns, document in files:
        try:
            stat = os.stat(location)  # noqa: PTH116 - Path.stat() takes twice as long
        except OSError:
            continue
        if stat.st_mtime_ns != mtime_ns or stat.st_size != size:
            yield document, stat.st_size


def true_to_disk(results: SearchResults, rules: WalkRules) -> SearchResults:
    """The results without what is no longer so: moved hits at their new lines, lost ones left out.

    In the place of a lost one stands the first of its doubles that is as it was. For when the index
    cannot be written: changed files are read and cut, nothing is stored.
    """
    true = [_as_it_is(hit, rules) for hit in results.hits]
    hits = [hit for some in true for hit in some]
    lost = true.count([])
    notes = results.notes
    if lost:
        notes = (*notes, f"{lost} hit(s) left out: their files have changed since indexing")
    return replace(results, hits=tuple(hits), notes=notes)


def _as_it_is(hit: Hit, rules: WalkRules) -> list[Hit]:
    """The hit and its doubles as they are now: two hits where they do not say the same any more."""
    found = hit if _is_true(hit) else _relocated(hit, rules)
    doubles = tuple(double for double in hit.doubles if _is_true(double))
    if found is not None and found.chunk.text == hit.chunk.text:
        return [replace(found, doubles=doubles)]
    promoted = [replace(doubles[0], doubles=doubles[1:])] if doubles else []
    return promoted + ([replace(found, doubles=())] if found is not None else [])


def _is_true(hit: Hit) -> bool:
    return hit.document is None or _is_current(hit.document)


def _is_current(document: StoredDocument) -> bool:
    """Whether the file still has the content that was indexed: by size and time, else by hash."""
    try:
        stat = absolute_path(document).stat()
    except OSError:
        return False
    if stat.st_size != document.source.size:
        return False
    return stat.st_mtime_ns == document.source.mtime_ns or _same_bytes(document) is not None


def _same_bytes(document: StoredDocument) -> Source | None:
    """The state that a file is in now if it has the content that was indexed."""
    try:
        _, source = read_regular(str(absolute_path(document)), document.source.size)
    except OSError:
        return None
    return source if source.sha256 == document.source.sha256 else None


def absolute_path(document: StoredDocument) -> Path:
    """Where the document lies on disk; a root may be the file itself."""
    root = Path(document.root.path)
    return root if root.is_file() else root / document.path


def _relocated(hit: Hit, rules: WalkRules) -> Hit | None:
    """The hit at the lines where its text stands now, as it is now; None when it is gone."""
    # Parsers and the walk, for the rare hit whose file has changed.
    from rag_agent.chunk import chunk
    from rag_agent.sync.sync import read_document
    from rag_agent.sync.walk import admit

    document = hit.document
    if document is None:
        return None
    try:
        found = admit(Path(document.root.path), document.path, rules)
        if isinstance(found, Skipped):
            return None
        current, _ = read_document(found, rules)
    except (ExtractError, WalkError, OSError):
        return None
    now = chunk(current)
    lines = {c.text: c for c in now}
    best = _moved(hit.chunk, lines) or _successor(hit.chunk, now)
    if best is None:
        return None
    more = tuple(m for m in (_moved(c, lines) for c in hit.more) if m is not None)
    # The path as hits show it, which in an index of several roots is not the one below its root.
    return replace(hit, chunk=replace(best, path=hit.chunk.path), more=more, stale=True)


def _moved(stored: Chunk, current: dict[str, Chunk]) -> Chunk | None:
    now = current.get(stored.text)
    return None if now is None else replace(stored, start=now.start, end=now.end)


def _successor(stored: Chunk, current: Sequence[Chunk]) -> Chunk | None:
    """What a chunk has become: the one of now that has most of its lines, at least half of them."""
    was = {line.strip() for line in stored.text.split("\n")} - {""}
    kept = [len(was & {line.strip() for line in c.text.split("\n")}) for c in current]
    most = max(kept, default=0)
    return current[kept.index(most)] if most and 2 * most >= len(was) else None
