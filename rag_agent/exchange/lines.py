"""The format: one JSON object a line, and what each kind of line holds.

First a header, then each document followed by its chunks in order, then what was not indexed, then
an end that counts. Vectors are float32, little-endian, in base64.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag_agent.types import DefinitionKind, Kind

VERSION = 1
"""Raise it when a reader of the version before would take something wrongly."""

# What the store can hold and a document can have: its integers have 64 bits, its texts no NUL.
_MOST = 2**31 - 1
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Path = Annotated[Text, Field(min_length=1, max_length=32_767)]  # the longest of any system
Place = Annotated[int, Field(ge=0, le=_MOST)]
LineNumber = Annotated[int, Field(ge=1, le=_MOST)]
Count = Annotated[int, Field(ge=0, le=2**53)]  # exact in every reader of JSON
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Line(BaseModel):
    """What this version does not know is passed over, so that fields can be added."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class HeaderLine(_Line):
    """Whose index it was. ``pipeline`` names what cut the text, ``roots`` what it followed.

    ``model`` and ``dim`` are of the vectors, None when they were not asked for or there are none.
    That ``dim`` is the model's is looked at where vectors are put: text needs none.
    """

    type: Literal["header"] = "header"
    format: Literal["rag_agent"] = "rag_agent"
    version: int = Field(default=VERSION, ge=1, le=_MOST)
    written_by: Text
    pipeline: Text
    model: Text | None = None
    dim: int | None = None
    roots: tuple[Path, ...]


class CardLine(_Line):
    """The vector of a file as a whole; ``digest`` names what it was made of."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{2,128}$")]
    vector: str


class CoverageLine(_Line):
    """Of how many pages there is text, as ``types.Coverage``."""

    text: Place = 0
    ocr: Place = 0
    without: Place = 0
    engine: Text = ""
    failed: Place = 0


class DocumentLine(_Line):
    """One file; ``root`` counts those of the header from 0, ``chunks`` the lines that follow.

    ``description`` is what of it is embedded with each chunk.
    """

    type: Literal["document"] = "document"
    root: Place
    path: Path
    sha256: Sha256
    size: Count
    kind: Kind
    language: Text = ""
    title: Text = ""
    tags: tuple[Text, ...] = ()
    date: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = ""
    metadata: dict[Text, Text] = {}
    links: tuple[tuple[Text, Place, bool], ...] = ()
    pages: tuple[LineNumber, ...] = ()
    converted: bool = False
    warnings: tuple[Text, ...] = ()
    coverage: CoverageLine | None = None
    description: Text = ""
    card: CardLine | None = None
    chunks: Place

    @model_validator(mode="after")
    def _ascends(self) -> DocumentLine:
        if any(page >= following for page, following in pairwise(self.pages)):
            raise ValueError("the pages do not ascend")
        return self


class ChunkLine(_Line):
    """Consecutive lines of a document, with names that they define and passages inside them.

    Without ``embedded`` it is found by words only, and has no vector.

    A passage is (first line, last line, where it begins in the text, its length, and its own text
    where that is no slice of the chunk's).
    """

    type: Literal["chunk"] = "chunk"
    root: Place
    path: Path
    start: LineNumber
    end: LineNumber
    heading: Text = ""
    text: Text
    definitions: tuple[tuple[Text, DefinitionKind, LineNumber, LineNumber], ...] = ()
    passages: tuple[tuple[LineNumber, LineNumber, Place, Place, Text | None], ...] = ()
    embedded: bool = True
    vector: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> ChunkLine:
        wrong = self._misfit()
        if wrong:
            raise ValueError(wrong)
        return self

    def _misfit(self) -> str:
        """What its places do not agree in, or ""."""
        lines = self.text.count("\n") + 1
        if self.end - self.start + 1 != lines:
            return f"from line {self.start} to {self.end} are not the {lines:,} of its text"
        for name, _, start, end in self.definitions:
            # A class goes on in the chunks that follow.
            if not self.start <= start <= min(end, self.end):
                return f"the definition of {name} lies outside of it"
        for start, end, begin, length, own in self.passages:
            whole = len(self.text) if own is None else len(own)
            if not self.start <= start <= end <= self.end or begin + length > whole:
                return "a passage lies outside of it"
        if self.vector is not None and not self.embedded:
            return "it has a vector and is found by words only"
        return ""


class SkippedLine(_Line):
    """A file that was seen and not indexed."""

    type: Literal["skipped"] = "skipped"
    root: Place
    path: Path
    reason: Text
    detail: Text = ""


class EndLine(_Line):
    """How much there was: a file without it is not whole. ``unembedded`` chunks get no vector."""

    type: Literal["end"] = "end"
    documents: Count
    chunks: Count
    vectors: Count
    unembedded: Count = 0
    skipped: Count = 0


AnyLine = Annotated[
    HeaderLine | DocumentLine | ChunkLine | SkippedLine | EndLine, Field(discriminator="type")
]
