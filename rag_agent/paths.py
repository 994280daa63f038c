"""Which folder holds the index, which file in it, and where caches and logs lie."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from rag_agent.endpoint import STORE, nearest_store
from rag_agent.errors import ConfigError, StoreError

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from types import ModuleType

    from rag_agent.types import Scope

APPLICATION_ID = 0x52414741  # "RAGA": marks our SQLite files (sqlite.org/fileformat2.html, byte 68)
VARIABLE = "PI_RAG_DIR"

_DATABASE = "rag.db"
_BESIDE_FOREIGN = "rag_agent.db"
_STORE = Path(*STORE)
_SQLITE = b"SQLite format 3\x00"


def store_folder(
    cwd: Path, environ: Mapping[str, str], home: Path | None = None
) -> tuple[Path, Scope]:
    """The store in scope of a folder, whether it exists yet or not.

    ``$PI_RAG_DIR``, else the nearest existing ``.pi/rag`` from ``cwd`` upwards but below the home
    folder, else ``~/.pi/rag``.

    Raises:
        ConfigError: ``$PI_RAG_DIR`` names no usable folder, or no home folder is known where only
            that is left.
    """
    named = environ.get(VARIABLE, "")
    if named:
        return _named_folder(cwd, named), "environment"
    unknown = None
    if home is None:
        try:
            home = home_folder()
        except ConfigError as error:
            unknown = error
    found = nearest_store(str(cwd), None if home is None else str(home))
    if found is not None:
        return Path(found), "project"
    if home is None:
        assert unknown is not None
        raise unknown
    return home / _STORE, "global"


def project_store(cwd: Path) -> Path:
    """The store that belongs to a project folder."""
    return cwd / _STORE


def create_store_folder(folder: Path) -> None:
    """Make the folder, for its user alone, and keep it out of version control.

    What is indexed may be readable by nobody else, so neither is the index; whoever wants to share
    one changes the mode of its folder and files, which stays as it is then.
    A folder that somebody else made and filled is not kept out: with a project's own folder git,
    and so the index, would lose sight of everything in it.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.is_symlink() or folder.parent.is_symlink():
            return  # a clone may bring that along too, and what it leads to is somebody else's
        ignore = folder / ".gitignore"
        named = folder.parts[-2:] == _STORE.parts
        if (named or not any(folder.iterdir())) and not ignore.exists():
            if named:  # a clone may bring it along with settings in it
                folder.chmod(0o700)
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{folder}: the folder for the index cannot be made ({error.strerror or error}); "
            f"make it writable, or set {VARIABLE} to a folder that is"
        ) from error


def make_private(path: Path) -> None:
    """An empty file that its user alone may read, where there is no file yet.

    For SQLite, whose own new files everybody may read; its logs take the mode over. It also says
    why where no file can be made.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def expanded(name: str) -> Path:
    """What a person or a variable names, with ``~`` and ``~user`` replaced where they begin it.

    Not by Path.expanduser, which raises for a user who does not exist, and takes ``./~``, a file of
    that name, for the home folder.
    """
    return Path(os.path.expanduser(name))  # noqa: PTH111


def program(name: str) -> str | None:
    """Where a program of the system lies, or None.

    Never in the current folder, where Windows looks first: that may be a stranger's.
    """
    import shutil  # not for a hook

    folders = [folder for folder in os.get_exec_path() if Path(folder).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(folders))
    return found if found and Path(found).is_absolute() else None


def database(folder: Path) -> Path:
    """The index file of a store: ``rag.db``, or ``rag_agent.db`` beside another program's.

    Raises:
        StoreError: the folder may not be looked into.
    """
    beside = folder / _BESIDE_FOREIGN
    try:
        is_there = beside.exists()
    except OSError as error:
        raise StoreError(
            f"{folder}: the folder of the index cannot be read ({error.strerror or error}); "
            f"change its permissions, or set {VARIABLE} to another folder"
        ) from error
    return beside if is_there or is_foreign(folder / _DATABASE) else folder / _DATABASE


def identity(path: Path) -> tuple[int, int] | None:
    """Which file this is, whatever its name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_foreign(path: Path) -> bool:
    """Whether the file is an SQLite database that another program (pi-local-rag) wrote."""
    found = identity(path)
    return found is not None and _is_foreign(path, found)


@lru_cache(maxsize=100)
def _is_foreign(path: Path, file: tuple[int, int]) -> bool:
    """Asked once a file: to close a file takes from its process all locks that SQLite has on it.

    (POSIX; sqlite.org/howtocorrupt.html, 2.2.)
    """
    try:
        with path.open("rb") as stream:
            header = stream.read(100)
    except OSError:
        return False
    # A damaged header is not another program's: opening it then says that it is damaged.
    return (
        len(header) == 100
        and header.startswith(_SQLITE)
        and struct.unpack_from(">I", header, 68)[0] != APPLICATION_ID
    )


def cache_folder() -> Path:
    """The user's folder for what can be made again, shared by all stores.

    Without a home folder, one of this user alone among the temporary files.

    Raises:
        ConfigError: there is neither.
    """
    try:
        return _known(lambda: _platform().user_cache_path("rag_agent", appauthor=False))
    except ConfigError:
        return _temporary()


def data_folder() -> Path:
    """The user's folder for what cannot be made again.

    Without a home folder, one of this user alone among the temporary files.

    Raises:
        ConfigError: there is neither.
    """
    try:
        return _known(lambda: _platform().user_data_path("rag_agent", appauthor=False))
    except ConfigError:
        return _temporary()


def log_folder() -> Path:
    """The user's folder for log files.

    Raises:
        ConfigError: no home folder is known.
    """
    return _known(lambda: _platform().user_log_path("rag_agent", appauthor=False))


def home_folder() -> Path:
    """The user's home folder.

    Raises:
        ConfigError: HOME is unset, and the system knows no other.
    """
    return _known(lambda: Path.home().resolve())


def _platform() -> ModuleType:
    import platformdirs  # not for a hook, which needs neither cache nor log

    return platformdirs


def _known(folder: Callable[[], Path]) -> Path:
    try:
        found = folder()
    except (RuntimeError, OSError) as error:
        raise _no_home() from error
    if found.parts[:1] == ("~",):  # how os.path.expanduser says that it knows none
        raise _no_home()
    return found


def _no_home() -> ConfigError:
    return ConfigError(
        f"the home folder is not known; set HOME, or {VARIABLE} to a folder for the index"
    )


def _temporary() -> Path:
    """Like the sockets of tmux: known by the user's number, and refused where not theirs alone."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"rag_agent-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise _no_home() from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise ConfigError(f"{folder} belongs to somebody else; set HOME or XDG_CACHE_HOME")
    return folder


def _named_folder(cwd: Path, named: str) -> Path:
    """The folder that the variable names, whether it exists yet or not."""
    try:
        named.encode("utf-8")  # SQLite takes no other name
        folder = (cwd / Path(named).expanduser()).resolve()
        usable = folder.is_dir() or not folder.exists()
    except UnicodeEncodeError as error:
        shown = named.encode("utf-8", "backslashreplace").decode("utf-8")
        raise _unusable(shown, "is not UTF-8") from error
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unusable(named, f"cannot be used ({why})") from error
    if not usable:
        raise _unusable(named, "is not a folder")
    return folder


def _unusable(named: str, why: str) -> ConfigError:
    return ConfigError(f"{VARIABLE}={named[:200]} {why}; name a folder or unset it")
