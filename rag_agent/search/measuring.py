"""The signals of all candidates at once, in columns.

A signal that has no column here is measured as ``facts`` has it, file by file, which costs little
as long as it looks at nothing but the question, the path and the kind of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from rag_agent.search import lexical, of_paths
from rag_agent.search.columns import Candidates, Floats, Places
from rag_agent.search.definitions import weight_of, written_as_code
from rag_agent.search.facts import PLACES, Corpus, Facts
from rag_agent.search.names import OF_FUNCTION, OF_TYPE, Kinds, Names, Numbers
from rag_agent.search.of_paths import PathView
from rag_agent.search.path_classes import CLASSES, PathFacts
from rag_agent.search.question import Question
from rag_agent.search.signals import ASKED_FOR, DOCUMENT_WORDS, MEANING, SIGNALS, VERBATIM, WORDS
from rag_agent.search.verbatim import WHOLE
from rag_agent.tokens import words

if TYPE_CHECKING:
    from rag_agent.store import Outline
    from rag_agent.types import Kind

Columns = dict[str, Floats]


def scale(measured: Mapping[str, Floats]) -> Columns:
    """Signals on their scales; what is not known is NaN."""
    values = dict(measured)
    for signal in SIGNALS:
        if signal.scale and signal.key in values:
            values[signal.key] = _SCALES[signal.scale](values[signal.key])
    return values


def _by_maximum(values: Floats) -> Floats:
    highest = values.max(initial=0.0)
    return values / highest if highest > 0 else np.zeros(len(values))


def _from_median(values: Floats) -> Floats:
    known = np.sort(values[~np.isnan(values)])  # np.median() takes ten times as long
    middle, odd = divmod(len(known), 2)
    low, high = 0.0, 0.0
    if len(known):
        low, high = (known[middle - 1 + odd] + known[middle]) / 2, known[-1]
    if high <= low:
        return np.where(np.isnan(values), np.nan, 1.0)
    return np.clip((values - low) / (high - low), -0.5, 1.0)


_SCALES: Mapping[str, Callable[[Floats], Floats]] = {
    "maximum": _by_maximum,
    "median": _from_median,
}


def of_all(files: Candidates, corpus: Corpus) -> Columns:
    """What is known of every candidate without reading what its chunks define, not scaled yet."""
    chunks, shortness, plain, depth = np.array([facts.row for facts in files.facts]).T
    shares = corpus.languages
    verbatim = np.maximum.reduceat(files.verbatim, files.first)
    return {
        **_of_words(files, chunks),
        **_of_meaning(files),
        **_of_paths(files),
        **_of_classes(files),
        **_of_asked(files),
        "file name: short name": shortness,
        "kind of file: plain name": plain,
        "kind of file: depth": depth,
        f"{VERBATIM}: word for word": verbatim**3,
        f"{VERBATIM}: all of it": (verbatim > WHOLE).astype(np.float64),
        "folders: path": files.by_path,
        "commits: commits": files.commits,
        "links: link distance": files.near,
        "language: language of the project": np.array(
            [
                shares.get(head.document.language, 0.0) if head.document.kind == "code" else 0.0
                for head in files.heads
            ]
        ),
    }


class Read:
    """Some of the candidates with what their chunks are and define.

    ``files`` are their places among the candidates, without those of which nothing is left.
    ``outlines`` are of their chunks, ``file_of`` says to which of ``files`` each belongs, and
    ``first`` where those of each begin.
    """

    def __init__(self, candidates: Candidates, files: Places) -> None:
        self.candidates = candidates
        chunks = candidates.chunks_of(files)
        found = candidates.outlines(chunks)
        owners: Places = candidates.file_of[chunks]
        self.outlines: list[Outline] = [outline for outline in found if outline is not None]
        if len(self.outlines) < len(found):
            owners = owners[[outline is not None for outline in found]]
        begins = np.flatnonzero(np.diff(owners, prepend=-1))
        self.first: Places = begins
        self.files: Places = owners[begins]
        self.file_of: Places = np.repeat(
            np.arange(len(begins)), np.diff(begins, append=len(owners))
        )


def of_some(read: Read, corpus: Corpus, known: Collection[str]) -> Columns:
    """What is not ``known`` of these files yet, not scaled."""
    columns = _of_names(read)
    columns[f"{WORDS}: near each other"] = np.array(read.candidates.nearby(read.files))
    others = [signal for signal in SIGNALS if signal.key not in columns and signal.key not in known]
    views = [_view(read, place, corpus) for place in range(len(read.files))] if others else []
    for signal in others:
        values = [signal.measure(cast(Facts, view)) for view in views]
        columns[signal.key] = np.array(
            [np.nan if value is None else value for value in values], dtype=np.float64
        )
    return columns


def _of_words(files: Candidates, chunks: Floats) -> Columns:
    sizes = np.maximum(files.sizes, chunks)
    best, three, _ = files.best(files.passages, files.file_of_passage, PLACES)
    best_chunk, three_chunks, _ = files.best(files.bm25, files.file_of, PLACES)
    counts = np.add.reduceat(files.counts, files.first)
    chunk = lexical.PASSAGES_OF_CHUNK * files.average
    whole = files.bm25_of(
        counts, sizes * chunk, lexical.CHUNKS_OF_FILE * chunk, lexical.LENGTH_OF_FILE
    )
    found = np.bincount(files.file_of_passage, minlength=len(files))
    return {
        f"{WORDS}: best passage": best,
        f"{WORDS}: best passages": three,
        f"{WORDS}: strength": best / files.question.most,
        f"{WORDS}: best chunk": best_chunk,
        f"{WORDS}: best chunks": three_chunks,
        f"{WORDS}: whole file": whole,
        f"{WORDS}: words in file": files.coverage(counts),
        f"{WORDS}: words in chunk": np.maximum.reduceat(files.coverage(files.counts), files.first),
        f"{WORDS}: words in passage": np.maximum.reduceat(files.covered, files.first),
        f"{WORDS}: passages": np.log1p(found) / 4,
        "size: chunks": np.log1p(sizes) / 5,
        "size: one chunk": (sizes <= 1).astype(np.float64),
    }


def _of_meaning(files: Candidates) -> Columns:
    known = ~np.isnan(files.cosines)
    best, three, count = files.best(files.cosines[known], files.file_of[known], PLACES)
    is_known = count > 0
    return {
        f"{MEANING}: best chunk's meaning": np.where(is_known, best, np.nan),
        f"{MEANING}: best chunks' meaning": np.where(
            is_known, three / np.maximum(count, 1), np.nan
        ),
        f"{MEANING}: summary's meaning": files.cards,
    }


class _View(PathView):
    """A file as other signals see it: its ``Facts`` are gathered when one looks at them."""

    __slots__ = ("_facts", "_gather")

    def __init__(
        self, question: Question, path: PathFacts, kind: Kind, gather: Callable[[], Facts]
    ) -> None:
        super().__init__(question, path, kind)
        self._gather = gather
        self._facts: Facts | None = None

    def __getattr__(self, name: str) -> Any:
        if self._facts is None:
            self._facts = self._gather()
        return getattr(self._facts, name)


def _view(read: Read, place: int, corpus: Corpus) -> _View:
    files = read.candidates
    number = int(read.files[place])
    facts = files.facts[number]
    return _View(
        files.question,
        facts.path,
        facts.kind,
        lambda: Facts(files.question, files[number], corpus),
    )


def _rows(keys: Sequence[str]) -> dict[str, Callable[[Any], float | None]]:
    return {signal.key: signal.measure for signal in SIGNALS if signal.key in keys}


# The same for all files of one kind whose paths are in the same classes.
_OF_CLASSES = _rows(
    [
        *(f"{part}: {name}" for name in CLASSES for part in (name, "kind of file")),
        *(f"{ASKED_FOR}: {name}" for name in CLASSES),
        "document: document",
        f"{ASKED_FOR}: document",
        "kind of file: data",
    ]
)


def _of_paths(files: Candidates) -> Columns:
    rows = [of_paths.row_of(files.question, facts) for facts in files.facts]
    return dict(zip(of_paths.KEYS, np.array(rows, dtype=np.float64).T, strict=True))


# Whatever else a question says, it tells the same of all files of one kind and the same classes.
_ASKED = DOCUMENT_WORDS.union(*(kind.asked for kind in CLASSES.values()))


def _of_classes(files: Candidates) -> Columns:
    asked = _ASKED.intersection(files.question.words)
    groups: dict[tuple[tuple[str, ...], Kind], int] = {}  # of which there are few
    places = [groups.setdefault(facts.group, len(groups)) for facts in files.facts]
    rows = [_row_of_classes(classes, kind, asked) for classes, kind in groups]
    table = np.array(rows, dtype=np.float64)[places]
    return {key: table[:, number] for number, key in enumerate(_OF_CLASSES)}


@lru_cache(maxsize=10_000)
def _row_of_classes(
    classes: tuple[str, ...], kind: Kind, asked: frozenset[str]
) -> tuple[float, ...]:
    words = dict.fromkeys(asked, 1.0)
    view = PathView(Question("", words, words), cast(PathFacts, _Classes(classes)), kind)
    return tuple(measure(view) or 0.0 for measure in _OF_CLASSES.values())


class _Classes(NamedTuple):
    classes: tuple[str, ...]


def _of_asked(files: Candidates) -> Columns:
    """Of definitions whose names stand in the question."""
    question, count = files.question, len(files)
    highest, sums, as_code = np.zeros(count), np.zeros(count), np.zeros(count)
    ids = files.ids.tolist() if files.asked else []
    for file, identifier in zip(files.file_of.tolist(), ids, strict=False):
        for found in files.asked.get(identifier, ()):
            weight = weight_of(found, question)
            highest[file] = max(highest[file], weight)
            sums[file] += weight
            as_code[file] = max(as_code[file], float(written_as_code(found.name)))
    sought = np.where(highest > 0, (1 + highest) / 2, 0.0)
    return {
        "definition: definition": highest,
        "definition: definitions": np.minimum(sums, 3.0) / 3,
        "definition: written as code": as_code,
        "definition: sought": sought if len(question.names) == 1 else np.zeros(count),
    }


def _of_names(read: Read) -> Columns:
    """Of all defined names, and of headings."""
    question, names, count = read.candidates.question, read.candidates.names, len(read.files)
    known = [outline.words or _words_of(outline, names) for outline in read.outlines]
    in_headings = np.zeros(count)
    asked = question.gains.keys()
    for place in [n for n, (_, _, heading) in enumerate(known) if not asked.isdisjoint(heading)]:
        file, covered = read.file_of[place], question.coverage(known[place][2])
        in_headings[file] = max(in_headings[file], covered)
    counts = np.array([len(numbers) for numbers, _, _ in known])
    owners = np.repeat(read.file_of, counts)
    kinds = np.concatenate([kinds for _, kinds, _ in known])
    alike, whole, has = names.likeness(
        question, np.concatenate([numbers for numbers, _, _ in known])
    )
    best, of_types, of_functions, wholes = np.zeros((4, count))
    best_of_chunk = np.zeros(len(known))
    found = np.zeros((count, has.shape[1]), dtype=np.bool_)
    sharing = np.flatnonzero(alike)
    chunks = np.repeat(np.arange(len(known)), counts)[sharing]
    owners, kinds, alike = owners[sharing], kinds[sharing], alike[sharing]
    np.maximum.at(best_of_chunk, chunks, alike)
    ids = [outline.id for outline in read.outlines]
    read.candidates.alike.update(zip(ids, best_of_chunk.tolist(), strict=True))
    np.maximum.at(best, owners, alike)
    np.maximum.at(of_types, owners, np.where(kinds == OF_TYPE, alike, 0.0))
    np.maximum.at(of_functions, owners, np.where(kinds == OF_FUNCTION, alike, 0.0))
    np.maximum.at(wholes, owners, whole[sharing])
    np.logical_or.at(found, owners, has[sharing])
    defined = np.add.reduceat(counts, read.first)
    return {
        "defined names: best name": best,
        "defined names: whole name": wholes,
        "defined names: type": of_types,
        "defined names: function": of_functions,
        "defined names: question in names": read.candidates.coverage(found),
        "defined names: headings": in_headings,
        "size: definitions": np.log1p(defined) / 5,
        "size: no definitions": (defined == 0).astype(np.float64),
    }


def _words_of(outline: Outline, names: Names) -> tuple[Numbers, Kinds, Set[str]]:
    """The names that a chunk defines, and the words of its heading."""
    heading = frozenset(words(outline.chunk.heading))
    outline.words = (*names.numbers(outline.chunk.definitions), heading)
    return outline.words
