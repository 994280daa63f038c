"""Documents whose text an export has, because to convert their files again takes long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_agent.exchange.lines import ChunkLine, DocumentLine
from rag_agent.exchange.reading import Group
from rag_agent.extract.languages import LANGUAGES, language_of
from rag_agent.sync import consent
from rag_agent.sync.sync import masked
from rag_agent.types import Chunk, Coverage, Definition, Document, Link, Passage

_LANGUAGES = frozenset(row.name for row in LANGUAGES.values() if row.converted)


def is_conversion(line: DocumentLine, path: str) -> bool:
    """Whether the text of the file at ``path`` is one that is made from it.

    The export's word is not enough: a source file's text is on the disk.
    """
    here = language_of(path)
    return (
        here is not None
        and here.converted
        and line.converted
        and line.kind == here.kind
        and line.language in _LANGUAGES  # of its content, which may be HTML named .xls
    )


def conversion(
    group: Group, path: str, exclude_tags: Sequence[str]
) -> tuple[Document, list[Chunk]] | None:
    """The document at ``path`` as the export has it.

    None where secrets are in it: the pipeline would have removed them from the text before it was
    cut, so that this is not what the pipeline made.

    Raises:
        ExtractError: it says of itself that it is not to be indexed, or has an excluded tag.
    """
    document, chunks = _document(group.document, path), [_chunk(one, path) for one in group.chunks]
    consent.check(document, exclude_tags)
    whole = replace(document, text=_all_text(document, chunks))
    return (document, chunks) if masked(whole) == whole else None


def _all_text(document: Document, chunks: Sequence[Chunk]) -> str:
    """Whatever of the chunks is stored, as it stood: a secret may begin in one and end in another.

    Chunks that share a line are pieces of it.
    """
    pieces: list[str] = []
    for number, chunk in enumerate(chunks):
        if number and chunk.start > chunks[number - 1].end:
            pieces.append("\n")
        pieces.append(chunk.text)
    beside = dict.fromkeys((*document.warnings, *_beside(chunks)))
    return "\n\n".join(("".join(pieces), *beside))


def _beside(chunks: Sequence[Chunk]) -> Iterator[str]:
    """What chunks hold that need not be part of their text."""
    for chunk in chunks:
        yield chunk.heading
        yield from (definition.name for definition in chunk.definitions)
        yield from (passage.text for passage in chunk.passages if passage.text not in chunk.text)


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
