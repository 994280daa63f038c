"""What a session has been shown already is not shown to it again."""

from __future__ import annotations

from collections.abc import Collection

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes a hook 3 ms
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.types import Chunk, Hit

_BYTES = 16


def key_of(chunk: Chunk) -> bytes:
    """Names a chunk by its file and its text, 16 bytes: a chunk that changed is another one."""
    named = f"{chunk.path}\0{chunk.text}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=_BYTES).digest()


def keys_of(hits: Collection[Hit]) -> frozenset[bytes]:
    """The keys of all chunks of these hits."""
    return frozenset(key_of(chunk) for hit in hits for chunk in (hit.chunk, *hit.more))


def unseen(hit: Hit, shown: Collection[bytes]) -> Hit | None:
    """The hit without chunks that were shown; None when its best one was, which it stands for."""
    if not shown:
        return hit
    if key_of(hit.chunk) in shown:
        return None
    from dataclasses import replace

    return replace(hit, more=tuple(chunk for chunk in hit.more if key_of(chunk) not in shown))
