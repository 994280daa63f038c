"""The nouns of rag_agent: plain, frozen values that every stage takes and returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    """Shape (rows, dim), float32, rows of unit length."""
    Vector = NDArray[np.float32]
    """Shape (dim,), float32, unit length."""

Kind = Literal["code", "prose", "data"]
DefinitionKind = Literal["type", "function", "constant", "module", "implementation"]
Mode = Literal["hybrid", "lexical"]
Scope = Literal["environment", "project", "global"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written in a document; ``rag_agent.links`` resolves it."""

    target: str
    line: int
    wiki: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of how many pages there is text: as the file has it, by OCR, and none though drawn on.

    Blank pages count nowhere. ``engine`` says which OCR has looked at the pages without text of
    their own; "" is none yet. At ``failed`` of those without text it did not get to its end.
    """

    text: int = 0
    ocr: int = 0
    without: int = 0
    engine: str = ""
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """One file as read.

    ``text`` is what is chunked, shown and counted in lines. Where ``converted`` is true it is a
    conversion (DOCX, HTML, PDF, notebook), so its lines are not lines of the file on disk.
    ``pages`` holds the line of ``text`` at which each page begins, for formats that have pages.
    ``aliases`` are other titles that it gives itself.
    ``unembedded`` are ranges of lines, both ends included, that are found by words only.
    ``coverage`` is of formats whose pages may be pictures, None of others.
    """

    path: str
    kind: Kind
    text: str
    language: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    pages: tuple[int, ...] = ()
    converted: bool = False
    warnings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    unembedded: tuple[tuple[int, int], ...] = ()
    coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a piece of code defines, and the lines the definition spans."""

    name: str
    kind: DefinitionKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """What the word index holds: consecutive lines inside a chunk, or a part of one long line.

    They have about 750 characters, of prose 1,100; there the first and the last line may be parts,
    where a sentence begins inside of a line.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is embedded and shown: consecutive lines of one document.

    ``heading`` is the heading path of prose (``Guide > Install``) or the scope of code
    (``class Foo > def bar``). Lines count from 1 and include both ends. ``embedded`` is false for
    what is found by words only: references, tables of numbers.
    """

    path: str
    start: int
    end: int
    text: str
    heading: str = ""
    definitions: tuple[Definition, ...] = ()
    passages: tuple[Passage, ...] = ()
    embedded: bool = True

    @property
    def location(self) -> str:
        """``path:start-end``."""
        return f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Source:
    """What was true of a file on disk when its bytes were read.

    ``mtime_ns`` is below zero where the file was too young for its time to tell a later change.
    """

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Root:
    """A tracked folder or file. ``path`` is absolute; documents are named relative to it."""

    id: int
    path: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was seen and not indexed, with a reason and a detail.

    Reasons are those of ``sync.reasons`` and of extractors. Where its content was the reason,
    ``size`` (bytes) and ``mtime_ns`` say for which state of the file that was decided, so that an
    unchanged file is not read again; -1 otherwise.
    """

    path: str
    reason: str
    detail: str = ""
    size: int = -1
    mtime_ns: int = -1


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What the store knows of one document without its text."""

    id: int
    root: Root
    path: str
    kind: Kind
    language: str
    title: str
    source: Source
    chunks: int
    converted: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """Raw, per-query-unscaled signs that a hit answers the question.

    ``cosine`` is the highest raw cosine (None without vectors), ``coverage`` the share of the
    query's informative words found (by inverse document frequency, in [0, 1]), ``bm25`` the raw
    sum (0 or more) and ``passage`` the same per weight of the query's words, as one passage has it.
    ``defined`` says how clearly the query gives the name of something that the hit defines and
    ``file`` whether it has the file's name with its ending, ``verbatim`` which share of the query
    one of its chunks has word for word, each in [0, 1].

    Of the query itself: ``words`` counts its informative words, ``familiar`` says how common they
    are in the project (0 when none occurs, below 1), ``strange`` which share of the names that are
    written as code does not occur there.
    """

    cosine: float | None
    coverage: float
    bm25: float
    passage: float = 0.0
    words: int = 0
    familiar: float = 0.0
    defined: float = 0.0
    file: float = 0.0
    strange: float = 0.0
    verbatim: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One file that answers a query: its best chunk, and up to two more in ``more``.

    Of a long document these are up to four. ``score`` orders; ``evidence`` decides whether the hit
    may be injected. ``signals`` names what the score is made of. ``stale`` means the file changed
    on disk and could not be synced. ``doubles`` are further files that say the same, as hits of
    their own. ``address`` opens a file in a vault in Obsidian. ``given`` are lines of the file that
    the question gives, as a stack trace does, ``exact`` the first ones of its chunks that have a
    piece of the question word for word.
    """

    path: str
    score: float
    chunk: Chunk
    more: tuple[Chunk, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    evidence: Evidence = Evidence(None, 0.0, 0.0)
    converted: bool = False
    stale: bool = False
    document: StoredDocument | None = None
    doubles: tuple[Hit, ...] = ()
    address: str = ""
    given: tuple[int, ...] = ()
    exact: tuple[int, ...] = ()

    @property
    def wanted(self) -> tuple[int, ...]:
        """The lines that are shown before others: those given, else those that are exact."""
        return self.given or self.exact

    @property
    def copies(self) -> tuple[str, ...]:
        """The files that say the same."""
        return tuple(double.path for double in self.doubles)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The hits of one query, best first, and how they were found.

    ``notes`` are sentences for the reader: vectors missing, indexing under way, words dropped.
    ``left_by_filter`` is how many documents the filter of a search without hits leaves, None of any
    other search. ``nothing_indexed`` says that there was nothing to search, and a note what to do.
    """

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    took_ms: float
    notes: tuple[str, ...] = ()
    left_by_filter: int | None = None
    nothing_indexed: bool = False

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document ``depth`` links away, reached by way of ``via``, which is one link nearer.

    ``forward`` says that ``via`` links to it, ``back`` that it links to ``via``; ``line`` is that
    of the first such link, in ``via`` if that is where it stands. ``address`` opens it in Obsidian.
    """

    path: str
    title: str
    depth: int
    via: str
    forward: bool
    back: bool
    line: int
    address: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """What is near a document: ``links`` by links, nearest first, of ``linked`` that there are.

    ``similar`` are files near in meaning, or in words where there are no vectors (``mode``);
    their scores are cosines then. ``dead`` are the document's links that lead nowhere.
    """

    path: str
    line: int | None
    links: tuple[Neighbour, ...]
    linked: int
    similar: tuple[Hit, ...]
    mode: Mode
    dead: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """Text to put before an agent's turn; ``text`` is empty when nothing is relevant.

    ``hits`` hold the chunks that are in the text; ``reasons`` says what was decided and why, for
    people; ``query`` is what was searched, empty when nothing was.
    """

    text: str
    tokens: int
    hits: tuple[Hit, ...]
    reasons: tuple[str, ...]
    query: str = ""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync did. Counts are files unless named otherwise; ``seconds`` is wall time."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    pending: int = 0
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Activity:
    """What a process that holds the write lock is doing. ``started`` is Unix time in seconds."""

    pid: int
    started: float
    stage: str
    done: int = 0
    total: int | None = None
    item: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to know about an index, read from its data and not from flags.

    ``vectors`` and ``pending`` count chunks with and without a vector of the current model, but
    for the ``unembedded``, which are found by words only and get none,
    ``other_models`` vectors of others by the fingerprint of each, which wait to be used again;
    ``cards`` counts the files that have one of their own, which come first;
    ``model_problem`` is empty when the model can be loaded; ``bytes`` is the size on disk;
    times are ISO 8601 or empty; ``skipped_by_reason`` counts ``skipped``; ``injection`` counts what
    became of the turns of agents, and ``last_refresh`` says how the last automatic one went;
    ``commits`` counts those whose messages help to rank; ``pages`` counts the pages of all
    documents that may be scanned, ``pages_of`` those of each that is, wholly or in part.
    """

    version: str
    store: str
    scope: Scope
    documents: int
    chunks: int
    vectors: int
    pending: int
    bytes: int
    model: str
    model_problem: str
    vector_engine: str
    tracked_paths: tuple[str, ...]
    settings: Mapping[str, object]
    languages: Mapping[str, int]
    last_sync: str
    running: tuple[Activity, ...]
    skipped_by_reason: Mapping[str, int]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...] = ()
    injection: Mapping[str, int] = field(default_factory=dict)
    last_refresh: str = ""
    commits: int = 0
    other_models: Mapping[str, int] = field(default_factory=dict)
    cards: int = 0
    unembedded: int = 0
    pages: Coverage = Coverage()
    pages_of: Mapping[str, Coverage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``doctor``: what was checked, whether it is well, and what to do if not."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


class Embedder(Protocol):
    """Turns text into unit vectors. ``fingerprint`` names model, revision, pooling and window."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever vectors of the same text would change."""
        ...

    @property
    def dim(self) -> int:
        """Length of every vector."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dim), float32, rows of unit length; an empty list gives (0, dim)."""
        ...

    def first_window(self, text: str) -> str:
        """The beginning of a passage that the model reads at once."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Shape (dim,), float32, unit length."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together and says how well the one answers the other."""

    @property
    def name(self) -> str:
        """As the setting names it."""
        ...

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, the higher the better; they compare within one query only."""
        ...
