"""The files of a tree that may be indexed, and why each of the others may not.

Nothing is opened here but ignore files and the first bytes of executable files that have no
extension.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rag_agent.errors import WalkError
from rag_agent.extract.languages import IMAGE, LANGUAGES
from rag_agent.extract.ocr import OcrRules
from rag_agent.secret_files import secret_folder
from rag_agent.sync import reasons
from rag_agent.sync.admission import (
    Admission,
    Candidate,
    WalkRules,
    entry_of,
    entry_of_listed,
    is_text,
    made_up,
    shown,
    skipped_by,
)
from rag_agent.sync.gitconfig import user_ignores
from rag_agent.sync.ignore import Folder
from rag_agent.types import Skipped

__all__ = ["Candidate", "WalkRules", "admit", "check_root", "rules_from", "walk"]

Skip = Callable[[Skipped], None]
Enter = Callable[[str], None]


def rules_from(
    extra_extensions: Collection[str],
    exclude_extensions: Collection[str],
    exclude_patterns: Sequence[str],
    max_bytes: int,
    max_document_bytes: int,
    exclude_tags: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    *,
    ocr: OcrRules | None = None,
    pictures: int = 50,
) -> WalkRules:
    """The allowlist with the user's additions and exceptions, and the user's own git excludes.

    Extensions may come with or without their dot; a whole name of the table (``Makefile``) may
    stand among them. What is both added and excluded is excluded. ``environ`` says where git's
    configuration lies. Without any ``pictures`` their extensions count as excluded.
    """
    excluded = {_allowlist_key(extension) for extension in exclude_extensions}
    added = {_allowlist_key(extension) for extension in extra_extensions}
    allowed = (added | set(LANGUAGES)) - excluded
    if not pictures:
        allowed -= {key for key, language in LANGUAGES.items() if language.name == IMAGE}
    return WalkRules(
        extensions=frozenset(key for key in allowed if key.startswith(".")),
        names=frozenset(key for key in allowed if not key.startswith(".")),
        exclude_patterns=tuple(exclude_patterns),
        max_bytes=max_bytes,
        max_document_bytes=max_document_bytes,
        user_ignores=user_ignores(environ),
        exclude_tags=tuple(exclude_tags),
        ocr=ocr or OcrRules(),
        pictures=pictures,
    )


def _allowlist_key(extension: str) -> str:
    if extension in LANGUAGES:
        return extension
    return "." + extension.strip().lower().removeprefix("*").removeprefix(".")


def check_root(path: Path, *, force: bool = False) -> Path:
    """The real absolute path of a folder or file that may be indexed.

    Raises:
        WalkError: it is missing, or too wide to be meant (``/``, the home folder, what lies above
            it) and not forced; or what cannot be forced: a folder of keys, what the system makes
            up (``/proc``), no file or folder at all, a name that cannot be stored.
    """
    real = _resolved(path)
    parts = real.as_posix().split("/")
    if any(secret_folder("/".join(parts[:end])) for end in range(2, len(parts) + 1)):
        raise WalkError(f"{real} is for keys or passwords, which are never indexed")
    if made_up(real.as_posix()):
        raise WalkError(f"{real} is made up by the system and holds no text; index another folder")
    if not (real.is_dir() or real.is_file()):
        raise WalkError(f"{real} is a device, a pipe or a socket; name a folder or file to index")
    home = _home()
    above_home = home is not None and (real == home or real in home.parents)
    if not force and (above_home or real == Path(real.anchor)):
        what = "your home folder" if real == home else "more than a project"
        raise WalkError(
            f"{real} is {what}; index a folder inside it; `rag-agent index --force` overrides"
        )
    return real


def _resolved(path: Path) -> Path:
    """The path without ``~``, ``..`` and links."""
    if not is_text(str(path)) or "\0" in str(path):
        raise WalkError(f"{str(path)!r} holds what no stored path can; name another or rename it")
    try:
        real = path.expanduser().resolve(strict=True)
    except FileNotFoundError as error:
        raise WalkError(f"{path} does not exist; name a folder or file to index") from error
    except RuntimeError as error:  # no such user, or a link loop, before Python 3.13
        raise WalkError(f"{path} leads nowhere ({error}); name a folder or file") from error
    except OSError as error:
        raise WalkError(f"{path} cannot be read ({error.strerror or error})") from error
    if not is_text(str(real)):
        raise WalkError(f"{path} leads to {str(real)!r}, which is not UTF-8; rename it")
    return real


def _home() -> Path | None:
    """The user's home folder; a user without one (in some containers) has none to protect."""
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def _no_matter(path: str) -> None:
    """Most do not ask which folders are entered."""


def walk(
    root: Path, rules: WalkRules, skip: Skip, under: str = "", enter: Enter = _no_matter
) -> Iterator[Candidate]:
    """The files below ``root`` that the rules admit, sorted by path; every other goes to ``skip``.

    An ignored folder is one entry with a slash at its end, and none when it is the index's own,
    version control's, or one that a tool makes anew (caches, virtual environments). ``under`` is
    a folder or file below the root, as a POSIX path, whose part of the tree is walked. ``root``
    may be a file. ``enter`` is told the path of every folder below the root that is listed.

    A folder that cannot be listed is one entry, too, with the slash: nothing is known about what
    lies in it.

    Raises:
        WalkError: the root is missing or cannot be read, so nothing is known about its files.
    """
    real = _real(root)
    under = "/".join(part for part in under.split("/") if part not in ("", "."))
    if under or not real.is_dir():
        reached = _reach(real, under or real.name, rules)
        if isinstance(reached, Candidate):
            yield reached
        elif isinstance(reached, Skipped):
            if reached.reason != reasons.MISSING:
                skip(reached)
        else:
            admission, folder = reached
            yield from _below(admission, folder, under, skip, enter)
        return
    admission = Admission(real, rules)
    try:
        entries = _listed(str(real))
    except OSError as error:
        raise _unreadable_root(root, error) from error
    yield from _down(admission, admission.ignore.root, "", entries, skip, enter)


