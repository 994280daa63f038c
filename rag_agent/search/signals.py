"""What else than words and meaning speaks for or against a file: one function and one row each.

To add a signal write a function ``(question, file) -> float in [0, 1]`` and give it a row
with a weight and a phrase; then compare the evaluation tables before and after.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from rag_agent.tokens import split_identifier, words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.matches import FileMatch
    from rag_agent.search.question import Question
    from rag_agent.types import Definition

    Measure = Callable[[Question, FileMatch], float]


class Signal:
    """``weight`` is in units of the blend, whose best file has 1; ``phrase`` is for people."""

    __slots__ = ("measure", "name", "phrase", "weight")

    def __init__(self, name: str, weight: float, measure: Measure, phrase: str) -> None:
        self.name = name
        self.weight = weight
        self.measure = measure
        self.phrase = phrase


def name_coverage(question: Question, file: FileMatch) -> float:
    """Share of the file name's words that the question has, by rarity.

    A word of the question that begins alike (four letters and more) counts 0.7. For names such as
    ``index.js`` the folder is the name.
    """
    name = _words_of_file(file.document.path)
    total = sum(question.rarity_of(word) for word in name)
    covered = sum(question.rarity_of(word) * _similarity(word, question) for word in name)
    return covered / total if total else 0.0


def definition(question: Question, file: FileMatch) -> float:
    """How weighty the definitions are that the question asks for by name."""
    return max(
        (weight_of(found, question) for chunk in file.chunks for found in chunk.asked), default=0.0
    )


def sought(question: Question, file: FileMatch) -> float:
    """The same, if the question is nothing but that name: then its definition is the answer.

    Half of it for being defined at all: a short class is still what was asked for.
    """
    weight = definition(question, file) if len(question.names) == 1 else 0.0
    return (1 + weight) / 2 if weight else 0.0


def name_match(question: Question, file: FileMatch) -> float:
    """How well the best of the defined names fits the question: share of both, by rarity."""
    rarity = question.rarity
    asked = sum(rarity.values())
    best = 0.0
    for chunk in file.chunks:
        for found in chunk.stored.chunk.definitions:
            name = _words_of_name(found.name)
            if not name.isdisjoint(rarity):  # few are not, of thousands
                common = sum(rarity[word] for word in name & rarity.keys())
                own = sum(question.rarity_of(word) for word in name)
                best = max(best, 2 * common / (asked + own))
    return best


def test(question: Question, file: FileMatch) -> float:
    """1 for tests, mocks and fixtures unless the question is about them."""
    return _is_of_class(_TEST, question, file.document.path)


def example(question: Question, file: FileMatch) -> float:
    """1 for examples, demonstrations and benchmarks unless the question is about them."""
    return _is_of_class(_EXAMPLE, question, file.document.path)


def vendored(question: Question, file: FileMatch) -> float:
    """1 for code of others, or built code, in the tree unless the question is about it."""
    return _is_of_class(_VENDORED, question, file.document.path)


def history(question: Question, file: FileMatch) -> float:
    """1 for changelogs, which mention everything, unless the question is about changes."""
    # history.py is the code of something.
    return _is_of_class(_HISTORY, question, file.document.path) * _is_prose(file)


def prose(question: Question, file: FileMatch) -> float:
    """1 for documents unless the question is about documents.

    Where there are no other files it takes the same from each and changes nothing.
    """
    return _is_prose(file) * (not _DOCUMENT_WORDS & question.words.keys())


# The two parts of the blend, beside which the signals stand in a hit.
WORDS = "words"
MEANING = "meaning"

SIGNALS: tuple[Signal, ...] = (
    Signal("file name", 0.35, name_coverage, "the file's name has words of the question"),
    Signal("definition", 0.42, definition, "it defines a name that the question gives"),
    Signal("sought", 1.0, sought, "the question is nothing but a name that it defines"),
    Signal("defined names", 0.3, name_match, "a name it defines is like the question"),
    Signal("test", -0.42, test, "it is a test, and the question is not about tests"),
    Signal("example", -0.35, example, "it is an example, and the question is not about examples"),
    Signal("vendored", -0.49, vendored, "it is a copy of foreign or built code"),
    Signal("history", -0.3, history, "it is a changelog, and the question is not about changes"),
    Signal("document", -0.15, prose, "it is a document, and the question does not ask for one"),
)


@lru_cache(maxsize=50_000)
def _words_of_name(name: str) -> frozenset[str]:
    return frozenset(words(name))


@lru_cache(maxsize=10_000)
def _words_of_file(path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words(_telling_name(path))))


# Names that say nothing: the folder they lie in is what people call them.
_PLAIN_NAMES = frozenset({"mod", "lib", "index", "__init__", "init", "main", "__main__"})


def _telling_name(path: str) -> str:
    pure = PurePosixPath(path)
    stem = pure.name.split(".", 1)[0] or pure.name
    return pure.parent.name if stem in _PLAIN_NAMES and pure.parent.name else stem


def _similarity(word: str, question: Question) -> float:
    if word in question.words:
        return 1.0
    alike = len(word) >= 4 and any(
        len(asked) >= 4 and (asked.startswith(word) or word.startswith(asked))
        for asked in question.words
    )
    return 0.7 if alike else 0.0


_KIND_WEIGHTS = {
    "type": 1.0,
    "module": 1.0,
    "function": 0.6,
    "constant": 0.35,
    "implementation": 0.25,
}
_LONG_DEFINITION = 200  # lines; longer ones are no weightier


def weight_of(found: Definition, question: Question) -> float:
    """How much it says that the question names this definition, in [0, 1]."""
    length = min(found.end - found.start + 1, _LONG_DEFINITION)
    size = math.log(1 + length) / math.log(1 + _LONG_DEFINITION)
    return _KIND_WEIGHTS[found.kind] * size * _is_meant(found.name, question)


def _is_meant(name: str, question: Question) -> float:
    """1 if the question writes the name as a name, less for a word that is also a name."""
    if len(question.names) == 1:
        return 1.0
    written = [given for given in question.names if given.lower() == name.lower()]
    if any("_" in given.strip("_") or len(split_identifier(given)) > 1 for given in written):
        return 1.0
    return 0.7 if any(given == name and not given.islower() for given in written) else 0.3


class _PathClass:
    """Folders and file names of a class of files, and the words of a question about them."""

    __slots__ = ("asked", "folders", "names")

    def __init__(
        self, folders: frozenset[str], names: re.Pattern[str], asked: frozenset[str]
    ) -> None:
        self.folders = folders
        self.names = names
        self.asked = asked


def _stems(text: str) -> frozenset[str]:
    return frozenset(words(text))


_TEST = _PathClass(
    frozenset(
        "test tests __tests__ testing spec specs __mocks__ mock mocks fixture fixtures testdata "
        "e2e snapshots __snapshots__".split()
    ),
    re.compile(
        r"^(?:tests?|conftest)[_.\-]|^conftest$|[_.\-](?:tests?|specs?|mocks?)(?=\.|$)"
        r"|[a-z0-9](?:Tests?|Specs?|Mock)(?=\.)"
    ),
    _stems("test tests testing spec mock fixture assert assertion e2e snapshot pytest unittest"),
)
_EXAMPLE = _PathClass(
    frozenset(
        "example examples demo demos sample samples tutorial tutorials benchmark benchmarks "
        "bench docs_src playground".split()
    ),
    re.compile(r"^(?:example|demo|sample|bench(?:mark)?)s?[_.\-]|[_.\-](?:example|demo|bench)\."),
    _stems("example demo sample tutorial benchmark bench playground"),
)
_VENDORED = _PathClass(
    frozenset(
        "vendor vendored _vendor third_party third-party thirdparty 3rdparty external extern deps "
        "node_modules bundled dist".split()
    ),
    re.compile(r"\.min\.(?:js|css)$"),
    _stems("vendor vendored third party external bundled dist"),
)
_HISTORY = _PathClass(
    frozenset({"newsfragments", "changelog.d", "changelogs"}),
    re.compile(
        r"^(?:change(?:s|log)|history|news|releases?|release[_-]?notes|whats[_-]?new)(?=[_.\-]|$)",
        re.IGNORECASE,
    ),
    _stems("change changed changelog history release released version news"),
)
_DOCUMENT_WORDS = _stems(
    "document documents documentation docs readme guide manual tutorial changelog release notes "
    "install installation faq note paper article chapter"
)


def _is_prose(file: FileMatch) -> float:
    return float(file.document.kind == "prose")


def _is_of_class(kind: _PathClass, question: Question, path: str) -> float:
    return float(_matches(kind, path) and not kind.asked & question.words.keys())


@lru_cache(maxsize=10_000)
def _matches(kind: _PathClass, path: str) -> bool:
    pure = PurePosixPath(path)
    folders: Iterable[str] = (folder.lower() for folder in pure.parent.parts)
    return any(folder in kind.folders for folder in folders) or bool(kind.names.search(pure.name))
