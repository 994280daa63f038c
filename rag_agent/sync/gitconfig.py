"""Where git keeps ignore rules outside the tree: the user's excludes and a repository's own.

Read without git, which need not be installed. ``includeIf`` and ``core.excludesFile`` in a
repository's own configuration are not followed.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_agent.patterns import lines_of
from rag_agent.sync.regular import open_regular

_log = logging.getLogger(__name__)

_LARGEST = 1_000_000  # bytes; no ignore file that people write comes near
_INCLUDES = 10  # nested; as in git's config.c
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*(\"(?:[^\"\\]|\\.)*\")?\s*\]")
_VARIABLE = re.compile(r"\s*([A-Za-z][\w-]*)\s*=(.*)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def read_regular(path: str) -> bytes:
    """The bytes of a small regular file; nothing for one that is missing, special or a link.

    A fifo would block, and git does not follow links here either.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return b""
        with open_regular(path) as (file, _):
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        _log.warning("%s cannot be read (%s); its rules are not applied", path, error.strerror)
        return b""
    if len(data) > _LARGEST:
        _log.warning("%s is over %d bytes; its rules are not applied", path, _LARGEST)
        return b""
    return data


def user_ignores(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of the file that ``core.excludesFile`` names, or of git's default for it."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    xdg = environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if "GIT_CONFIG_GLOBAL" in environ:
        user_files = [environ["GIT_CONFIG_GLOBAL"]]
    else:
        user_files = [f"{xdg}/git/config"] * bool(xdg) + [f"{home}/.gitconfig"] * bool(home)
    no_system = environ.get("GIT_CONFIG_NOSYSTEM", "0").lower() not in ("0", "false", "no", "off")
    system = [environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"] * (not no_system and bool(home))
    chosen: str | None = None
    for file in (*system, *user_files):
        for value in _excludes_files(file, home, depth=0):
            chosen = value
    if chosen is None:
        chosen = f"{xdg}/git/ignore" if xdg else ""
    # Unlike files inside a tree, this one is the user's own and may be a link (dotfiles).
    return tuple(lines_of(read_regular(os.path.realpath(chosen)))) if chosen else ()


def repository_of(top: str) -> str:
    """Where the repository whose top folder this is keeps what all of its worktrees share.

    A real path. In worktrees and submodules ``.git`` is a file that names the place.
    """
    git = f"{top}/.git"
    pointer = read_regular(git).decode("utf-8", "surrogateescape").strip()
    if pointer.startswith("gitdir:"):
        git = str(Path(top) / pointer.removeprefix("gitdir:").strip())
        common = read_regular(f"{git}/commondir")
        shared = common.decode("utf-8", "surrogateescape").strip()
        if shared:
            git = str(Path(git) / shared)
    return os.path.realpath(git)


def repository_excludes(repository: str) -> list[str]:
    """The lines of ``info/exclude`` of a repository, which ``repository_of`` found."""
    return lines_of(read_regular(f"{repository}/info/exclude"))


def _excludes_files(file: str, home: str, depth: int) -> Iterator[str]:
    """Every value of core.excludesFile in a configuration file and what it includes, in order."""
    if depth > _INCLUDES:
        return
    for section, name, value in _variables(read_regular(os.path.realpath(file))):
        path = f"{home}/{value[2:]}" if value.startswith("~/") and home else value
        if (section, name) == ("core", "excludesfile"):
            yield path
        elif (section, name) == ("include", "path") and path:
            beside = Path(os.path.realpath(file)).parent
            yield from _excludes_files(str(beside / path), home, depth + 1)


def _variables(data: bytes) -> Iterator[tuple[str, str, str]]:
    """``(section, name, value)`` in order; sections with a subsection are left out."""
    section = ""
    text = "\n".join(lines_of(data)).replace("\\\\", "\0").replace("\\\n", "")
    for line in text.split("\n"):
        header = _SECTION.match(line)
        if header:
            section = "" if header[2] else header[1].lower()
            line = line[header.end() :]
        variable = _VARIABLE.match(line)
        if variable and section:
            yield section, variable[1].lower(), _value(variable[2])


def _value(written: str) -> str:
    """A value without its quotes, escapes, comment and surrounding blanks."""
    value = ""
    kept = 0  # length up to the last character that is not a trailing blank
    quoted = False
    characters = iter(written.lstrip())
    for character in characters:
        if character == '"':
            quoted = not quoted
            kept = len(value)
            continue
        if character in "#;" and not quoted:
            break
        if character == "\\":
            following = next(characters, "")
            character = _ESCAPES.get(following, following)
        value += "\\" if character == "\0" else character
        if quoted or not character.isspace():
            kept = len(value)
    return value[:kept]
