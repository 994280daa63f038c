"""Links as written, by the names of the files that they may lead to.

Where one leads, ``rag_agent.links`` decides at each question from what is here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from rag_agent.store import roots
from rag_agent.store.connection import Database
from rag_agent.store.folding import link_form
from rag_agent.store.records import Place
from rag_agent.types import Link

_NOTE = ".md"


def path_of(link: Link) -> str:
    """The path that a link names, without heading, block or query; "" for its own document."""
    path = link.target.partition("#")[0]
    if not link.wiki:
        path = unquote(path.partition("?")[0])
    return path.strip().replace("\\", "/")


def name_of(path: str) -> str:
    """The form of a file's name by which documents and links find each other."""
    return link_form(path.rpartition("/")[2])


def names_for(name: str) -> tuple[str, ...]:
    """The names of the documents that a link with this name may mean: as it is, or a note's."""
    return (name, name + _NOTE)


def names_to(name: str) -> tuple[str, ...]:
    """The names in links that may mean the document with this name: a note's may end early."""
    return (name, name.removesuffix(_NOTE)) if name.endswith(_NOTE) else (name,)


def put(database: Database, document_id: int, links: Iterable[Link]) -> None:
    """Replace what is known of the links of a document, inside a transaction."""
    database.rows("DELETE FROM link_names WHERE document_id = ?", (document_id,))
    names = {name_of(path_of(link)) for link in links}
    database.many(
        "INSERT INTO link_names VALUES (?, ?)", [(name, document_id) for name in names if name]
    )


def index_all(database: Database) -> None:
    """Names and links of an index that was made without, inside a transaction."""
    for identifier, path, links in database.rows("SELECT id, path, links FROM documents"):
        database.rows("UPDATE documents SET name = ? WHERE id = ?", (name_of(path), identifier))
        put(database, identifier, _links(links))


def of(database: Database, document_ids: Sequence[int]) -> dict[int, list[Link]]:
    """The links of each of these documents, in order."""
    rows = database.rows(
        "SELECT d.id, d.links FROM json_each(?) AS w CROSS JOIN documents AS d ON d.id = w.value",
        (json.dumps([int(number) for number in document_ids]),),
    )
    return {identifier: _links(written) for identifier, written in rows}


def linking(database: Database, names: Iterable[str]) -> dict[int, bool]:
    """The documents with a link that may mean a document with one of these names, by id.

    With whether they have links upwards (``../``), which may lead out of a vault.
    """
    wanted = sorted({form for name in names for form in names_to(name)})
    rows = database.rows(
        "SELECT d.id, instr(d.links, '../') FROM documents AS d WHERE d.id IN ("
        "SELECT l.document_id FROM json_each(?) AS w CROSS JOIN link_names AS l ON l.name = w.value"
        ") ORDER BY d.id",
        (json.dumps(wanted),),
    )
    return {identifier: bool(up) for identifier, up in rows}


def places(database: Database, document_ids: Sequence[int]) -> dict[int, Place]:
    """Where these documents lie, by id; those that are gone are absent."""
    return _places(
        database,
        "json_each(?) AS w CROSS JOIN documents AS d ON d.id = w.value",
        [int(number) for number in document_ids],
    )


def named(database: Database, names: Iterable[str]) -> dict[str, list[Place]]:
    """Where the documents lie that links with these names may mean, by the documents' names."""
    wanted = sorted({form for name in names for form in names_for(name)})
    source = "json_each(?) AS w CROSS JOIN documents AS d ON d.name = w.value"
    found: dict[str, list[Place]] = {}
    for place in _places(database, source, wanted).values():
        found.setdefault(place.name, []).append(place)
    return found


def _places(database: Database, source: str, wanted: Sequence[object]) -> dict[int, Place]:
    with database.snapshot():
        shown = roots.Shown(database)
        rows = database.rows(
            f"SELECT d.id, d.root_id, d.path, d.name FROM {source} ORDER BY d.root_id, d.path",
            (json.dumps(wanted),),
        )
    bases = {number: shown.base(number) for number in shown.roots}
    return {
        identifier: Place(
            identifier, shown.absolute(root, path), bases[root], name, shown.path(root, path)
        )
        for identifier, root, path, name in rows
    }


def _links(written: str) -> list[Link]:
    return [Link(target, line, bool(wiki)) for target, line, wiki in json.loads(written)]
