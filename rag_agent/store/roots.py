"""Tracked roots: stored so that a project with its store can be moved, given out absolute."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rag_agent.errors import StoreError
from rag_agent.late import LateModule
from rag_agent.store.folding import fold

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent import types
    from rag_agent.store.connection import Database
    from rag_agent.store.filters import Filter
    from rag_agent.types import Root
else:
    types = LateModule("rag_agent.types")


def all_roots(database: Database) -> list[Root]:
    """In the order in which they were added."""
    rows = database.rows("SELECT id, path FROM roots ORDER BY id")
    return [types.Root(identifier, _absolute(database, stored)) for identifier, stored in rows]


def add(database: Database, path: str) -> Root:
    """The root of this path, new or known (also by another spelling); links are resolved."""
    real = os.path.realpath(path)
    for root in all_roots(database):
        if _same(root.path, real):
            return root
    stored = _storable(_stored(database, real))
    with database.transaction():
        is_file = Path(real).is_file()
        database.rows("INSERT INTO roots (path, is_file) VALUES (?, ?)", (stored, is_file))
        identifier = database.value("SELECT last_insert_rowid()")
    return types.Root(identifier, real)


def look_at(database: Database, root: Root) -> None:
    """Note whether a root is a file or a folder now; one that is not there stays what it was."""
    try:
        mode = Path(root.path).stat().st_mode
    except OSError:
        return
    database.rows(
        "UPDATE roots SET is_file = ?1 WHERE id = ?2 AND is_file <> ?1",
        (stat.S_ISREG(mode), root.id),
    )


def remove(database: Database, root: Root) -> int:
    """Forget a root with all its documents; returns how many there were."""
    with database.transaction():
        documents: int = database.value(
            "SELECT count(*) FROM documents WHERE root_id = ?", (root.id,)
        )
        # Documents first: a cascade from the roots would do the same, one level deeper.
        database.rows("DELETE FROM documents WHERE root_id = ?", (root.id,))
        database.rows("DELETE FROM roots WHERE id = ?", (root.id,))
    return documents


class Shown:
    """Paths as people see them, POSIX: relative to the root while there is only one.

    With several roots, relative to the project folder for what lies in it, absolute elsewhere.
    """

    def __init__(self, database: Database) -> None:
        rows = database.rows("SELECT id, path, is_file FROM roots ORDER BY id")
        self._paths = {row[0]: _absolute(database, row[1]) for row in rows}
        self._files = {row[0] for row in rows if row[2]}
        self._several = len(rows) > 1
        home = _home(_folder(database))
        self._within = {
            identifier: Path(path).relative_to(home).as_posix()
            for identifier, path in self._paths.items()
            if home is not None and Path(path).is_relative_to(home)
        }

    @property
    def roots(self) -> dict[int, Root]:
        """All roots by their ids."""
        return {number: types.Root(number, path) for number, path in self._paths.items()}

    def path(self, root_id: int, path: str) -> str:
        """How the document ``path`` of a root is shown."""
        if not self._several and path:
            return path
        within = self._within.get(root_id)
        if within is None or not path:
            return self.absolute(root_id, path)
        return within if root_id in self._files else (f"{within}/{path}" if within != "." else path)

    def absolute(self, root_id: int, path: str) -> str:
        """The document's absolute path, POSIX; a root that is a file is its own document."""
        base = Path(self._paths[root_id]).as_posix()
        if root_id in self._files or not path:
            return base
        return f"{base.rstrip('/')}/{path}"

    def base(self, root_id: int) -> str:
        """The folder that a root is, or that it lies in where it is a file: absolute, POSIX."""
        path = Path(self._paths[root_id])
        return (path.parent if root_id in self._files else path).as_posix()


def condition(
    database: Database, where: Filter | None, *, chunks: bool
) -> tuple[str, tuple[object, ...]]:
    """A filter as further condition of a query that has ``documents AS d``, and its bindings.

    With ``chunks`` the query has ``document_chunks AS c`` too, and each chunk must fit.
    """
    if where is None:
        return "", ()
    define_functions(database)
    sql, bindings = where.on_chunks() if chunks else where.on_documents()
    return f" AND {sql}", bindings


def define_functions(database: Database) -> None:
    """Make ``shown_path`` and ``absolute_path`` known to SQL, with the roots of this moment.

    Both take the id of a root and a folded path and give a folded path.
    """
    shown = Shown(database)
    database.define("shown_path", lambda *place: fold(shown.path(*place)), 2)
    database.define("absolute_path", lambda *place: fold(shown.absolute(*place)), 2)


def _absolute(database: Database, stored: str) -> str:
    return os.path.normpath(_folder(database) / stored)


def _stored(database: Database, real: str) -> str:
    """Relative to the store's folder if store and root would be moved together."""
    folder = _folder(database)
    root = Path(real)
    if folder.is_relative_to(root) or root.is_relative_to(_home(folder) or folder):
        return Path(os.path.relpath(real, folder)).as_posix()
    return real


def _home(folder: Path) -> Path | None:
    """The project folder X of a store at X/.pi/rag, with whatever of X it tracks."""
    return folder.parent.parent if folder.parts[-2:] == (".pi", "rag") else None


def _folder(database: Database) -> Path:
    return Path(os.path.realpath(database.path.parent))


def _same(left: str, right: str) -> bool:
    if os.path.normcase(left) == os.path.normcase(right):
        return True
    try:
        # Also true for two spellings on a file system without regard to case.
        return Path(left).samefile(right)
    except OSError:
        return False


def _storable(path: str) -> str:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{path!r}: the name is not valid UTF-8 and cannot be stored; rename it"
        ) from error
    return path
