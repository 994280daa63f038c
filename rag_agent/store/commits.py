"""Commits into the store and out of it; what they are good for stands in ``history``."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Sequence

from rag_agent.store.connection import Database
from rag_agent.store.records import Commit, Repository
from rag_agent.store.writing import next_id
from rag_agent.tokens import words
from rag_agent.types import Root
from rag_agent.utf8 import encodable

MOST_FILES = 20  # a commit that changes more says nothing of any: RANKING.md, point 10


class Commits:
    """What is known of repositories' commits. Each writing call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def folders(self, root: Root) -> list[str]:
        """The folders of the root in which documents lie, relative to it; "" is the root."""
        rows = self._database.rows(
            # All but the slash and what follows it: the characters of a name are none of "/".
            "SELECT DISTINCT rtrim(rtrim(path, replace(path, '/', '')), '/') "
            "FROM documents WHERE root_id = ?",
            (root.id,),
        )
        return [folder for (folder,) in rows]

    def repositories(self, root: Root | None = None) -> dict[str, Repository]:
        """Those of a root whose history is read, by their folders."""
        condition, bindings = ("TRUE", ()) if root is None else ("root_id = ?", (root.id,))
        rows = self._database.rows(
            "SELECT id, folder, state, problem FROM history_repositories "
            f"WHERE {condition} ORDER BY id",
            bindings,
        )
        return {row[1]: Repository(*row) for row in rows}

    def problems(self) -> list[str]:
        """Why some history is not read, a sentence each."""
        rows = self._database.rows(
            "SELECT DISTINCT problem FROM history_repositories WHERE problem != '' ORDER BY id"
        )
        return [problem for (problem,) in rows]

    def add(self, root: Root, folder: str) -> Repository:
        """A repository of a root, of which nothing is known yet."""
        with self._database.transaction():
            self._database.rows(
                "INSERT INTO history_repositories (root_id, folder, state, problem) "
                "VALUES (?, ?, '', '')",
                (root.id, folder),
            )
            return Repository(self._database.value("SELECT last_insert_rowid()"), folder, "", "")

    def forget(self, repository_ids: Collection[int]) -> None:
        """Forget repositories with their commits."""
        with self._database.transaction():
            self._database.many(
                "DELETE FROM history_repositories WHERE id = ?",
                [(identifier,) for identifier in repository_ids],
            )

    def clear(self) -> None:
        """Forget all history."""
        if self._database.value("SELECT EXISTS (SELECT * FROM history_repositories)"):
            with self._database.transaction():
                self._database.rows("DELETE FROM history_repositories")
                self._database.rows("DELETE FROM history_files")

    def set_state(self, repository: Repository, state: str, problem: str = "") -> None:
        """Note what was read of a repository, and what kept it from being more."""
        with self._database.transaction():
            self._database.rows(
                "UPDATE history_repositories SET state = ?, problem = ? WHERE id = ?",
                (state, encodable(problem), repository.id),
            )

    def hashes(self, repository: Repository) -> set[str]:
        """The commits that are known of a repository."""
        rows = self._database.rows(
            "SELECT lower(hex(hash)) FROM history_commits WHERE repository_id = ?",
            (repository.id,),
        )
        return {name for (name,) in rows}

    def put(self, root: Root, repository: Repository, commits: Sequence[Commit]) -> None:
        """Keep commits that are not known yet: words, numbers of paths, and no text.

        One that changed nothing below the root or more than ``MOST_FILES`` is only noted as seen.
        """
        prepared = [_Prepared(root, commit) for commit in commits]
        with self._database.transaction():
            fresh = next_id(self._database, "history_commits")
            self._database.many(
                "INSERT INTO history_commits VALUES (?, ?, ?, ?)",
                [
                    (identifier, repository.id, commit.hash, commit.files)
                    for identifier, commit in enumerate(prepared, fresh)
                ],
            )
            voting = [pair for pair in enumerate(prepared, fresh) if pair[1].files]
            self._database.many(
                "INSERT INTO history_fts (rowid, words) VALUES (?, ?)",
                [(identifier, commit.words) for identifier, commit in voting],
            )
            self._database.many(
                "INSERT OR IGNORE INTO history_changes VALUES (?, ?)",
                [(identifier, file) for identifier, commit in voting for file in commit.numbers],
            )

    def remove(self, repository: Repository, hashes: Collection[str]) -> None:
        """Forget commits of a repository."""
        with self._database.transaction():
            self._database.many(
                "DELETE FROM history_commits WHERE repository_id = ? AND hash = ?",
                [(repository.id, bytes.fromhex(name)) for name in hashes],
            )

    def link(self) -> None:
        """Bring together the commits and the documents there are now."""
        unknown = self._database.rows(
            "SELECT d.id, d.root_id, d.path FROM documents AS d "
            "WHERE NOT EXISTS (SELECT * FROM history_files AS f WHERE f.document_id = d.id) "
            "AND d.root_id IN (SELECT root_id FROM history_repositories)"
        )
        with self._database.transaction():
            self._database.many(
                "INSERT INTO history_files VALUES (?, ?, 0)",
                [(document, _number(root, path)) for document, root, path in unknown],
            )
            self._database.rows(
                "UPDATE history_files SET commits = coalesce(g.n, 0) FROM history_files AS f "
                "LEFT JOIN (SELECT file, count(*) AS n FROM history_changes GROUP BY file) AS g "
                "ON g.file = f.file WHERE f.document_id = history_files.document_id "
                "AND history_files.commits != coalesce(g.n, 0)"
            )
            # In one piece it answers a fifth faster; nothing is done where it is already.
            self._database.rows("INSERT INTO history_fts (history_fts) VALUES ('optimize')")


class _Prepared:
    """The rows of a commit, made before the transaction begins."""

    def __init__(self, root: Root, commit: Commit) -> None:
        self.hash = bytes.fromhex(commit.hash)
        self.files = commit.files if commit.paths and commit.files <= MOST_FILES else 0
        # In alphabetical order: how often a word is there counts, and no sentence can be read back.
        self.words = " ".join(sorted(words(commit.message))) if self.files else ""
        self.numbers = [_number(root.id, path) for path in commit.paths] if self.files else []


def _number(root_id: int, path: str) -> int:
    """Stands for a path of a root; 64 bits, so that no two of them meet.

    A Mac may give a name's accents apart, git composed.
    """
    name = f"{root_id}/{unicodedata.normalize('NFC', path)}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big", signed=True)
