"""A hit is true to the disk: what changed since it was indexed is synced, relocated or dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_agent.chunk import chunk
from rag_agent.errors import ExtractError
from rag_agent.sync.sync import read_document
from rag_agent.sync.walk import WalkRules, admit
from rag_agent.types import Chunk, Hit, Skipped, StoredDocument


def is_current(document: StoredDocument) -> bool:
    """Whether the file still has the content that was indexed: by size and time, else by hash."""
    path = absolute_path(document)
    try:
        stat = path.stat()
        if stat.st_size != document.source.size:
            return False
        if stat.st_mtime_ns == document.source.mtime_ns:
            return True
        return hashlib.sha256(path.read_bytes()).hexdigest() == document.source.sha256
    except OSError:
        return False


def absolute_path(document: StoredDocument) -> Path:
    """Where the document lies on disk; a root may be the file itself."""
    root = Path(document.root.path)
    return root if root.is_file() else root / document.path


def relocate(hit: Hit, rules: WalkRules) -> Hit | None:
    """The hit at the lines where its text stands now; None when the file no longer has it.

    For when the index cannot be written: the file is read and cut, nothing is stored.
    """
    document = hit.document
    if document is None:
        return None
    root = Path(document.root.path)
    found = admit(root, document.path, rules)
    if isinstance(found, Skipped):
        return None
    try:
        current, _ = read_document(found)
    except (ExtractError, OSError):
        return None
    lines = {c.text: c for c in chunk(current)}
    best = _moved(hit.chunk, lines)
    if best is None:
        return None
    more = tuple(m for m in (_moved(c, lines) for c in hit.more) if m is not None)
    return replace(hit, chunk=best, more=more, stale=True)


def _moved(stored: Chunk, current: dict[str, Chunk]) -> Chunk | None:
    now = current.get(stored.text)
    return None if now is None else replace(stored, start=now.start, end=now.end)


def outdated(hits: Sequence[Hit]) -> list[StoredDocument]:
    """The documents of these hits whose files have changed or gone."""
    return [h.document for h in hits if h.document is not None and not is_current(h.document)]
