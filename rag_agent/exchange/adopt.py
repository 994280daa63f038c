"""Lines of JSON → store: what is here as it was there is taken over, vectors and all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_agent.errors import ExtractError, StoreError, WalkError
from rag_agent.exchange.conversions import conversion, is_conversion
from rag_agent.exchange.lines import DocumentLine, HeaderLine
from rag_agent.exchange.reading import Export, Group, Problem
from rag_agent.exchange.vectors import Vectors
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.sync import reasons
from rag_agent.sync.sync import PIPELINE, note_pipeline, source_of, sync_file
from rag_agent.sync.texts import TextCache
from rag_agent.sync.walk import WalkRules, admit, check_root
from rag_agent.tracked import place_in
from rag_agent.types import Root, Skipped, Source

CHANGED = "changed since"
NO_ROOT = "folder not here"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of an export. Documents are ``added``, were ``known`` here, or ``left_out``.

    ``vectors`` were put, of chunks and of files as a whole; ``problems`` are sentences about lines
    that could not be used.
    """

    model: str | None
    added: int = 0
    known: int = 0
    chunks: int = 0
    vectors: int = 0
    left_out: tuple[Skipped, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a root of the export lies here: a root of the store, and the path below that."""

    root: Root
    under: str = ""

    def path(self, path: str) -> str:
        """The document's path in the root, for its path in the export's."""
        return f"{self.under}/{path}" if self.under else path


def folders_here(
    header: HeaderLine, base: Path, here: Path | None, problem: Problem
) -> list[Path | None]:
    """Where the folders of an export lie on this machine, None for each that cannot be indexed.

    Relative ones lie below ``base``. ``here`` takes the place of an only one.

    Raises:
        StoreError: ``here`` is given for several.
    """
    if here is not None:
        if len(header.roots) != 1:
            raise StoreError(f"the export has {len(header.roots)} folders; name no path for them")
        return [here]
    folders: list[Path | None] = []
    for name in header.roots:
        try:
            folders.append(check_root(base / name))
        except WalkError as error:
            problem(str(error))
            folders.append(None)
    return folders


def places_in(
    store: Store, folders: Sequence[Path | None], followed: Sequence[Path]
) -> list[Place | None]:
    """The places of folders, each of which one of those ``followed`` is or lies above."""
    places: list[Place | None] = []
    for folder in folders:
        if folder is None:
            places.append(None)
            continue
        base, under = place_in(followed, folder)
        places.append(Place(store.add_root(str(base)), under))
    return places


@dataclass(slots=True)
class _Adoption:
    """One import on its way."""

    store: Store
    header: HeaderLine
    places: Sequence[Place | None]
    rules: WalkRules
    texts: TextCache | None
    vectors: Vectors
    added: int = 0
    known: int = 0
    chunks: int = 0
    left_out: list[Skipped] = field(default_factory=list)


def adopt(
    store: Store,
    export: Export,
    places: Sequence[Place | None],
    rules: WalkRules,
    texts: TextCache | None,
    problem: Problem,
    report: Report,
) -> ImportReport:
    """Put the documents whose files are here, and the vectors of text that is the same.

    A file must be one that ``rules`` admit and have the very bytes that were exported: what an
    index gives out is true to the disk. So only the text of conversions is taken over, and only
    from the same version of the pipeline, for to parse again may take minutes. All else is read
    and cut here, and the chunks that came out alike get their vectors. So is what this pipeline
    cannot have made: with secrets in it, or of a document that the rules or itself keep out.
    ``places`` says where each root of the header lies here, None for nowhere.
    """
    header = export.header
    if store.counts().documents == 0:
        # Whatever comes into it now is of this pipeline: the next sync need not cut it again.
        note_pipeline(store)
    going = _Adoption(store, header, places, rules, texts, Vectors(store, header, problem))
    for done, group in enumerate(export.groups):
        report(Progress("import", done, None, group.document.path))
        _adopt_one(going, group)
    store.refresh_statistics()
    return ImportReport(
        header.model,
        going.added,
        going.known,
        going.chunks,
        going.vectors.given,
        tuple(going.left_out),
    )


def _adopt_one(going: _Adoption, group: Group) -> None:
    line = group.document
    place = going.places[line.root] if line.root < len(going.places) else None
    if place is None:
        going.left_out.append(Skipped(line.path, NO_ROOT))
        return
    path = place.path(line.path)
    source = _source_here(going, place.root, path, line)
    if source is None:
        return
    known = going.store.documents(place.root, path).get(path)
    same = known is not None and known.source.sha256 == line.sha256
    offered = going.header.pipeline == PIPELINE and is_conversion(line, path)
    made = None
    refused = reasons.UNREADABLE, "see `rag-agent status`"
    if offered and (not same or _has_more(going.store, place.root, path, line)):
        try:
            made = conversion(group, path, going.rules.exclude_tags)
        except ExtractError as error:  # whether the file says so, too, is seen when it is read
            refused = error.reason, error.detail
    if made is not None:
        document, chunks = made
        going.store.put(place.root, document, source, chunks)
        going.added += 1
        going.chunks += len(chunks)
    elif same:
        going.known += 1
    elif sync_file(going.store, place.root, path, going.rules, going.texts):
        going.added += 1
        going.chunks += going.store.documents(place.root, path)[path].chunks
    known = going.store.documents(place.root, path).get(path)
    if known is None:
        going.left_out.append(Skipped(line.path, *refused))
    else:
        going.vectors.put(known.id, group)


def _has_more(store: Store, root: Root, path: str, line: DocumentLine) -> bool:
    """Whether OCR has read all pages of the export, and none of those here."""
    here = store.page_coverage(root, path).get(path)
    there = line.coverage
    if there is None or there.failed:
        return False
    return bool(there.engine) and not (here and here.engine)


def _source_here(going: _Adoption, root: Root, path: str, line: DocumentLine) -> Source | None:
    """The state of the file if it is here and the same; else what is wrong is noted."""
    try:
        found = admit(Path(root.path), path, going.rules)
        if isinstance(found, Skipped):
            going.left_out.append(Skipped(line.path, found.reason, found.detail))
            return None
        if found.path != path:  # a//b: the store would have the file twice
            going.left_out.append(Skipped(line.path, reasons.MISSING))
            return None
        source = source_of(found, going.rules)
    except WalkError as error:
        going.left_out.append(Skipped(line.path, NO_ROOT, str(error)))
        return None
    except ExtractError as error:
        sync_file(going.store, root, path, going.rules)  # which notes that, and forgets it
        going.left_out.append(Skipped(line.path, error.reason, error.detail))
        return None
    except OSError as error:
        going.left_out.append(Skipped(line.path, reasons.UNREADABLE, error.strerror or str(error)))
        return None
    if source.sha256 != line.sha256:
        going.left_out.append(Skipped(line.path, CHANGED))
        return None
    return source
