"""Where an evaluation writes to: found out to be unusable before the work, and not after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rag_agent.errors import QueryError

PARTIAL = ".partial"
"""The end of the name of what is not complete yet."""

_TEMPORARY = ".temporary"
_BESIDE = (PARTIAL, _TEMPORARY, PARTIAL + _TEMPORARY)


def check_file(out: Path, *kept: Path) -> None:
    """Make the folder of a file that will be written, and try it.

    Raises:
        QueryError: it is a folder or a device, no file can be written beside it, or writing it
            would destroy one of those that are ``kept``.
    """
    with writing(out):
        if out.exists() and not out.is_file():
            raise QueryError(f"cannot write {out}: it is no file; name one that is, or a new one")
        written = [out.with_name(out.name + ending) for ending in ("", *_BESIDE)]
        for path in kept:
            if any(one.exists() and path.exists() and one.samefile(path) for one in written):
                raise QueryError(f"writing {out} would destroy {path}; give it another name")
        out.parent.mkdir(parents=True, exist_ok=True)
        # The longest of the names, which may be too long; it is a left-over or not there.
        written[-1].touch()
        written[-1].unlink()


def check_folder(folder: Path) -> None:
    """Find out whether a folder that files will be written to can be had; it is not made.

    Raises:
        QueryError: it, or what is above it, is a file, or nothing can be written there.
    """
    with writing(folder):
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        with tempfile.TemporaryFile(dir=there):
            return


def write_lines(path: Path, lines: Sequence[str]) -> None:
    r"""Write a file whole or not at all.

    Half a surrogate pair, which UTF-8 cannot hold, is written as ``\udXXX``: as JSON has it.

    Raises:
        QueryError: it cannot be written; names it.
    """
    temporary = path.with_name(path.name + _TEMPORARY)
    with writing(path):
        try:
            temporary.write_text(
                "".join(f"{line}\n" for line in lines),
                encoding="utf-8",
                errors="backslashreplace",
                newline="\n",
            )
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What keeps the path from being written is an error that names it."""
    try:
        yield
    except OSError as error:
        raise QueryError(f"cannot write {path}: {error.strerror or error}") from error
