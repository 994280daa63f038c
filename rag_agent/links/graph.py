"""Documents and the links between them, followed forward and back."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rag_agent.errors import QueryError
from rag_agent.links.resolve import resolve
from rag_agent.links.vault import Vaults
from rag_agent.store import Store
from rag_agent.store.folding import link_form
from rag_agent.store.links import name_of, names_for, path_of
from rag_agent.store.records import Place
from rag_agent.types import Link

DEEPEST = 10
_LISTED = 5  # documents that an ambiguous path may mean


@dataclass(frozen=True, slots=True)
class Reached:
    """A document at some depth from another, reached by a link of ``via`` or to it.

    ``forward`` says that the document before it on the way links to it, ``back`` that it links to
    that one. ``line`` is that of the first such link, in whichever of the two it stands.
    """

    place: Place
    depth: int
    via: Place
    forward: bool
    back: bool
    line: int


@dataclass(slots=True)
class Graph:
    """The links of an index, resolved as they are asked for. Use it within one snapshot.

    ``vaults`` says which vault a document lies in.
    """

    store: Store
    vaults: Vaults = field(default_factory=Vaults)
    _targets: dict[int, dict[int, int]] = field(default_factory=dict)
    _places: dict[int, Place] = field(default_factory=dict)
    _named: dict[str, list[Place]] = field(default_factory=dict)
    _dead: dict[int, list[Link]] = field(default_factory=dict)

    def place(self, document_id: int) -> Place:
        """Where a document lies."""
        self.read_places([document_id])
        return self._places[document_id]

    def targets(self, documents: Iterable[int]) -> dict[int, dict[int, int]]:
        """By document the documents that it links to, each with the line of the first link."""
        wanted = list(documents)
        missing = [one for one in wanted if one not in self._targets]
        self._resolve(missing)
        return {one: self._targets[one] for one in wanted}

    def sources(self, documents: Iterable[int]) -> dict[int, dict[int, int]]:
        """By document the documents that link to it, each with the line of its first link."""
        wanted = list(documents)
        self.read_places(wanted)
        linking = self._possible(wanted)
        found: dict[int, dict[int, int]] = {one: {} for one in wanted}
        for source, targets in self.targets(linking).items():
            for target in targets.keys() & found.keys():
                found[target][source] = targets[target]
        return found

    def _possible(self, wanted: Sequence[int]) -> list[int]:
        """The documents with a link that may lead to one of these."""
        places = [self._places[one] for one in wanted]
        linking = self.store.linking({place.name for place in places})
        self.read_places(linking)
        above = {folder for place in places for folder in _folders(place.absolute)}
        # Vaults side by side, such as translations, share many names; only ../ leads out of one.
        vaults = {one: self.vaults.of(self._places[one].absolute) for one in linking}
        return [
            one
            for one, leads_up in linking.items()
            if leads_up or vaults[one] is None or vaults[one] in above
        ]

    def dead(self, document_id: int) -> Sequence[Link]:
        """The links of a document that lead nowhere, as written.

        Those to a file that is there and not indexed, or to a folder, are none of them.
        """
        self.targets([document_id])
        if not self._dead[document_id]:
            return ()
        seen = {name_of(skipped.path) for skipped in self.store.skipped()}
        source = self._places[document_id]
        base = self.vaults.of(source.absolute) or source.base
        return [
            link
            for link in self._dead[document_id]
            if seen.isdisjoint(names_for(name_of(path_of(link))))
            and not _is_there(path_of(link), source.absolute.rpartition("/")[0], base)
        ]

    def _resolve(self, documents: Sequence[int]) -> None:
        links = self.store.links_of(documents)
        self.read_places(documents)
        paths = {one: [path_of(link) for link in found] for one, found in links.items()}
        self._read_names({name_of(path) for found in paths.values() for path in found if path})
        for one in documents:
            targets: dict[int, int] = {}
            dead = []
            for link, path in zip(links.get(one, ()), paths.get(one, ()), strict=True):
                target = self._leads_to(one, link, path)
                if target is None:
                    dead.append(link)
                elif target != one:
                    targets.setdefault(target, link.line)
            self._targets[one], self._dead[one] = targets, dead

    def _leads_to(self, document_id: int, link: Link, path: str) -> int | None:
        if not path:
            return document_id
        source = self._places[document_id]
        vault = self.vaults.of(source.absolute)
        candidates = [
            place for name in names_for(name_of(path)) for place in self._named.get(name, ())
        ]
        if not candidates:
            return None
        by_name = link.wiki or vault is not None
        found = resolve(path, source.absolute, vault or source.base, candidates, by_name=by_name)
        return None if found is None else found.id

    def read_places(self, documents: Iterable[int]) -> None:
        """Learn at once where these documents lie."""
        missing = {one for one in documents if one not in self._places}
        if missing:
            self._places.update(self.store.places([*missing]))

    def _read_names(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self._named]
        if missing:
            found = self.store.places_named(missing)
            self._named.update(found)
            self._named.update((name, found.get(name, [])) for name in missing)


def _folders(path: str) -> Iterator[str]:
    while (path := path.rpartition("/")[0]) != "":
        yield path


def _is_there(path: str, folder: str, base: str) -> bool:
    """Whether a link names what is on the disk."""
    below = [f"{base}/{path.lstrip('/')}"]
    if not path.startswith("/"):
        below.append(f"{folder}/{path}")
    return any(os.path.exists(one) for name in below for one in (name, f"{name}.md"))  # noqa: PTH110


def neighbours(
    graph: Graph, document_id: int, depth: int, enough: float = math.inf
) -> list[Reached]:
    """The documents up to ``depth`` links away, forward and back, nearest first, each once.

    Of one depth in the order of their paths. Those further away than so many that are ``enough``
    are not looked for.
    """
    seen = {document_id}
    found: list[Reached] = []
    frontier = [document_id]
    for step in range(1, depth + 1):
        forward, back = graph.targets(frontier), graph.sources(frontier)
        graph.read_places(other for found in forward.values() for other in found)
        reached: dict[int, Reached] = {}
        for one in frontier:
            for other in sorted(forward[one].keys() | back[one].keys()):
                if other in seen or other in reached:
                    continue
                reached[other] = Reached(
                    graph.place(other),
                    step,
                    graph.place(one),
                    other in forward[one],
                    other in back[one],
                    (forward if other in forward[one] else back)[one][other],
                )
        ordered = sorted(reached.values(), key=lambda one: one.place.shown)
        found += ordered
        frontier = [one.place.id for one in ordered]
        seen.update(frontier)
        if not frontier or len(found) >= enough:
            break
    return found


_NEAR = 3  # links; further away is most of a vault
# What three links reach from a hub is most of a vault, too, and costs 0.2 s among 10,000 notes.
_NEAR_ENOUGH = 200


def nearness(store: Store, paths: Sequence[str]) -> dict[int, float]:
    """How near documents are to these by links: 1 for one link away, half of it for each more.

    Raises:
        QueryError: as ``locate``.
    """
    found: dict[int, float] = {}
    graph = Graph(store)
    for origin in [locate(store, path) for path in paths]:
        for one in neighbours(graph, origin.id, _NEAR, _NEAR_ENOUGH):
            found[one.place.id] = max(found.get(one.place.id, 0.0), 0.5 ** (one.depth - 1))
    return found


def locate(store: Store, path: str, base: str = "") -> Place:
    """The document that a person means by a path.

    As it is shown, absolute, relative to the absolute folder ``base``, or any end of its path that
    only one document has; case and a missing ``.md`` make no difference.

    Raises:
        QueryError: there is no such document, or several.
    """
    wanted = path.replace("\\", "/").strip()
    named = store.places_named([name_of(wanted)])
    candidates = [place for found in named.values() for place in found]
    plain = link_form(wanted.removeprefix("./"))
    forms = (plain, f"{plain}.md")
    whole = [*forms, *(link_form(f"{base.rstrip('/')}/") + form for form in forms if base)]
    for form in whole:
        exact = [p for p in candidates if form in (link_form(p.shown), link_form(p.absolute))]
        if len(exact) == 1:
            return exact[0]
        as_written = [place for place in exact if wanted in (place.shown, place.absolute)]
        if len(as_written) == 1:  # two files whose names differ by case only
            return as_written[0]
    ends = tuple(f"/{form.lstrip('/')}" for form in forms)
    found = [p for p in candidates if f"/{link_form(p.absolute)}".endswith(ends)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise QueryError(
            f"no indexed document is called {path!r}; `rag-agent find` lists what there is"
        )
    listed = ", ".join(place.shown for place in found[:_LISTED])
    raise QueryError(f"{path!r} may be {listed}{' …' if len(found) > _LISTED else ''}; give more")
