"""Setting a host up and taking that back: all of its files or none.

Everything is computed and checked before the first file is written. Files are replaced whole, and
what was written is put back when a later one fails.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

import platformdirs

from rag_agent.errors import HostError
from rag_agent.hosts import contents, files
from rag_agent.hosts.journal import Journal, Written, digest, opened
from rag_agent.hosts.types import Edit, Host, OwnFile, Place

_OUR_NAMES = (b"rag-agent", b"rag_agent")
_ALIKE = 0.5  # of all lines; one that names another program differs in one or two
_OUR_FOLDER = "rag-agent"  # a folder of this name, where a host has one, is wholly ours


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class _Plan:
    """Files as they are and as they are to be, and what to note of them (None: nothing more)."""

    journal: Journal
    found: dict[Path, bytes | None] = field(default_factory=dict)
    wanted: dict[Path, bytes | None] = field(default_factory=dict)
    notes: dict[Path, Written | None] = field(default_factory=dict)

    def content(self, path: Path) -> bytes | None:
        if path not in self.found:
            self.found[path] = self.wanted[path] = files.read(path)
        return self.wanted[path]

    @property
    def changes(self) -> list[Change]:
        return [
            Change(path, before, self.wanted[path])
            for path, before in self.found.items()
            if before != self.wanted[path]
        ]


def state_folder() -> Path:
    """Where the journal and the copies lie: the user's data folder."""
    return platformdirs.user_data_path("rag_agent", appauthor=False) / "hosts"


def install(host: Host, place: Place, state: Path, *, dry_run: bool = False) -> list[Change]:
    """Set a host up; what that changes, nothing if it is set up already.

    Raises:
        HostError: a file cannot be read, changed or written; nothing was then.
    """
    if dry_run:
        return _installed(host, place, Journal(state)).changes
    with opened(state) as journal:
        return _apply(_installed(host, place, journal))


def uninstall(host: Host, place: Place, state: Path, *, dry_run: bool = False) -> list[Change]:
    """Take a host's set-up back; files that nobody changed since are as they were before.

    Raises:
        HostError: a file cannot be read, changed or written; nothing was then.
    """
    if dry_run:
        return _taken_back(host, place, Journal(state)).changes
    with opened(state) as journal:
        return _apply(_taken_back(host, place, journal))


def edits_of(host: Host, place: Place) -> list[Edit]:
    """What is to stand where.

    Raises:
        HostError: the host cannot be set up in that scope.
    """
    if place.scope not in host.scopes:
        other = "leave out --project" if place.scope == "project" else "use --project"
        raise HostError(f"{host.title} has no set-up for a {place.scope}; {other}")
    try:
        return list(host.edits(place))
    except OSError as error:  # it looks which of several files is there
        raise HostError(
            f"{error.filename or host.title} cannot be read: {error.strerror or error}"
        ) from error


def _installed(host: Host, place: Place, journal: Journal) -> _Plan:
    plan = _Plan(journal)
    edits = edits_of(host, place)
    by_path = {e.path: [other for other in edits if other.path == e.path] for e in edits}
    for path, own in by_path.items():
        _add(plan, path, own)
    for path in _left_over(journal, place, edits):
        _take_back(plan, path, [])
    return plan


def _taken_back(host: Host, place: Place, journal: Journal) -> _Plan:
    plan = _Plan(journal)
    edits = edits_of(host, place)
    for path in dict.fromkeys(edit.path for edit in edits):
        _take_back(plan, path, [edit for edit in edits if edit.path == path])
    for path in _left_over(journal, place, edits):
        _take_back(plan, path, [])
    return plan


def _left_over(journal: Journal, place: Place, edits: list[Edit]) -> list[Path]:
    """What an earlier version wrote into a folder of ours and this one does not."""
    folders = {
        folder
        for edit in edits
        if isinstance(edit, OwnFile)
        for folder in edit.path.parents
        # The project itself may be called so, too.
        if folder.name == _OUR_FOLDER and not place.project.is_relative_to(folder)
    }
    known = {edit.path for edit in edits}
    found = {path for folder in folders for path in journal.below(folder)}
    return sorted(found - known)


def _add(plan: _Plan, path: Path, edits: list[Edit]) -> None:
    """Plan what all edits of one file make of it."""
    before = plan.content(path)
    earlier = plan.journal.get(path)
    after, made, fresh = before, list[contents.Keys](), True
    for edit in edits:
        if isinstance(edit, OwnFile):
            fresh = before is None or not _is_ours(edit, before, earlier)
            after = edit.content
            continue
        fresh = fresh and (after is None or contents.has_edit(after, edit) is False)
        made += contents.missing_containers(after or b"", edit)
        after = contents.with_edit(after or b"", edit)
    plan.wanted[path] = after
    if before == after or after is None:
        return  # what is as it was keeps what is noted of it
    if earlier is not None and (before is None or digest(before) != earlier.after) and fresh:
        earlier = replace(earlier, made=())  # somebody else took it out: this is a new beginning
    elif earlier is not None:
        known = before is not None and digest(before) == earlier.after
        plan.notes[path] = replace(
            earlier,
            # Where somebody changed it since, the copy is no longer what it is without us.
            after=digest(after) if known else "",
            made=tuple(dict.fromkeys((*earlier.made, *made))),
        )
        return
    plan.notes[path] = Written(
        digest(after),
        created=before is None or (not fresh and isinstance(edits[0], OwnFile)),
        # With something of ours in it from elsewhere it is not what it was without us.
        copy="" if before is None or not fresh else digest(before),
        made=tuple(dict.fromkeys(made)),
        folders=earlier.folders if earlier else (),
    )


