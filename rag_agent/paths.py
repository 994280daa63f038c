"""Which folder holds the index, which file in it, and where caches and logs lie."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from rag_agent.errors import ConfigError, StoreError
from rag_agent.types import Scope

APPLICATION_ID = 0x52414741  # "RAGA": marks our SQLite files (sqlite.org/fileformat2.html, byte 68)
VARIABLE = "PI_RAG_DIR"

_DATABASE = "rag.db"
_BESIDE_FOREIGN = "rag_agent.db"
_STORE = Path(".pi", "rag")
_SQLITE = b"SQLite format 3\x00"


def store_folder(
    cwd: Path, environ: Mapping[str, str], home: Path | None = None
) -> tuple[Path, Scope]:
    """The store in scope of a folder, whether it exists yet or not.

    ``$PI_RAG_DIR``, else the nearest existing ``.pi/rag`` from ``cwd`` upwards but below the home
    folder, else ``~/.pi/rag``.

    Raises:
        ConfigError: ``$PI_RAG_DIR`` names a file.
    """
    named = environ.get(VARIABLE, "")
    if named:
        folder = (cwd / Path(named).expanduser()).resolve()
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{VARIABLE}={named} is not a folder; name a folder or unset it")
        return folder, "environment"
    home = home or _home()
    for folder in (cwd, *cwd.parents):
        if _same(folder, home):
            break
        if (folder / _STORE).is_dir():
            return folder / _STORE, "project"
    return home / _STORE, "global"


def project_store(cwd: Path) -> Path:
    """The store that belongs to a project folder."""
    return cwd / _STORE


def create_store_folder(folder: Path) -> None:
    """Make the folder, and keep it out of version control.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{folder}: the folder for the index cannot be made ({error.strerror or error}); "
            f"make it writable, or set {VARIABLE} to a folder that is"
        ) from error


def database(folder: Path) -> Path:
    """The index file of a store: ``rag.db``, or ``rag_agent.db`` beside another program's."""
    beside = folder / _BESIDE_FOREIGN
    return beside if beside.exists() or is_foreign(folder / _DATABASE) else folder / _DATABASE


def is_foreign(path: Path) -> bool:
    """Whether the file is an SQLite database that another program (pi-local-rag) wrote."""
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
    """The user's folder for what can be made again, shared by all stores."""
    return platformdirs.user_cache_path("rag_agent", appauthor=False)


def log_folder() -> Path:
    """The user's folder for log files."""
    return platformdirs.user_log_path("rag_agent", appauthor=False)


def _home() -> Path:
    try:
        return Path.home().resolve()
    except RuntimeError as error:
        raise ConfigError(
            f"the home folder is not known; set HOME, or {VARIABLE} to a folder for the index"
        ) from error


def _same(left: Path, right: Path) -> bool:
    return os.path.normcase(left) == os.path.normcase(right)
