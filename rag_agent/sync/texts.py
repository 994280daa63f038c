"""The text of converted documents by content, shared by all stores and processes of a user.

A rebuilt index, a new way of chunking or another worktree finds it here instead of parsing again.
What is kept is what an index would hold: secrets are masked, and files that the rules leave out
never come here.
"""

from __future__ import annotations

import hashlib
import logging
import zlib
from dataclasses import fields, replace
from pathlib import Path

from rag_agent.cachefile import CacheFile
from rag_agent.extract import VERSION as EXTRACTION
from rag_agent.extract.frames import pack_answer, unpack_answer
from rag_agent.extract.languages import LANGUAGES, key_of
from rag_agent.masking import VERSION as MASKING
from rag_agent.types import Coverage, Document

_log = logging.getLogger(__name__)

FILE = "texts.db"
LIMIT = 1 << 29  # bytes, compressed: some 2 GB of text
_LARGEST = LIMIT // 16  # of one document: it must not push everything else out
# The names of the fields, too: a document that lacks one was written by another version.
_FIELDS = " ".join(field.name for field in (*fields(Document), *fields(Coverage)))
_PIPELINE = f"{EXTRACTION} {MASKING} {_FIELDS}"


class TextCache:
    """Documents as they come out of extraction and masking; safe for threads and processes.

    Never raises for the state of the disk, as ``CacheFile``. Without ``trusted`` nothing is
    found, and what is kept replaces what was there.
    """

    def __init__(self, folder: Path, *, trusted: bool = True, limit: int = LIMIT) -> None:
        self._file = CacheFile(folder / FILE, "text", "text cache", limit)
        self._trusted = trusted

    def get(self, path: str, sha256: str, engine: str = "") -> Document | None:
        """The document of a file with these bytes, None if it is not kept or of a kind that is.

        ``engine`` says what OCR its pictures were read by, "" for none.
        """
        key = _key(path, sha256, engine)
        if key is None or not self._trusted:
            return None
        packed = self._file.get([key]).get(key)
        if packed is None:
            return None
        try:
            document, _ = unpack_answer(zlib.decompress(packed))
        except (zlib.error, ValueError, KeyError, TypeError) as error:
            _log.warning("text cache: an entry is unusable, %s is read again: %s", path, error)
            return None
        return replace(document, path=path) if isinstance(document, Document) else None

    def put(self, document: Document, sha256: str, engine: str = "") -> None:
        """Keep the document of a file with these bytes, if its text was made from them.

        One that OCR has not got to the end of is not kept: every other index would take what is
        missing for nothing to be found.
        """
        key = _key(document.path, sha256, engine)
        seen = document.coverage
        if key is None or (seen is not None and (seen.failed or seen.engine != engine)):
            return
        packed = zlib.compress(pack_answer(document, last=False), 1)
        if len(packed) <= _LARGEST:
            self._file.put([(key, packed)], replace=not self._trusted)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()


def _key(path: str, sha256: str, engine: str) -> bytes | None:
    """None for what needs no conversion: to decode it again takes less than to look it up."""
    name = key_of(path.rpartition("/")[2])
    if name is None or not LANGUAGES[name].converted:
        return None
    made_of = "\0".join((_PIPELINE, name, sha256, *filter(None, [engine])))
    return hashlib.sha256(made_of.encode()).digest()
