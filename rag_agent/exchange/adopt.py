"""Lines of JSON → store: what is here as it was there is taken over, vectors and all."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.embed import passage_text
from rag_agent.errors import StoreError, WalkError
from rag_agent.exchange.lines import ChunkLine, DocumentLine, Export, Group, HeaderLine, Problem
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.sync import reasons
from rag_agent.sync.sync import PIPELINE, note_pipeline, source_of, sync_file
from rag_agent.sync.texts import TextCache
from rag_agent.sync.walk import WalkRules, admit, check_root
from rag_agent.types import (
    Chunk,
    Coverage,
    Definition,
    Document,
    Link,
    Passage,
    Root,
    Skipped,
    Source,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHANGED = "changed since"
NO_ROOT = "folder not here"
_UNIT = 0.01  # how far the length of a vector may be from 1


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
        base = next(root for root in followed if folder.is_relative_to(root))
        under = "" if base == folder else folder.relative_to(base).as_posix()
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
    model: int | None
    problem: Problem
    added: int = 0
    known: int = 0
    chunks: int = 0
    vectors: int = 0
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
    and cut here, and the chunks that came out alike get their vectors. ``places`` says where each
    root of the header lies here, None for nowhere.
    """
    header = export.header
    model = None
    if header.model is not None and header.dim is not None:
        model = store.model(header.model, header.dim)
    if store.counts().documents == 0:
        # Whatever comes into it now is of this pipeline: the next sync need not cut it again.
        note_pipeline(store)
    going = _Adoption(store, header, places, rules, texts, model, problem)
    for done, group in enumerate(export.groups):
        report(Progress("import", done, None, group.document.path))
        _adopt_one(going, group)
    store.refresh_statistics()
    return ImportReport(
        header.model,
        going.added,
        going.known,
        going.chunks,
        going.vectors,
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
    taken_over = line.converted and going.header.pipeline == PIPELINE
    if same and not (taken_over and _has_more(going.store, place.root, path, line)):
        going.known += 1
    elif taken_over:
        document, chunks = _document(line, path), [_chunk(one, path) for one in group.chunks]
        going.store.put(place.root, document, source, chunks)
        going.added += 1
        going.chunks += len(chunks)
    elif sync_file(going.store, place.root, path, going.rules, going.texts):
        going.added += 1
        going.chunks += len(group.chunks)
    known = going.store.documents(place.root, path).get(path)
    if known is None:
        going.left_out.append(Skipped(line.path, reasons.UNREADABLE, "see `rag-agent status`"))
    elif going.model is not None:
        _put_vectors(going, going.model, known.id, group)


def _has_more(store: Store, root: Root, path: str, line: DocumentLine) -> bool:
    """Whether OCR has looked at the pages of the export, and none at those here."""
    here = store.page_coverage(root, path).get(path)
    there = line.coverage
    return there is not None and bool(there.engine) and not (here and here.engine)


def _source_here(going: _Adoption, root: Root, path: str, line: DocumentLine) -> Source | None:
    """The state of the file if it is here and the same; else what is wrong is noted."""
    try:
        found = admit(Path(root.path), path, going.rules)
        if isinstance(found, Skipped):
            going.left_out.append(Skipped(line.path, found.reason, found.detail))
            return None
        source = source_of(found)
    except WalkError as error:
        going.left_out.append(Skipped(line.path, NO_ROOT, str(error)))
        return None
    except OSError as error:
        going.left_out.append(Skipped(line.path, reasons.UNREADABLE, error.strerror or str(error)))
        return None
    if source.sha256 != line.sha256:
        going.left_out.append(Skipped(line.path, CHANGED))
        return None
    return source


def _document(line: DocumentLine, path: str) -> Document:
    return Document(
        path=path,
        kind=line.kind,
        text="",  # the chunks have it
        language=line.language,
        title=line.title,
        tags=line.tags,
        date=line.date,
        metadata=line.metadata,
        links=tuple(Link(*link) for link in line.links),
        pages=line.pages,
        converted=line.converted,
        warnings=line.warnings,
        coverage=Coverage(**line.coverage.model_dump()) if line.coverage else None,
    )


def _chunk(line: ChunkLine, path: str) -> Chunk:
    return Chunk(
        path=path,
        start=line.start,
        end=line.end,
        text=line.text,
        heading=line.heading,
        definitions=tuple(Definition(*definition) for definition in line.definitions),
        passages=tuple(
            Passage(start, end, line.text[begin : begin + length] if own is None else own)
            for start, end, begin, length, own in line.passages
        ),
        embedded=line.embedded,
    )


def _put_vectors(going: _Adoption, model: int, document_id: int, group: Group) -> None:
    """Vectors for those chunks that lack one and say what a chunk of the export says."""
    import numpy as np

    store, line = going.store, group.document
    given = {
        passage_text(
            line.path, line.title, one.heading, one.text, line.description, line.tags
        ): vector
        for one, vector in _given(going, group)
    }
    wanted = {
        p.id: given[text]
        for p in store.pending_of(model, document_id)
        if (text := passage_text(p.path, p.title, p.heading, p.text, p.description, p.tags))
        in given
    }
    if wanted:
        store.put_vectors(model, list(wanted), np.stack(list(wanted.values())))
        going.vectors += len(wanted)
    pending = store.pending_cards(model, 1, document_id - 1)
    if line.card is None or not pending or pending[0].document_id != document_id:
        return
    if pending[0].digest.hex() == line.card.digest:
        card = _vector(line.card.vector, going.header.dim)
        if card is None:
            going.problem(f"line {group.line}: the card of {line.path} is no vector")
        else:
            store.put_cards(model, pending, card[np.newaxis, :])
            going.vectors += 1


def _given(going: _Adoption, group: Group) -> Iterator[tuple[ChunkLine, NDArray[np.float32]]]:
    for number, line in enumerate(group.chunks, start=group.line + 1):
        if line.vector is None:
            continue
        vector = _vector(line.vector, going.header.dim)
        if vector is None:
            going.problem(f"line {number}: the vector of {line.path} is none, and is made anew")
        else:
            yield line, vector


def _vector(text: str, dim: int | None) -> NDArray[np.float32] | None:
    """The numbers, None where they are not as many as there should be or no unit vector."""
    import numpy as np

    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if dim is None or len(data) != 4 * dim:
        return None
    vector = np.frombuffer(data, "<f4")
    length = float(np.linalg.norm(vector))
    # Zeros stand for what the model could not give (store.dense.finite).
    return vector if length == 0 or abs(length - 1) <= _UNIT else None
