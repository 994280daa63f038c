"""Store → lines of JSON, one document at a time."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rag_agent.exchange.lines import (
    CardLine,
    ChunkLine,
    CoverageLine,
    DocumentLine,
    EndLine,
    HeaderLine,
    SkippedLine,
)
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.store.exporting import WholeDocument
from rag_agent.store.records import StoredChunk
from rag_agent.sync.sync import PIPELINE
from rag_agent.types import Passage, Root
from rag_agent.version import __version__


@dataclass(slots=True)
class _Counts:
    """What has been written so far."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    unembedded: int = 0
    skipped: int = 0


def export_lines(
    store: Store,
    roots: Sequence[str],
    fingerprint: str | None,
    report: Report,
) -> Iterator[str]:
    """The lines of an index, without their line ends.

    Each document is read in one state, whatever is written meanwhile. ``roots`` names those of the
    store, in their order; ``fingerprint`` is the model whose vectors to write, None for none.
    """
    counts = _Counts()
    model = None if fingerprint is None else store.find_model(fingerprint)
    of_header = store.roots()
    yield HeaderLine(
        written_by=__version__,
        pipeline=PIPELINE,
        model=None if model is None else fingerprint,
        dim=None if model is None else store.dim_of(model),
        roots=tuple(roots),
    ).model_dump_json()
    total = store.counts().documents
    after = 0
    while True:
        with store.snapshot():
            found = store.next_document(after)
            if found is None:
                break
            # A root that was added since the header was written is not part of this export.
            known = found.root in of_header
            lines = _document_lines(store, model, found, of_header, counts) if known else []
        report(Progress("export", counts.documents, max(total, counts.documents)))
        yield from lines
        after = found.id
    for number, root in enumerate(of_header):
        for one in store.skipped(root):
            counts.skipped += 1
            yield SkippedLine(
                root=number, path=one.path, reason=one.reason, detail=one.detail
            ).model_dump_json()
    yield EndLine(
        documents=counts.documents,
        chunks=counts.chunks,
        vectors=counts.vectors,
        unembedded=counts.unembedded,
        skipped=counts.skipped,
    ).model_dump_json()


def _document_lines(
    store: Store, model: int | None, found: WholeDocument, roots: Sequence[Root], counts: _Counts
) -> list[str]:
    chunks = store.chunks_of(found.id)
    vectors = {} if model is None else store.vectors_of(model, found.id)
    card = None if model is None else store.card_of(model, found.id)
    unembedded = store.unembedded_of(found.id)
    document, root = found.document, roots.index(found.root)
    counts.documents += 1
    counts.chunks += len(chunks)
    counts.vectors += len(vectors)
    counts.unembedded += len(unembedded)
    line = DocumentLine(
        root=root,
        path=document.path,
        sha256=found.source.sha256,
        size=found.source.size,
        kind=document.kind,
        language=document.language,
        title=document.title,
        tags=document.tags,
        date=document.date,
        metadata=dict(document.metadata),
        links=tuple((link.target, link.line, link.wiki) for link in document.links),
        pages=document.pages,
        converted=document.converted,
        warnings=document.warnings,
        coverage=CoverageLine(**asdict(document.coverage)) if document.coverage else None,
        description=found.description,
        card=None if card is None else CardLine(digest=card[0].hex(), vector=_base64(card[1])),
        chunks=len(chunks),
    )
    return [
        line.model_dump_json(),
        *(
            _chunk_line(stored, root, stored.id not in unembedded, vectors.get(stored.id))
            for stored in chunks
        ),
    ]


def _chunk_line(stored: StoredChunk, root: int, embedded: bool, vector: bytes | None) -> str:
    chunk = stored.chunk
    return ChunkLine(
        root=root,
        path=chunk.path,
        start=chunk.start,
        end=chunk.end,
        heading=chunk.heading,
        text=chunk.text,
        definitions=tuple((d.name, d.kind, d.start, d.end) for d in chunk.definitions),
        passages=tuple(_places(chunk.text, chunk.passages)),
        embedded=embedded,
        vector=None if vector is None else _base64(vector),
    ).model_dump_json()


def _places(
    text: str, passages: Sequence[Passage]
) -> Iterator[tuple[int, int, int, int, str | None]]:
    """Passages as slices of their chunk's text, which they nearly always are."""
    cursor = 0
    for passage in passages:
        begin = text.find(passage.text, cursor)
        cursor = max(cursor, begin)
        own_text = passage.text if begin < 0 else None
        yield passage.start, passage.end, max(begin, 0), len(passage.text), own_text


def _base64(vector: bytes) -> str:
    return b64encode(vector).decode("ascii")
