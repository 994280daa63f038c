"""What lies outside of a project and its index may follow: what this user added on this machine.

The settings beside a project's index come along with a clone of it, and must not reach for whatever
else lies here. So what is added is noted in the user's data folder, under the project's path.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from rag_agent import paths
from rag_agent.errors import ConfigError

_FILE = "outside.json"  # {"/home/me/project": ["/home/me/notes"]}
_LOCK_TIMEOUT = 10  # seconds; a save takes milliseconds


def allowed(project: Path, place: Path) -> bool:
    """Whether an index may follow a place, as it lies in its project or was added by this user."""
    if place.is_relative_to(project):
        return True
    try:
        noted = _read(paths.data_folder() / _FILE)
    except ConfigError:
        return False
    return any(place.is_relative_to(known) for known in noted.get(str(project), ()))


def allow(project: Path, place: Path) -> None:
    """Note that this user added a place.

    Raises:
        ConfigError: the note cannot be written.
    """
    if allowed(project, place):
        return
    import filelock  # only for writing, which is rare

    file = paths.data_folder() / _FILE
    draft = file.with_name(f"{_FILE}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with filelock.FileLock(file.with_name("outside.lock"), timeout=_LOCK_TIMEOUT):
            noted = _read(file)
            noted[str(project)] = [*noted.get(str(project), ()), str(place)]
            draft.write_text(json.dumps(noted, indent=1), encoding="utf-8")
            draft.replace(file)
    except (OSError, filelock.Timeout) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"that {place} may be followed from {project} cannot be noted in {file} ({why}); "
            "make that folder writable"
        ) from error


def _read(file: Path) -> dict[str, list[str]]:
    """What is noted; nothing where the file is missing or damaged, which allows nothing."""
    try:
        noted = json.loads(file.read_text(encoding="utf-8"))
        return {
            project: [place for place in places if isinstance(place, str)]
            for project, places in noted.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
