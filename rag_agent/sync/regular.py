"""Files opened as what they were taken for: regular ones, reached through no link."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from rag_agent.types import Source

# A file written again within one tick of its file system's clock keeps its size and its time.
# What was that young when it was read, or was written meanwhile, is stored with its time below
# zero, which never matches.
_FINE_TICK = 20_000_000  # nanoseconds; Linux, NTFS and APFS are finer than this
_COARSE_TICK = 2_000_000_000  # FAT counts two seconds, HFS+ and ext3 one

# A file may become a link between the walk and here, and must not lead out of the root then; or a
# pipe, at which opening it for reading would wait for a writer.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)  # Windows would translate line ends
)


@contextmanager
def open_regular(path: str) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """A regular file for reading, and its state before anything is read.

    Raises:
        OSError: it cannot be opened, or is a link, a folder, a pipe or a device.
    """
    handle = os.open(path, _FLAGS)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        file = os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        yield file, found


def read_regular(path: str, limit: int) -> tuple[bytes, Source]:
    """The bytes of a regular file and the state they belong to; of one over the limit a byte more.

    Raises:
        OSError: as ``open_regular``, or it cannot be read.
    """
    import hashlib  # not for everybody who only looks at files

    with open_regular(path) as (file, before):
        # Some file systems do not know how long a file is before it is read.
        data = file.read(min(before.st_size or limit, limit) + 1)
        after = os.fstat(file.fileno())
    return data, Source(
        len(data), _time_read(before, after, data), hashlib.sha256(data).hexdigest()
    )


def _time_read(before: os.stat_result, after: os.stat_result, data: bytes) -> int:
    """The time of a file that was read; below zero where its bytes may be no longer those."""
    mtime = after.st_mtime_ns
    tick = _FINE_TICK if mtime % 1_000_000_000 else _COARSE_TICK
    written = (before.st_mtime_ns, before.st_ctime_ns) != (mtime, after.st_ctime_ns)
    if written or after.st_size != len(data) or abs(time.time_ns() - mtime) < tick:
        return -mtime
    return mtime
