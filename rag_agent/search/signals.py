"""What speaks for a file and against it: one function and one row each.

To add a signal write a function ``(facts) -> float`` and give it a row in ``SIGNALS``; then fit the
weights (``rag-agent eval fit``) and compare the evaluation tables before and after. A part gathers
signals that a person would call by one name.
"""

from __future__ import annotations

import math

from rag_agent.search.path_classes import CLASSES
from rag_agent.search.verbatim import WHOLE
from rag_agent.tokens import words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from rag_agent.search.facts import Facts

    Measure = Callable[[Facts], float | None]
    Scale = Literal["", "maximum", "median"]

# Parts of a score. Words and meaning are what ``alpha`` blends; the others stand beside them.
WORDS = "words"
VERBATIM = "verbatim"
MEANING = "meaning"
ASKED_FOR = "asked for"
PARTS = {
    WORDS: "its text has words of the question",
    MEANING: "its meaning is near that of the question",
    VERBATIM: "it has words of the question just as they stand there",
    "file name": "what the file's name has of the question, and how short it is",
    "folders": "its folders have words of the question",
    "definition": "it defines a name that the question gives",
    "defined names": "names it defines are like the question",
    "links": "links lead from the document that the search starts from to it, or back",
    "commits": "commits that sound like the question changed it",
    "test": "it is a test, and the question is not about tests",
    "example": "it is an example, and the question is not about examples",
    "vendored": "it is a copy of foreign or built code",
    "changelog": "it is a changelog, and the question is not about changes",
    "document": "it is a document",
    ASKED_FOR: "it is of a kind of files that the question speaks of",
    "language": "it is written in a language that much of the project is written in",
    "kind of file": "what other kind of file it is, and how deep it lies",
    "size": "how much there is in the file",
}


class Signal:
    """One thing that is measured. ``scale`` brings it to [0, 1] among the candidates.

    "maximum" divides by the highest; "median" gives the middle one 0 and the highest 1, for values
    that lie close together at a height that depends on the question. A measure of None is unknown.
    ``key`` is the name in the table of weights. Documents are judged by those of ``OF_PROSE``.
    """

    __slots__ = ("key", "measure", "name", "part", "scale")

    def __init__(self, part: str, name: str, measure: Measure, scale: Scale = "") -> None:
        self.part = part
        self.name = name
        self.key = f"{part}: {name}"
        self.measure = measure
        self.scale = scale


def strength(facts: Facts) -> float:
    """The best passage's BM25 as a share of what it could be."""
    return facts.passages[0] / facts.question.most if facts.passages else 0.0


def name_coverage(facts: Facts) -> float:
    """Share of the file name's words that the question has, by rarity.

    A word of the question that begins alike (four letters and more) counts 0.7. For names such as
    ``index.js`` the folder is the name.
    """
    return facts.question.share_of(facts.path.name)


def name_as_written(facts: Facts) -> float:
    """1 if the question has the name of the file as one word."""
    path, question = facts.path, facts.question
    if len(path.stem) < 3 or not (len(path.name) > 1 or len(question.names) == 1):
        return 0.0
    return float(path.stem.replace("-", "_") in question.folded_names)


def path_as_written(facts: Facts) -> float:
    """1 if the question has the file's name with its ending."""
    name = facts.path.file
    return float("." in name and name in facts.question.lower)


def rarest_in_name(facts: Facts) -> float:
    """The rarity of the rarest word of the question that the file's name has, of its rarest."""
    rarity = facts.question.rarity
    highest = max((rarity[word] for word in facts.path.name if word in rarity), default=0.0)
    return highest / facts.question.highest


def definition(facts: Facts) -> float:
    """How weighty the definitions are that the question asks for by name."""
    return max(facts.asked, default=0.0)


def sought(facts: Facts) -> float:
    """The same, if the question is nothing but that name: then its definition is the answer.

    Half of it for being defined at all: a short class is still what was asked for.
    """
    weight = definition(facts) if len(facts.question.names) == 1 else 0.0
    return (1 + weight) / 2 if weight else 0.0


def _of_class(name: str, *, asked: bool) -> Measure:
    wanted = CLASSES[name].asked

    def measure(facts: Facts) -> float:
        if name not in facts.path.classes:
            return 0.0
        return float(bool(wanted and not facts.question.words.keys().isdisjoint(wanted)) == asked)

    return measure


DOCUMENT_WORDS = frozenset(
    words(
        "document documents documentation docs readme guide manual tutorial changelog release "
        "notes install installation faq note paper article chapter"
    )
)


def _is_prose(facts: Facts, *, asked: bool) -> float:
    wants = not facts.question.words.keys().isdisjoint(DOCUMENT_WORDS)
    return float(facts.kind == "prose" and wants == asked)


