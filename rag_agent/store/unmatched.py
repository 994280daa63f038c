"""Why a filter leaves nothing: how much each of its clauses matches, and what there is instead."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from rag_agent.store import roots
from rag_agent.store.connection import Database
from rag_agent.store.filters import Clause, Filter

_MOST = 20_000  # values that are looked at; a guess among more takes seconds


def count(database: Database, where: Filter) -> int:
    """How many documents a filter leaves."""
    with database.snapshot():
        condition, bindings = roots.condition(database, where, chunks=False)
        found: int = database.value(
            f"SELECT count(*) FROM documents AS d WHERE d.chunks > 0{condition}", bindings
        )
    return found


def excluding(
    database: Database, where: Filter, document_ids: Sequence[int]
) -> dict[int, list[Clause]]:
    """For each of the documents the clauses that exclude it."""
    ids = json.dumps([int(identifier) for identifier in document_ids])
    found: dict[int, list[Clause]] = {identifier: [] for identifier in document_ids}
    with database.snapshot():
        for clause in where.clauses:
            condition, bindings = roots.condition(database, Filter((clause,)), chunks=False)
            left = database.rows(
                "SELECT d.id FROM json_each(?) AS w CROSS JOIN documents AS d ON d.id = w.value "
                f"WHERE TRUE{condition}",
                (ids, *bindings),
            )
            for identifier in set(document_ids) - {number for (number,) in left}:
                found[identifier].append(clause)
    return found


def values(database: Database, field: str) -> list[tuple[str, int]]:
    """What documents have in a field that takes words, with how many have it, most first."""
    return VALUES[field](database).most_common() if field in VALUES else []


def span(database: Database, field: str) -> tuple[str, str] | None:
    """The least and the highest value of a field that is compared, None without any."""
    lowest, highest = database.rows(_SPANS[field])[0]
    return None if highest is None else (str(lowest), str(highest))


def _counted(database: Database, sql: str) -> Counter[str]:
    rows = database.rows(f"{sql} GROUP BY 1 ORDER BY 2 DESC LIMIT {_MOST}")
    return Counter({value: number for value, number in rows if value})


def _tags(database: Database) -> Counter[str]:
    return _counted(
        database,
        "SELECT t.value, count(DISTINCT d.id) FROM documents AS d, json_each(d.tags) AS t",
    )


def _languages(database: Database) -> Counter[str]:
    return _counted(database, "SELECT lower(language), count(*) FROM documents")


def _kinds(database: Database) -> Counter[str]:
    return _counted(database, "SELECT kind, count(*) FROM documents")


def _names(database: Database) -> Counter[str]:
    return _counted(database, "SELECT name, count(*) FROM definitions")


def _titles(database: Database) -> Counter[str]:
    return _counted(database, "SELECT title, count(*) FROM documents")


def _authors(database: Database) -> Counter[str]:
    found: Counter[str] = Counter()
    for written, number in _counted(database, "SELECT author, count(*) FROM documents").items():
        found.update({author.strip(): number for author in written.split(";") if author.strip()})
    return found


def _paths(database: Database) -> Counter[str]:
    """Names of files and folders."""
    found: Counter[str] = Counter()
    for (path,) in database.rows(f"SELECT path FROM documents LIMIT {_MOST}"):
        found.update(set(PurePosixPath(path).parts))
    return found


def _extensions(database: Database) -> Counter[str]:
    rows = database.rows("SELECT folded FROM documents")
    return Counter(
        suffix for (path,) in rows if (suffix := PurePosixPath(path).suffix.removeprefix("."))
    )


VALUES: Mapping[str, Callable[[Database], Counter[str]]] = {
    "path": _paths,
    "ext": _extensions,
    "kind": _kinds,
    "lang": _languages,
    "name": _names,
    "tag": _tags,
    "title": _titles,
    "author": _authors,
}
"""What there is of a field that takes words."""
_SPANS: Mapping[str, str] = {
    "year": "SELECT min(year), max(year) FROM documents",
    "created": "SELECT min(created), max(created) FROM documents WHERE created <> ''",
    "page": "SELECT 1, max(json_array_length(pages)) FROM documents WHERE pages <> '[]'",
    **{
        field: f"SELECT min(day), max(day) FROM (SELECT coalesce(nullif({column}, ''), "
        "date(abs(mtime_ns) / 1000000000, 'unixepoch')) AS day FROM documents)"
        for field, column in (("modified", "modified"), ("after", "day"), ("before", "day"))
    },
}
