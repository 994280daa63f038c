"""What was written where, so that it can be taken back to the byte.

Kept with copies of the files as they were, in the user's data folder. It is written before the
files are: what it tells of a file counts only while the file is as it says. Without it everything
works, only what was made empty by us stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import filelock

from rag_agent.errors import HostError

_FILE = "journal.json"
_COPIES = "copies"
_WAIT = 10.0  # seconds for another installation to end
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Written:
    """One file as we left it.

    ``after`` is its SHA-256, empty where only our part of it is known to us; ``created`` says that
    there was no file before, else ``copy`` is the SHA-256, and name, of what it was without us.
    ``made`` are the objects and lists in it and ``folders`` the folders around it that we made.
    """

    after: str = ""
    created: bool = False
    copy: str = ""
    made: tuple[tuple[str, ...], ...] = ()
    folders: tuple[str, ...] = ()


class Journal:
    """The files that were written, by their paths; ``save`` keeps changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = _read(folder / _FILE)

    def get(self, path: Path) -> Written | None:
        """How a file was left, None if we never wrote it."""
        return self.written.get(str(path))

    def below(self, folder: Path) -> list[Path]:
        """The files in a folder that we wrote."""
        return [path for path in map(Path, self.written) if path.is_relative_to(folder)]

    def keep(self, content: bytes) -> str:
        """Keep what a file was without us; the name of the copy."""
        name = digest(content)
        _write(self.folder / _COPIES / name, content)
        return name

    def kept(self, written: Written) -> bytes | None:
        """What a file was without us, None if that is not known any more."""
        try:
            content = (self.folder / _COPIES / written.copy).read_bytes()
        except OSError:
            return None
        return content if digest(content) == written.copy else None

    def save(self) -> None:
        """Write the journal."""
        data = {path: asdict(written) for path, written in sorted(self.written.items())}
        _write(self.folder / _FILE, json.dumps(data, indent=1).encode())

    def tidy(self) -> None:
        """Remove the copies that nothing names any more."""
        named = {written.copy for written in self.written.values()}
        copies = self.folder / _COPIES
        for copy in copies.iterdir() if copies.is_dir() else ():
            if copy.name not in named:
                copy.unlink(missing_ok=True)


@contextmanager
def opened(folder: Path) -> Iterator[Journal]:
    """The journal, for this process alone.

    Raises:
        HostError: another process holds it, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # configurations hold keys
        with filelock.FileLock(folder / "lock", timeout=_WAIT):
            yield Journal(folder)
    except filelock.Timeout as error:
        raise HostError("another installation is at work; try again when it is done") from error
    except OSError as error:
        raise HostError(
            f"{error.filename or folder} cannot be written: {error.strerror or error}"
        ) from error


def digest(content: bytes) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """All or nothing, and for nobody else to read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)


def _read(path: Path) -> dict[str, Written]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {name: _written(each) for name, each in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _written(data: Mapping[str, Any]) -> Written:
    known = {field.name: data[field.name] for field in fields(Written) if field.name in data}
    known["made"] = tuple(tuple(keys) for keys in known.get("made", ()))
    known["folders"] = tuple(known.get("folders", ()))
    return Written(**known)
