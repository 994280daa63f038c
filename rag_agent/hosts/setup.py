"""Setting a host up and taking that back: all of its files or none.

Everything is computed and checked before the first file is written. Files are replaced whole, and
what was written is put back when a later one fails.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from rag_agent.errors import HostError
from rag_agent.hosts import contents
from rag_agent.hosts.journal import Journal, Written, digest, opened, with_more
from rag_agent.hosts.types import Edit, Entry, Host, Item, OwnFile, OwnFolder, Place

State = Literal["set up", "outdated", "no"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class _Plan:
    """Contents of files as they are to be, and what to note of them."""

    journal: Journal
    files: dict[Path, bytes | None]
    found: dict[Path, bytes | None]
    notes: dict[Path, Written | None]

    def content(self, path: Path) -> bytes | None:
        if path not in self.files:
            self.found[path] = self.files[path] = _read(path)
        return self.files[path]

    @property
    def changes(self) -> list[Change]:
        return [
            Change(path, self.found[path], after)
            for path, after in self.files.items()
            if after != self.found[path]
        ]


def state_folder() -> Path:
    """Where the journal and the copies lie: the user's data folder."""
    return platformdirs.user_data_path("rag_agent", appauthor=False) / "hosts"


def install(host: Host, place: Place, state: Path, *, dry_run: bool = False) -> list[Change]:
    """Set a host up; what that changes, nothing if it is set up already.

    Raises:
        HostError: a file cannot be read, changed or written; nothing was then.
    """
    with opened(state) as journal:
        plan = _Plan(journal, {}, {}, {})
        for edit in _edits(host, place):
            _add(plan, edit)
        if not dry_run:
            _apply(plan)
        return plan.changes


def uninstall(host: Host, place: Place, state: Path, *, dry_run: bool = False) -> list[Change]:
    """Take a host's set-up back; files that nobody changed since are as they were before.

    Raises:
        HostError: a file cannot be read, changed or written; nothing was then.
    """
    with opened(state) as journal:
        plan = _Plan(journal, {}, {}, {})
        edits = _edits(host, place)
        for path in dict.fromkeys(edit.path for edit in edits):
            _take_back(plan, path, [edit for edit in edits if edit.path == path])
        if not dry_run:
            _apply(plan)
        return plan.changes


def state(host: Host, place: Place) -> State:
    """Whether a host is set up, as its files tell."""
    found: set[bool | None] = set()
    for edit in _edits(host, place):
        content = _read(edit.path)
        if isinstance(edit, OwnFile):
            found.add(False if content is None else True if content == edit.content else None)
        else:
            found.add(False if content is None else contents.has_edit(content, edit))
    if found == {True}:
        return "set up"
    return "no" if found == {False} else "outdated"


def _edits(host: Host, place: Place) -> list[Entry | Item | OwnFile]:
    if place.scope not in host.scopes:
        raise HostError(f"{host.title} has no set-up for a {place.scope}; leave out --project")
    edits: list[Entry | Item | OwnFile] = []
    for edit in host.edits(place):
        edits.extend(_files(edit) if isinstance(edit, OwnFolder) else [edit])
    return edits


def _files(folder: OwnFolder) -> list[OwnFile]:
    files = sorted(path for path in folder.source.rglob("*") if path.is_file())
    return [OwnFile(folder.path / f.relative_to(folder.source), f.read_bytes()) for f in files]


def _add(plan: _Plan, edit: Edit) -> None:
    assert not isinstance(edit, OwnFolder)
    content = plan.content(edit.path)
    noted = plan.notes.get(edit.path) or plan.journal.get(edit.path)
    if isinstance(edit, OwnFile):
        ours = content in (None, edit.content) or (
            noted is not None and content is not None and digest(content) == noted.after
        )
        if not ours:
            raise HostError(
                f"{edit.path} is there already and not as we would have left it; move it away "
                "and try again"
            )
        plan.files[edit.path] = edit.content
        plan.notes[edit.path] = with_more(noted, after=digest(edit.content))
        return
    made = contents.missing_containers(content or b"", edit)
    plan.files[edit.path] = after = contents.with_edit(content or b"", edit)
    before = (*(noted.made if noted else ()), *made)
    plan.notes[edit.path] = with_more(noted, after=digest(after), made=tuple(dict.fromkeys(before)))


def _take_back(plan: _Plan, path: Path, edits: list[Entry | Item | OwnFile]) -> None:
    content = plan.content(path)
    noted = plan.journal.get(path)
    plan.notes[path] = None
    if content is None:
        return
    if noted is not None and digest(content) == noted.after:
        kept = plan.journal.kept(noted) if noted.backup else None
        if kept is not None or noted.created:
            plan.files[path] = kept
            return
    plan.files[path] = _without(content, edits, noted)


def _without(
    content: bytes, edits: list[Entry | Item | OwnFile], noted: Written | None
) -> bytes | None:
    """A file without what is ours in it; None where nothing is left that was not made by us."""
    for edit in edits:
        if isinstance(edit, OwnFile):
            return None if content == edit.content else content
        content = contents.without_edit(content, edit, noted.made if noted else ())
    if noted is not None and noted.created and not contents.values(content, edits[0].path):
        return None
    return content


def _apply(plan: _Plan) -> None:
    """Write what is to change, put back what was written where one fails, and note it."""
    done: list[Change] = []
    try:
        for change in plan.changes:
            noted = plan.notes[change.path]
            if noted is not None:
                plan.notes[change.path] = _prepared(plan.journal, change, noted)
            _write(change.path, change.after)
            done.append(change)
    except OSError as error:
        for change in reversed(done):
            with suppress(OSError):  # what cannot be put back is told by the first error
                _write(change.path, change.before)
        raise HostError(
            f"{error.filename or 'a file'} cannot be written: {error.strerror or error}; nothing "
            "was changed"
        ) from error
    changed = {change.path for change in plan.changes}
    folders: set[str] = set()
    for path, noted in plan.notes.items():
        if noted is not None:
            if path in changed:  # what is as it was keeps its copy and its digest
                plan.journal.note(path, noted)
        elif (written := plan.journal.get(path)) is not None:
            folders.update(written.folders)
            plan.journal.drop(path)
    _remove_empty(folders)
    plan.journal.save()


def _prepared(journal: Journal, change: Change, noted: Written) -> Written:
    """The note with a copy of what the file is without us, and the folders made for it."""
    earlier = journal.get(change.path)
    if earlier is None:
        created = change.before is None
        backup = "" if change.before is None else journal.keep(change.path, change.before)
        noted = with_more(noted, created=created, backup=backup)
    elif change.before is not None and digest(change.before) != earlier.after:
        # Somebody changed it since: the copy is no longer what it is without us.
        noted = with_more(noted, backup="", after="")
    missing = []
    folder = change.path.parent
    while not folder.exists():
        missing.append(str(folder))
        folder = folder.parent
    change.path.parent.mkdir(parents=True, exist_ok=True)
    return with_more(noted, folders=(*(earlier.folders if earlier else ()), *missing))


def _remove_empty(folders: set[str]) -> None:
    for folder in sorted(folders, key=len, reverse=True):  # what lies inside another is longer
        with suppress(OSError):  # not empty: others have put something there
            Path(folder).rmdir()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror or error}") from error


def _write(path: Path, content: bytes | None) -> None:
    """All or nothing; a link keeps pointing to the same file, and the file its mode."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    target = Path(os.path.realpath(path))
    draft = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            if not os.access(target, os.W_OK):
                raise PermissionError(13, "it is write-protected", str(path))
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
