"""Which folders and files an index follows, as config.json names them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rag_agent import paths
from rag_agent.errors import WalkError


def project_folder(folder: Path, home: Path | None) -> Path | None:
    """The folder that a project's store travels with; None for the other stores.

    By its place and not by how it was found: PI_RAG_DIR may name a project's store too.
    """
    project = folder.parent.parent
    return project if folder.parts[-2:] == (".pi", "rag") and project != home else None


def absolute(names: Sequence[str], project: Path | None) -> tuple[Path, ...]:
    """Tracked paths as they lie now, none inside another; relative ones belong to the project."""
    found: tuple[Path, ...] = ()
    for name in names:
        path = _absolute(os.path.expanduser(name), project)  # noqa: PTH111
        # Resolved, as the store keeps its roots: a link and what it points to are one root. Not by
        # Path.resolve, which raises for links in a circle before Python 3.13; the sync says that.
        found = with_path(found, Path(os.path.realpath(path)))
    return found


def _absolute(name: str, project: Path | None) -> Path:
    path = Path(name)
    return path if path.is_absolute() else (project or paths.home_folder()) / path


def portable(tracked: Sequence[Path], project: Path | None) -> tuple[str, ...]:
    """As config.json keeps them: relative inside the project folder, so that it can be moved."""
    project = project and project.resolve()
    return tuple(
        _inside(path.relative_to(project).as_posix())
        if project is not None and path.is_relative_to(project)
        else str(path)
        for path in tracked
    )


def _inside(name: str) -> str:
    """A path of the project that is read as one: ``~`` alone would be the home folder."""
    return f"./{name}" if name.startswith("~") else name


def with_path(tracked: Sequence[Path], target: Path) -> tuple[Path, ...]:
    """Tracked paths that cover ``target`` too; a folder takes the place of what it contains."""
    if any(target.is_relative_to(known) for known in tracked):
        return tuple(tracked)
    return (*(known for known in tracked if not known.is_relative_to(target)), target)


def place_in(followed: Sequence[Path], path: Path) -> tuple[Path, str]:
    """The one of these that a path is or lies below, and its POSIX path there, "" for itself.

    Raises:
        WalkError: it is none of them.
    """
    base = next((root for root in followed if path.is_relative_to(root)), None)
    if base is None:  # another process took it out of the settings meanwhile
        raise WalkError(f"{path} is not tracked any more; run `rag-agent index` on it to add it")
    return base, "" if base == path else path.relative_to(base).as_posix()
