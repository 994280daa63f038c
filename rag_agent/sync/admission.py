"""What may be indexed: the one place where every rule about a single entry of a tree is asked.

``walk`` and ``admit`` differ only in how they come to an entry.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_agent.extract.languages import IMAGE, LANGUAGES, Language, key_of
from rag_agent.extract.ocr import OcrRules
from rag_agent.secret_files import secret_file, secret_folder
from rag_agent.sync import reasons
from rag_agent.sync.content import language_of_script, reject_name
from rag_agent.sync.ignore import Decision, Folder, Ignore
from rag_agent.sync.regular import open_regular
from rag_agent.types import Skipped

Entry = Literal["file", "folder", "link", "other"]

_HEAD = 256  # bytes; Linux looks no further for the interpreter
# Windows knows no executable bit, so there every file without an extension is a likely script.
_HAS_EXECUTABLE_BIT = os.name != "nt"
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: on Windows a link to a folder, no symlink
# Bytes of a picture with a line of text that can be read; icons, of which a tree of code holds
# thousands, have fewer, and need not be opened.
_LEAST_PICTURE = 3_000
# What lies in these are devices and the state of the system, some of it without an end.
_MADE_UP = ("/proc/", "/sys/", "/dev/")
_IN_MEMORY = "/dev/shm/"  # but here are files as anywhere else


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What is indexed. ``extensions`` have their dot, ``names`` are whole file names.

    Sizes are bytes; ``max_document_bytes`` is for formats whose text is made from the bytes.
    ``user_ignores`` are the lines of the user's ``core.excludesFile``. ``exclude_tags`` keep out
    the documents that have one. ``ocr`` bounds what one file may take, ``pictures`` how many files
    that are pictures are read in a root.
    """

    extensions: frozenset[str]
    names: frozenset[str]
    exclude_patterns: tuple[str, ...]
    max_bytes: int
    max_document_bytes: int
    user_ignores: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    ocr: OcrRules = field(default_factory=OcrRules)
    pictures: int = 50


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be indexed. ``path`` is POSIX and relative to the root.

    A sync holds one for every file of a tree, so there is no more in it than must be.
    """

    path: str
    root: str
    size: int
    mtime_ns: int

    @property
    def location(self) -> str:
        """Where it lies, absolute."""
        return f"{self.root}/{self.path}"

    @property
    def absolute(self) -> Path:
        """Where it lies; made when asked for, as most files of a sync are never opened."""
        return Path(self.location)


class Admission:
    """The rules of one root, which is a real absolute path of a folder."""

    def __init__(self, root: Path, rules: WalkRules) -> None:
        self._root = str(root)
        self._posix_root = root.as_posix()
        self._above = self._root.rstrip("/")  # one object for all candidates
        self._rules = rules
        self._allowed = rules.extensions | rules.names
        self._known = self._allowed.union(LANGUAGES)
        self.ignore = Ignore(self._root, rules.exclude_patterns, rules.user_ignores)

    def folder(self, above: Folder, path: str, name: str) -> Decision | Skipped:
        """What becomes of the folder; skipped for what no rule can bring in.

        ``path`` is relative to the root, ``name`` its end.
        """
        if not is_text(name):
            return _unnamable(f"{path}/")
        secret = secret_folder(f"{self._posix_root}/{path}")
        if secret is not None:
            return Skipped(f"{path}/", reasons.SECRET, secret)
        if self._posix_root == "/" and made_up(f"/{path}"):
            return Skipped(f"{path}/", reasons.NOT_A_FILE, "made up by the system")
        return self.ignore.decide(above, name, is_folder=True)

    def file(
        self,
        above: Folder,
        path: str,
        name: str,
        entry: Entry,
        status: Callable[[], os.stat_result],
    ) -> Candidate | Skipped:
        """Whether the entry, which is no folder, may be indexed.

        ``status`` is called at most once, and only for what passed every cheaper rule.

        Raises:
            OSError: of ``status``.
        """
        if not is_text(name):
            return _unnamable(path)
        decision = self.ignore.decide(above, name, is_folder=False)
        if not decision.enters:
            return skipped_by(decision, path)
        return self.named_file(f"{above.absolute}/{name}", path, name, entry, status)

    def named_file(
        self,
        absolute: str,
        path: str,
        name: str,
        entry: Entry,
        status: Callable[[], os.stat_result],
    ) -> Candidate | Skipped:
        """As ``file``, but for a file that is itself the root: no ignore rule holds for it."""
        secret = secret_file(f"{self._posix_root}/{path}")
        if secret is not None:
            return Skipped(path, reasons.SECRET, secret)
        if entry == "link":
            return self.link(absolute, path)
        if entry == "other":
            return Skipped(path, reasons.NOT_A_FILE)
        key = key_of(name, self._known)
        if key is not None and key not in self._allowed:
            return Skipped(path, reasons.FILE_TYPE, f"{key} is excluded")
        if key is None and "." in name:
            return Skipped(path, reasons.FILE_TYPE, name[name.rfind(".") :])
        by_name = reject_name(path)
        if by_name is not None:
            return Skipped(path, *by_name)
        found = status()
        if key is None and not _is_script(absolute, found):
            return Skipped(path, reasons.FILE_TYPE, "no extension")
        language = None if key is None else LANGUAGES.get(key)
        limit = size_limit(language, self._rules)
        if language is not None and language.name == IMAGE and found.st_size < _LEAST_PICTURE:
            return Skipped(path, reasons.SMALL_PICTURE, f"{found.st_size:,} bytes hold no text")
        if found.st_size > limit:
            detail = f"{found.st_size / 1e6:.1f} MB, the limit is {limit / 1e6:.1f} MB"
            return Skipped(path, reasons.TOO_LARGE, detail)
        return Candidate(path, self._above, found.st_size, found.st_mtime_ns)

    def link(self, absolute: str, path: str) -> Skipped:
        """Why a link is not followed: its target is outside, missing, or comes by its own path."""
        try:
            target = os.path.realpath(absolute, strict=True)
        except OSError as error:
            loops = error.errno == errno.ELOOP
            detail = "links to itself" if loops else error.strerror or ""
            return Skipped(path, reasons.LINK_BROKEN, detail)
        try:
            inside = Path(target).relative_to(self._root).as_posix()
        except ValueError:
            return Skipped(path, reasons.LINK_OUTSIDE, Path(target).as_posix())
        return Skipped(path, reasons.LINK_INSIDE, f"to {inside}")

    def reach(self, parts: Sequence[str]) -> Folder | Candidate | Skipped:
        """What lies at a path below the root, by the rules of every folder on the way.

        Below a folder that may not be entered nothing is known, so that folder is what is skipped.

        Raises:
            OSError: the disk cannot be asked.
        """
        path = "/".join(parts)
        above = self.ignore.root
        for end, name in enumerate(parts, start=1):
            here = "/".join(parts[:end])
            absolute = f"{above.absolute}/{name}"
            try:
                found = os.lstat(absolute)
            except (FileNotFoundError, NotADirectoryError):
                return Skipped(path, reasons.MISSING)
            except PermissionError as error:
                closed = shown("/".join(parts[: end - 1]))
                return Skipped(f"{closed}/", reasons.UNREADABLE, error.strerror or "")
            entry = entry_of(found)
            if entry == "folder":
                decision = self.folder(above, here, name)
                if isinstance(decision, Skipped):
                    return Skipped(shown(path), decision.reason, decision.detail)
                if decision.enters:
                    decision, above = self.ignore.enter(above, name, decision)
                if not decision.enters:
                    return skipped_by(decision, shown(path))
            elif end == len(parts):
                return self.file(above, path, name, entry, lambda status=found: status)  # type: ignore[misc]
            elif entry == "link":
                skipped = self.link(absolute, here)
                return Skipped(path, skipped.reason, skipped.detail)
            else:
                return Skipped(path, reasons.MISSING)
        return above


def size_limit(language: Language | None, rules: WalkRules) -> int:
    """How many bytes a file of this language may have."""
    converted = language is not None and language.converted
    return rules.max_document_bytes if converted else rules.max_bytes


def skipped_by(decision: Decision, path: str) -> Skipped:
    """What is reported of an entry that is left out, all of it or all but a part."""
    reason = reasons.EXCLUDED if decision.outcome == "excluded" else reasons.IGNORED
    partly = "; in part brought in by .ragignore" if decision.outcome == "passage" else ""
    return Skipped(path, reason, decision.why + partly)


def entry_of(status: os.stat_result) -> Entry:
    """What an ``lstat`` says the entry is."""
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION:
        return "link"
    if stat.S_ISDIR(status.st_mode):
        return "folder"
    return "file" if stat.S_ISREG(status.st_mode) else "other"


def entry_of_listed(entry: os.DirEntry[str]) -> Entry:
    """The same from a listing, without asking the disk where the system allows."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder" if _HAS_EXECUTABLE_BIT else entry_of(entry.stat(follow_symlinks=False))
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def made_up(path: str) -> bool:
    """Whether the system makes up what lies at an absolute POSIX path, so that no disk holds it."""
    return f"{path}/".startswith(_MADE_UP) and not path.startswith(_IN_MEMORY)


def shown(path: str) -> str:
    """A path in which bytes that are no UTF-8 are written out, so that it can be stored."""
    return path if is_text(path) else os.fsencode(path).decode("utf-8", "backslashreplace")


def _unnamable(path: str) -> Skipped:
    return Skipped(shown(path), reasons.NAME, "not UTF-8; rename it to have it indexed")


def is_text(name: str) -> bool:
    """False for a name with bytes that are no UTF-8, which no index can store."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_script(absolute: str, status: os.stat_result) -> bool:
    """Whether a file without an extension begins as a script in a known language."""
    if status.st_size < len("#!/x") or (_HAS_EXECUTABLE_BIT and not status.st_mode & 0o111):
        return False
    with open_regular(absolute) as (file, _):
        return language_of_script(file.read(_HEAD)) is not None
