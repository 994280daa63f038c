"""What is near a document, by links and by meaning, put together for people and programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_agent.errors import QueryError
from rag_agent.links import DEEPEST, Graph, Vaults, locate, neighbours
from rag_agent.store import filters
from rag_agent.sync.freshness import absolute_path
from rag_agent.types import Hit, Neighbour, Related, SearchResults, StoredDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_agent.links import Reached
    from rag_agent.store import Store
    from rag_agent.types import Embedder


def relate(
    store: Store,
    path: str,
    line: int | None,
    *,
    depth: int,
    limit: int,
    embedder: Embedder | None,
    base: str,
) -> tuple[Related, list[StoredDocument]]:
    """What is near the document, and the documents that this was read from.

    Raises:
        QueryError: no document is meant by the path, or the depth or limit cannot be.
    """
    if not 1 <= depth <= DEEPEST:
        raise QueryError(f"depth is {depth}; links are followed from 1 to {DEEPEST} deep")
    from rag_agent.search.similar import similar  # numpy

    if limit < 1:
        raise QueryError(f"limit is {limit}; ask for at least 1 document")
    with store.snapshot():
        origin = locate(store, path, base)
        graph = Graph(store)
        reached = neighbours(graph, origin.id, depth)
        shown = reached[:limit]
        documents = store.documents_by_id([origin.id, *(one.place.id for one in shown)])
        near, mode, notes = similar(store, origin.id, line, embedder, limit)
        found = Related(
            path=origin.shown,
            line=line,
            links=tuple(_neighbour(one, documents, graph.vaults) for one in shown),
            linked=len(reached),
            similar=tuple(_addressed(hit, graph.vaults) for hit in near),
            mode=mode,
            dead=tuple(graph.dead(origin.id)),
            notes=notes,
        )
    return found, [*documents.values(), *_documents(near)]


def starts_of(store: Store, where: str) -> list[StoredDocument]:
    """The documents that a search starts from, as ``near:PATH`` in its filter names them."""
    paths = filters.boosts(where) if where else ()
    places = [locate(store, path) for path in paths]
    return list(store.documents_by_id([place.id for place in places]).values()) if places else []


def with_addresses(results: SearchResults) -> SearchResults:
    """The hits of notes in vaults with what opens them in Obsidian."""
    vaults = Vaults()
    return replace(results, hits=tuple(_addressed(hit, vaults) for hit in results.hits))


def _documents(hits: Iterable[Hit]) -> Sequence[StoredDocument]:
    return [hit.document for hit in hits if hit.document]


def _neighbour(reached: Reached, documents: dict[int, StoredDocument], vaults: Vaults) -> Neighbour:
    place = reached.place
    return Neighbour(
        path=place.shown,
        title=documents[place.id].title,
        depth=reached.depth,
        via=reached.via.shown,
        forward=reached.forward,
        back=reached.back,
        line=reached.line,
        address=vaults.address(place.absolute),
    )


def _addressed(hit: Hit, vaults: Vaults) -> Hit:
    if hit.document is None:
        return hit
    address = vaults.address(absolute_path(hit.document).as_posix())
    return replace(hit, address=address) if address else hit
