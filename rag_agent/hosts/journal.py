"""What was written where, so that it can be taken back to the byte.

Kept with copies of the files as they were, in the user's data folder. Without it everything works,
only files that were made empty by us stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import filelock

from rag_agent.errors import HostError

_FILE = "journal.json"
_WAIT = 10.0  # seconds for another installation to end


@dataclass(frozen=True, slots=True)
class Written:
    """One file as we left it.

    ``after`` is its SHA-256; ``created`` says that there was no file before, else ``backup`` names
    the copy of what it was without us, if that is known; ``made`` are the objects and lists in it
    and ``folders`` the folders around it that we made.
    """

    after: str
    created: bool = False
    backup: str = ""
    made: tuple[tuple[str, ...], ...] = ()
    folders: tuple[str, ...] = ()


class Journal:
    """The files that were written, by their paths; ``save`` keeps changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = _read(folder / _FILE)

    def get(self, path: Path) -> Written | None:
        """How a file was left, None if we never wrote it."""
        return self._written.get(str(path))

    def below(self, folder: Path) -> list[Path]:
        """The files in a folder that we wrote."""
        return [p for p in map(Path, self._written) if p.is_relative_to(folder)]

    def note(self, path: Path, written: Written) -> None:
        """Remember how a file was left."""
        self._written[str(path)] = written

    def drop(self, path: Path) -> None:
        """Forget a file, and its copy."""
        written = self._written.pop(str(path), None)
        if written is not None and written.backup:
            (self.folder / written.backup).unlink(missing_ok=True)

    def keep(self, path: Path, content: bytes) -> str:
        """Keep what a file was without us; the name of the copy."""
        name = f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}-{path.name}"
        self.folder.mkdir(parents=True, exist_ok=True)
        copy = self.folder / name
        copy.write_bytes(content)
        copy.chmod(0o600)  # configurations hold keys
        return name

    def kept(self, written: Written) -> bytes | None:
        """What a file was without us, None if that is not known any more."""
        try:
            return (self.folder / written.backup).read_bytes()
        except OSError:
            return None

    def save(self) -> None:
        """Write the journal."""
        self.folder.mkdir(parents=True, exist_ok=True)
        data = {path: asdict(written) for path, written in sorted(self._written.items())}
        draft = self.folder / f"{_FILE}.new"
        draft.write_text(json.dumps(data, indent=1), encoding="utf-8")
        draft.replace(self.folder / _FILE)


@contextmanager
def opened(folder: Path) -> Iterator[Journal]:
    """The journal, for this process alone.

    Raises:
        HostError: another process holds it, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / "lock", timeout=_WAIT)
        with lock:
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


def with_more(written: Written | None, **changes: Any) -> Written:
    """How a file was left, with some of it changed."""
    return replace(written or Written(""), **changes)


def _read(path: Path) -> dict[str, Written]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Written(
                each["after"],
                each["created"],
                each["backup"],
                tuple(tuple(keys) for keys in each["made"]),
                tuple(each["folders"]),
            )
            for name, each in found.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
