"""Files opened as what they were taken for: regular ones, reached through no link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

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