def admit(root: Path, path: str, rules: WalkRules) -> Candidate | Skipped:
    """What ``walk`` makes of the one file at ``path``, decided without walking.

    Raises:
        WalkError: the root is missing, or the path is not one below the root.
    """
    reached = _reach(_real(root), path, rules)
    if isinstance(reached, tuple):
        return Skipped(path, reasons.NOT_A_FILE, "a folder")
    return reached


def _reach(
    real: Path, path: str, rules: WalkRules
) -> Candidate | Skipped | tuple[Admission, Folder]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise WalkError(f"{path!r} is not a path below {real}")
    try:
        if not real.is_dir():
            return _root_file(real, "/".join(parts), rules)
        admission = Admission(real, rules)
        reached = admission.reach(parts)
    except OSError as error:
        return Skipped(shown(path), reasons.UNREADABLE, error.strerror or str(error))
    return (admission, reached) if isinstance(reached, Folder) else reached


def _root_file(real: Path, path: str, rules: WalkRules) -> Candidate | Skipped:
    """A file that is itself the root: it was asked for, so what ignores it does not count."""
    if path != real.name:
        return Skipped(path, reasons.MISSING)
    admission = Admission(real.parent, rules)
    found = real.lstat()
    return admission.named_file(str(real), path, path, entry_of(found), lambda: found)


def _real(root: Path) -> Path:
    try:
        real = root.resolve(strict=True)
        os.lstat(f"{real}/." if real.is_dir() else real)  # fails where one may not look inside
    except (OSError, RuntimeError) as error:
        raise _unreadable_root(root, error) from error
    return real


def _unreadable_root(root: Path, error: Exception) -> WalkError:
    why = getattr(error, "strerror", None) or str(error)
    return WalkError(f"{root} cannot be walked ({why}); what the index holds of it is kept")


def _listed(absolute: str) -> list[tuple[str, os.DirEntry[str]]]:
    """The entries of a folder in the order of their paths: ``a-b`` comes before ``a/b``.

    Each comes with its name, and a slash after that of a folder.
    """
    with os.scandir(absolute) as entries:
        listed = [
            (f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name, entry)
            for entry in entries
        ]
    listed.sort(key=lambda keyed: keyed[0])
    return listed


def _below(
    admission: Admission, folder: Folder, path: str, skip: Skip, enter: Enter
) -> Iterator[Candidate]:
    try:
        entries = _listed(folder.absolute)
    except OSError as error:
        skip(Skipped(f"{path}/", reasons.UNREADABLE, error.strerror or str(error)))
        return
    enter(path)
    yield from _down(admission, folder, f"{path}/", entries, skip, enter)


def _down(
    admission: Admission,
    folder: Folder,
    prefix: str,
    entries: list[tuple[str, os.DirEntry[str]]],
    skip: Skip,
    enter: Enter,
) -> Iterator[Candidate]:
    """All below a folder whose entries are listed. A stack, as trees are deeper than Python's."""
    stack = [(folder, prefix, iter(entries))]
    while stack:
        folder, prefix, rest = stack[-1]
        for listed_as, entry in rest:
            path = prefix + entry.name
            try:
                sort = entry_of_listed(entry)
                if sort == "folder":
                    inside = _entered(admission, folder, path, entry.name, skip)
                    if inside is not None:
                        enter(path)
                        stack.append((inside[0], f"{path}/", iter(inside[1])))
                        break
                    continue
                found = admission.file(
                    folder,
                    path,
                    entry.name,
                    sort,
                    lambda entry=entry: entry.stat(follow_symlinks=False),  # type: ignore[misc]
                )
            except FileNotFoundError:
                continue  # it vanished meanwhile
            except OSError as error:
                path = shown(prefix + listed_as)  # a folder with its slash
                skip(Skipped(path, reasons.UNREADABLE, error.strerror or str(error)))
                continue
            if isinstance(found, Candidate):
                yield found
            elif not (folder.entered == "passage" and found.reason == reasons.IGNORED):
                skip(found)
        else:
            stack.pop()


def _entered(
    admission: Admission, above: Folder, path: str, name: str, skip: Skip
) -> tuple[Folder, list[tuple[str, os.DirEntry[str]]]] | None:
    """The folder and its entries, or None when it is left out.

    Raises:
        OSError: it cannot be listed.
    """
    decision = admission.folder(above, path, name)
    if isinstance(decision, Skipped):
        skip(decision)
        return None
    inside = None
    if decision.enters:
        entries = _listed(f"{above.absolute}/{name}")
        names = {entry.name for _, entry in entries}
        decision, folder = admission.ignore.enter(above, name, decision, names)
        if decision.enters:
            inside = folder, entries
    if decision.reported and decision.outcome not in ("kept", "wanted"):
        skip(skipped_by(decision, f"{path}/"))
    return inside
