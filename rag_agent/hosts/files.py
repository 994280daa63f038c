"""Files of other programs: read whole, replaced whole."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from rag_agent.errors import HostError


def read(path: Path) -> bytes | None:
    """The content of a file, None if there is none.

    Raises:
        HostError: it cannot be read, or is no file.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a named pipe waits for its writer
            raise HostError(f"{path} is not a file; it was left alone")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror or error}") from error


def write(path: Path, content: bytes | None) -> None:
    """Replace, make or remove (None) a file, all or nothing.

    A link keeps pointing to the same file, and the file keeps its mode.

    Raises:
        HostError: it cannot be written.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        if target.exists() and not os.access(target, os.W_OK):
            raise HostError(f"{path} is write-protected; it was left alone")
        if content is None:
            target.unlink(missing_ok=True)
            return
        draft.unlink(missing_ok=True)  # of a process that was killed
        with draft.open("xb") as stream:
            if target.exists():
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):  # the first error tells
            draft.unlink(missing_ok=True)
        raise HostError(f"{path} cannot be written: {error.strerror or error}") from error


def missing_folders(path: Path) -> list[Path]:
    """The folders around a file that are to be made, the innermost first."""
    missing = []
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    return missing


def remove_empty(folders: set[Path]) -> set[Path]:
    """Remove those of the folders that are empty; those that are still there."""
    left = set()
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):  # the inner ones first
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # others have put something there
            left.add(folder)
    return left