SIGNALS: tuple[Signal, ...] = (
    Signal(WORDS, "best passage", lambda f: f.passages[0] if f.passages else 0.0, "maximum"),
    Signal(WORDS, "best passages", lambda f: math.fsum(f.passages[:3]), "maximum"),
    Signal(WORDS, "strength", strength),
    Signal(WORDS, "best chunk", lambda f: f.chunks[0], "maximum"),
    Signal(WORDS, "best chunks", lambda f: math.fsum(f.chunks[:3]), "maximum"),
    Signal(WORDS, "whole file", lambda f: f.whole, "maximum"),
    Signal(WORDS, "words in file", lambda f: f.covered),
    Signal(WORDS, "words in chunk", lambda f: f.covered_by_chunk),
    Signal(WORDS, "words in passage", lambda f: f.covered_by_passage),
    Signal(WORDS, "near each other", lambda f: f.nearby),
    Signal(WORDS, "passages", lambda f: math.log1p(len(f.passages)) / 4),
    Signal(MEANING, "best chunks' meaning", lambda f: f.cosine_of_three, "median"),
    Signal(MEANING, "best chunk's meaning", lambda f: f.cosine, "median"),
    Signal(MEANING, "summary's meaning", lambda f: f.card, "median"),
    # Half of a question is in many texts, nearly all of it only where it comes from.
    Signal(VERBATIM, "word for word", lambda f: f.verbatim**3),
    Signal(VERBATIM, "all of it", lambda f: float(f.verbatim > WHOLE)),
    Signal("file name", "name covered", name_coverage),
    Signal("file name", "whole name", lambda f: float(name_coverage(f) >= 1)),
    Signal("file name", "question in name", lambda f: f.question.coverage(f.path.name)),
    Signal("file name", "rarest word", rarest_in_name),
    Signal("file name", "short name", lambda f: 1 / max(1, len(f.path.name))),
    Signal("file name", "as written", name_as_written),
    Signal("file name", "with its ending", path_as_written),
    Signal("folders", "nearest folder", lambda f: f.question.share_of(f.path.folder)),
    Signal("folders", "all folders", lambda f: f.question.share_of(f.path.folders)),
    Signal("folders", "question in folders", lambda f: f.question.coverage(f.path.folders)),
    Signal("folders", "path", lambda f: f.file.by_path, "maximum"),
    Signal("folders", "question in path", lambda f: f.question.coverage(f.path.words)),
    Signal("definition", "definition", definition),
    Signal("definition", "definitions", lambda f: min(math.fsum(f.asked), 3.0) / 3),
    Signal("definition", "written as code", lambda f: f.named_as_code),
    Signal("definition", "sought", sought),
    Signal("defined names", "best name", lambda f: f.names.best),
    Signal("defined names", "whole name", lambda f: f.names.whole),
    Signal("defined names", "type", lambda f: f.names.of_types),
    Signal("defined names", "function", lambda f: f.names.of_functions),
    Signal("defined names", "question in names", lambda f: f.names.weight),
    Signal("defined names", "headings", lambda f: f.in_headings),
    Signal("defined names", "title", lambda f: f.titled),
    Signal("links", "link distance", lambda f: f.near),
    Signal("commits", "commits", lambda f: f.commits),
    *(
        Signal(name if name in PARTS else "kind of file", name, _of_class(name, asked=False))
        for name in CLASSES
    ),
    *(
        Signal(ASKED_FOR, name, _of_class(name, asked=True))
        for name, kind in CLASSES.items()
        if kind.asked
    ),
    Signal("document", "document", lambda f: _is_prose(f, asked=False)),
    Signal(ASKED_FOR, "document", lambda f: _is_prose(f, asked=True)),
    Signal("kind of file", "data", lambda f: float(f.kind == "data")),
    Signal("language", "language of the project", lambda f: f.common),
    Signal("kind of file", "plain name", lambda f: float(f.path.is_plain)),
    Signal("kind of file", "depth", lambda f: min(f.path.depth, 8) / 8),
    Signal("size", "chunks", lambda f: math.log1p(f.size) / 5),
    Signal("size", "one chunk", lambda f: float(f.size <= 1)),
    Signal("size", "definitions", lambda f: math.log1p(f.defined) / 5),
    Signal("size", "no definitions", lambda f: float(not f.defined)),
)

# What counts of a document. It is judged by less than code, whose names and folders say more; there
# are few labelled questions about documents, too, from which much could not be learned.
OF_PROSE = frozenset(
    {
        "words: best passage",
        "words: best chunk",
        "words: strength",
        "words: words in passage",
        "words: words in chunk",
        "words: near each other",
        "meaning: best chunks' meaning",
        "meaning: best chunk's meaning",
        "meaning: summary's meaning",
        "verbatim: word for word",
        "verbatim: all of it",
        "file name: name covered",
        "file name: as written",
        "file name: with its ending",
        "defined names: headings",
        "defined names: title",
        "test: test",
        "example: example",
        "vendored: vendored",
        "changelog: changelog",
        "document: document",
        "asked for: document",
        "kind of file: translation",
        "kind of file: legacy",
    }
)
