"""Which parts of a long evaluation are done, for the call that goes on after an interruption."""

from __future__ import annotations

import hashlib
from pathlib import Path

import rag_agent


class Journal:
    """A file of names that are done, under a header that says what is being done.

    Under another header nothing is done yet. ``close`` removes it: the next call does all anew.
    """

    def __init__(self, path: Path, header: str) -> None:
        self._path = path
        self._header = header
        self._done = self._read()

    def __contains__(self, name: str) -> bool:
        return name in self._done

    def add(self, name: str) -> None:
        """Keep that this part is done."""
        self._done.append(name)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(self._path.name + ".temporary")
        text = "".join(f"{line}\n" for line in (self._header, *self._done))
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(self._path)

    def close(self) -> None:
        """All is done."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> list[str]:
        if not self._path.is_file():
            return []
        lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[1:] if lines[:1] == [self._header] else []


def fingerprint(*inputs: str) -> str:
    """A digest of this package's source and of the inputs.

    Figures of one state are not to be mixed with those of another.
    """
    digest = hashlib.sha256()
    package = Path(rag_agent.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    for text in inputs:
        digest.update(b"\0" + text.encode())
    return digest.hexdigest()