def _is_ours(edit: OwnFile, content: bytes, earlier: Written | None) -> bool:
    """Whether a file is as we left it, or one of ours from another version or a colleague.

    Raises:
        HostError: it is neither.
    """
    if content == edit.content or (earlier is not None and digest(content) == earlier.after):
        return True
    named = any(name in content for name in _OUR_NAMES)
    if earlier is not None or not named or not _are_alike(content, edit.content):
        raise HostError(
            f"{edit.path} is there already and not as we would have left it; move it away and try "
            "again"
        )
    return True


def _are_alike(one: bytes, other: bytes) -> bool:
    """Whether half of the lines are the same."""
    matcher = SequenceMatcher(a=one.splitlines(), b=other.splitlines(), autojunk=False)
    return matcher.ratio() >= _ALIKE


def _take_back(plan: _Plan, path: Path, edits: list[Edit]) -> None:
    content = plan.content(path)
    noted = plan.journal.get(path)
    plan.notes[path] = None
    if content is None:
        return
    if noted is not None and digest(content) == noted.after:
        kept = plan.journal.kept(noted) if noted.copy else None
        if kept is not None or noted.created:
            plan.wanted[path] = kept
            return
    plan.wanted[path] = _without(content, edits, noted)


def _without(content: bytes, edits: list[Edit], noted: Written | None) -> bytes | None:
    """A file without what is ours in it; None where nothing is left that was not made by us."""
    for edit in edits:
        if isinstance(edit, OwnFile):
            return None if content == edit.content else content
        content = contents.without_edit(content, edit, noted.made if noted else ())
    created = noted is not None and noted.created
    return None if created and content.strip() in (b"", b"{}") else content


def _apply(plan: _Plan) -> list[Change]:
    """Note and write what is to change; put everything back where one fails."""
    journal, changes = plan.journal, plan.changes
    if not changes and not any(journal.get(path) for path in plan.notes):
        return []
    for change in changes:
        if files.read(change.path) != change.before:
            raise HostError(f"{change.path} was changed just now by another program; try again")
    before = dict(journal.written)
    done: list[Change] = []
    try:
        folders = _note(plan, changes)
        journal.save()
        for change in changes:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            files.write(change.path, change.after)
            done.append(change)
    except (OSError, HostError) as error:
        _put_back(journal, before, done, changes)
        if isinstance(error, HostError):
            raise HostError(f"{error}; nothing was changed") from error
        raise HostError(
            f"{error.filename or journal.folder} cannot be written: {error.strerror or error}; "
            "nothing was changed"
        ) from error
    _hand_on(journal, files.remove_empty(folders))
    journal.tidy()
    return changes


def _note(plan: _Plan, changes: list[Change]) -> set[Path]:
    """Put the notes into the journal, with copies; the folders that may be empty afterwards."""
    folders: set[Path] = set()
    contents_before = {change.path: change.before for change in changes}
    for path, noted in plan.notes.items():
        if noted is None:
            gone = plan.journal.written.pop(str(path), None)
            folders.update(map(Path, gone.folders if gone else ()))
            continue
        before = contents_before[path]
        if before is not None and noted.copy == digest(before):
            plan.journal.keep(before)
        missing = map(str, files.missing_folders(path))
        plan.journal.written[str(path)] = replace(
            noted, folders=tuple(dict.fromkeys((*noted.folders, *missing)))
        )
    return folders


def _put_back(
    journal: Journal, before: dict[str, Written], done: list[Change], changes: list[Change]
) -> None:
    folders = {
        Path(folder)
        for change in changes
        if (noted := journal.get(change.path)) is not None
        for folder in noted.folders
    }
    with suppress(OSError, HostError):  # what cannot be put back is told by the first error
        for change in reversed(done):
            files.write(change.path, change.before)
        files.remove_empty(folders)
        journal.written = before
        journal.save()
        journal.tidy()


def _hand_on(journal: Journal, folders: set[Path]) -> None:
    """Folders of ours that others of our files lie in go when the last of those goes."""
    for folder in folders:
        for path in journal.below(folder)[:1]:
            noted = journal.written[str(path)]
            journal.written[str(path)] = replace(
                noted, folders=tuple(dict.fromkeys((*noted.folders, str(folder))))
            )
    if folders:
        journal.save()
