"""Vectors by content, shared by all stores and processes of a user.

A branch switch, another worktree or a rebuilt index finds its vectors here instead of computing
them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.cachefile import CacheFile

if TYPE_CHECKING:
    from rag_agent.types import Matrix, Vector

FILE = "embeddings.db"
LIMIT = 1 << 30  # bytes; about 600,000 vectors of 384 numbers, a dozen large projects


class EmbeddingCache:
    """Vectors by fingerprint and text; safe to share between threads and processes.

    Never raises for the state of the disk: an unusable folder or file behaves as an empty cache.
    ``limit`` bounds the file in bytes; what was not used for longest goes first.
    """

    def __init__(self, folder: Path, *, limit: int = LIMIT) -> None:
        self.file = CacheFile(folder / FILE, "vector", "embedding cache", limit)

    def get(self, fingerprint: str, texts: Sequence[str]) -> list[Vector | None]:
        """One entry a text, None where the cache has none. The vectors are read-only."""
        import numpy as np

        keys = [_key(fingerprint, text) for text in texts]
        found = self.file.get(keys)
        vectors: list[Vector | None] = []
        for key in keys:
            blob = found.get(key)
            vectors.append(None if blob is None else np.frombuffer(blob, "<f4"))
        return vectors

    def put(self, fingerprint: str, texts: Sequence[str], vectors: Matrix) -> None:
        """Keep one row a text, as float32, little-endian; rows that are there already stay."""
        self.file.put(
            [
                (_key(fingerprint, text), vector.astype("<f4", copy=False).tobytes())
                for text, vector in zip(texts, vectors, strict=True)
            ]
        )

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.file.close()


def _key(fingerprint: str, text: str) -> bytes:
    digest = hashlib.sha256(fingerprint.encode("utf-8"))
    digest.update(b"\0")
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()
