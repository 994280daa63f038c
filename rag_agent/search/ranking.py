"""Scores of all candidates at once: ``fusion.score`` with arrays in the place of loops.

Both give the same numbers. This one takes numpy, which a hook has no time to load. A signal that
has no column here is measured as there, file by file, which costs little as long as it looks at
nothing but the question, the path and the kind of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rag_agent.search import fusion, lexical
from rag_agent.search.columns import Candidates, Floats
from rag_agent.search.definitions import weight_of, written_as_code
from rag_agent.search.facts import PLACES, Corpus, Facts
from rag_agent.search.names import OF_FUNCTION, OF_TYPE, Kinds, Names, Numbers
from rag_agent.search.path_classes import CLASSES, PathFacts, path_facts
from rag_agent.search.question import ALIKE
from rag_agent.search.signals import MEANING, PARTS, SIGNALS, WORDS
from rag_agent.search.weights import HYBRID, WORDS_ONLY
from rag_agent.tokens import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_agent.search.question import Question
    from rag_agent.store import Outline
    from rag_agent.types import Kind

    Columns = dict[str, Floats]


def score(files: Candidates, alpha: float, corpus: Corpus) -> tuple[list[str], Floats]:
    """The names of the parts of a score, and what each gives to each file: (parts, files)."""
    names = list(PARTS)
    parts = np.zeros((len(names), len(files)))
    if not len(files):
        return names, parts
    values = scaled(files, corpus)
    is_hybrid = any(not np.isnan(values[key]).all() for key in fusion.MEANINGS)
    if is_hybrid:
        _stand_in(values)
    factors = fusion.factors_of(alpha, is_hybrid)
    table = (HYBRID if is_hybrid else WORDS_ONLY) | fusion.GIVEN
    used = [signal for signal in SIGNALS if signal.key in table]
    weights = np.array([table[signal.key] for signal in used])
    factor = np.array([factors[signal.part] for signal in used])
    in_code = (weights[:, 0] + weights[:, 1] * files.question.length) * factor
    in_prose = weights[:, 2] * factor
    is_prose = np.array([head.document.kind == "prose" for head in files.heads])
    gains = np.array([values[signal.key] for signal in used])
    gains *= np.where(is_prose, in_prose[:, np.newaxis], in_code[:, np.newaxis])
    np.add.at(parts, [names.index(signal.part) for signal in used], gains)
    return names, parts


def scaled(files: Candidates, corpus: Corpus) -> Columns:
    """As ``fusion.scaled``; what is not known is NaN."""
    measured = _measured(files, corpus)
    return {signal.key: _SCALES[signal.scale](measured[signal.key]) for signal in SIGNALS}


def _stand_in(values: Columns) -> None:
    """As ``fusion.stand_in``."""
    card, found = values[fusion.OF_CARD], values[fusion.STANDS_FOR_MEANING]
    guess = np.where(np.isnan(card), found, fusion.CARD * card + (1 - fusion.CARD) * found)
    for key in fusion.MEANINGS:
        values[key] = np.where(np.isnan(values[key]), guess, values[key])


def _as_it_is(values: Floats) -> Floats:
    return values


def _by_maximum(values: Floats) -> Floats:
    highest = values.max()
    return values / highest if highest > 0 else np.zeros(len(values))


def _from_median(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    low, high = (np.median(known), known.max()) if len(known) else (0.0, 0.0)
    if high <= low:
        return np.where(np.isnan(values), np.nan, 1.0)
    return np.clip((values - low) / (high - low), -0.5, 1.0)


_SCALES: Mapping[str, Callable[[Floats], Floats]] = {
    "": _as_it_is,
    "maximum": _by_maximum,
    "median": _from_median,
}


def _measured(files: Candidates, corpus: Corpus) -> Columns:
    """Every signal of every file, not scaled yet."""
    columns = _columns(files, corpus)
    others = [signal for signal in SIGNALS if signal.key not in columns]
    views = [_view(files, place, corpus) for place in range(len(files))] if others else []
    for signal in others:
        values = [signal.measure(cast(Facts, view)) for view in views]
        columns[signal.key] = np.array(
            [np.nan if value is None else value for value in values], dtype=np.float64
        )
    return columns


def _columns(files: Candidates, corpus: Corpus) -> Columns:
    paths = [path_facts(head.document.path) for head in files.heads]
    documents = [head.document for head in files.heads]
    return {
        **_of_words(files),
        **_of_meaning(files),
        **_of_paths(files, paths),
        **_of_classes(files, paths),
        **_of_asked(files),
        **_of_names(files),
        "folders: path": files.by_path,
        "commits: commits": files.commits,
        "links: link distance": files.near,
        "language: language of the project": np.array(
            [
                corpus.languages.get(document.language, 0.0) if document.kind == "code" else 0.0
                for document in documents
            ]
        ),
    }


def _of_words(files: Candidates) -> Columns:
    sizes = np.maximum(files.sizes, [head.document.chunks for head in files.heads])
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


class _View:
    """A file as signals see it: the rest of its ``Facts`` is gathered when one looks at it."""

    __slots__ = ("_facts", "_gather", "kind", "path", "question")

    def __init__(
        self,
        question: Question,
        path: PathFacts,
        kind: Kind,
        gather: Callable[[], Facts] | None = None,
    ) -> None:
        self.question = question
        self.path = path
        self.kind = kind
        self._gather = gather
        self._facts: Facts | None = None

    def __getattr__(self, name: str) -> Any:
        if self._gather is None:
            raise AttributeError(f"this signal cannot be had without {name}")
        if self._facts is None:
            self._facts = self._gather()
        return getattr(self._facts, name)


def _view(files: Candidates, place: int, corpus: Corpus) -> _View:
    document = files.heads[place].document
    return _View(
        files.question,
        path_facts(document.path),
        document.kind,
        lambda: Facts(files.question, files[place], corpus),
    )


def _rows(keys: Sequence[str]) -> dict[str, Callable[[Any], float | None]]:
    return {signal.key: signal.measure for signal in SIGNALS if signal.key in keys}


# Nothing but 0 for a path that shares no word with the question, as most do not.
_SHARED = _rows(
    [
        "file name: name covered",
        "file name: whole name",
        "file name: question in name",
        "file name: rarest word",
        "folders: nearest folder",
        "folders: all folders",
        "folders: question in folders",
        "folders: question in path",
    ]
)
_WRITTEN = _rows(["file name: as written", "file name: with its ending"])
# The same for all files of one kind whose paths are in the same classes.
_OF_CLASSES = _rows(
    [
        *(f"{part}: {name}" for name in CLASSES for part in (name, "kind of file")),
        *(f"kind of file: {name}, asked for" for name in CLASSES),
        "document: document",
        "kind of file: document, asked for",
        "kind of file: data",
    ]
)


def _of_paths(files: Candidates, paths: Sequence[PathFacts]) -> Columns:
    question = files.question
    views = [
        _View(question, path, head.document.kind)
        for path, head in zip(paths, files.heads, strict=True)
    ]
    sharing = [place for place, path in enumerate(paths) if question.shares(*_beginnings(path))]
    columns = {}
    for key, measure in _SHARED.items():
        columns[key] = np.zeros(len(files))
        columns[key][sharing] = [measure(views[place]) for place in sharing]
    for key, measure in _WRITTEN.items():
        columns[key] = np.array([measure(view) for view in views], dtype=np.float64)
    return {
        **columns,
        "file name: short name": np.array([1 / max(1, len(path.name)) for path in paths]),
        "kind of file: plain name": np.array([float(path.is_plain) for path in paths]),
        "kind of file: depth": np.array([min(path.depth, 8) / 8 for path in paths]),
    }


@lru_cache(maxsize=20_000)
def _beginnings(path: PathFacts) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a path, and what those begin with that are compared by their beginnings."""
    found = path.words.union(path.name, path.folder, path.folders)
    return found, frozenset(word[:ALIKE] for word in found if len(word) >= ALIKE)


def _of_classes(files: Candidates, paths: Sequence[PathFacts]) -> Columns:
    known: dict[tuple[object, str], int] = {}
    places: list[int] = []
    rows: list[list[float | None]] = []
    for path, head in zip(paths, files.heads, strict=True):
        kind = head.document.kind
        place = known.get((path.classes, kind))
        if place is None:
            place = known[path.classes, kind] = len(rows)
            view = _View(files.question, path, kind)
            rows.append([measure(view) for measure in _OF_CLASSES.values()])
        places.append(place)
    table = np.array(rows, dtype=np.float64)[places]
    return {key: table[:, number] for number, key in enumerate(_OF_CLASSES)}


def _of_asked(files: Candidates) -> Columns:
    """Of definitions whose names stand in the question."""
    question, count = files.question, len(files)
    highest, sums, as_code = np.zeros(count), np.zeros(count), np.zeros(count)
    for place in [n for n, outline in enumerate(files.outlines) if outline.id in files.asked]:
        for found in files.asked[files.outlines[place].id]:
            file, weight = files.file_of[place], weight_of(found, question)
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


def _of_names(files: Candidates) -> Columns:
    """Of all defined names, and of headings."""
    question = files.question
    known = [outline.words or _words_of(outline, files.names) for outline in files.outlines]
    in_headings = np.zeros(len(files))
    asked = question.gains.keys()
    for place in [n for n, (_, _, heading) in enumerate(known) if not asked.isdisjoint(heading)]:
        file, covered = files.file_of[place], question.coverage(known[place][2])
        in_headings[file] = max(in_headings[file], covered)
    counts = np.array([len(numbers) for numbers, _, _ in known])
    owners = np.repeat(files.file_of, counts)
    kinds = np.concatenate([kinds for _, kinds, _ in known])
    alike, whole, has = files.names.likeness(
        question, np.concatenate([numbers for numbers, _, _ in known])
    )
    best, of_types, of_functions, wholes = np.zeros((4, len(files)))
    found = np.zeros((len(files), has.shape[1]), dtype=np.bool_)
    sharing = np.flatnonzero(alike)
    owners, kinds, alike = owners[sharing], kinds[sharing], alike[sharing]
    np.maximum.at(best, owners, alike)
    np.maximum.at(of_types, owners, np.where(kinds == OF_TYPE, alike, 0.0))
    np.maximum.at(of_functions, owners, np.where(kinds == OF_FUNCTION, alike, 0.0))
    np.maximum.at(wholes, owners, whole[sharing])
    np.logical_or.at(found, owners, has[sharing])
    defined = np.add.reduceat(counts, files.first)
    return {
        "defined names: best name": best,
        "defined names: whole name": wholes,
        "defined names: type": of_types,
        "defined names: function": of_functions,
        "defined names: question in names": files.coverage(found),
        "defined names: headings": in_headings,
        "size: definitions": np.log1p(defined) / 5,
        "size: no definitions": (defined == 0).astype(np.float64),
    }


def _words_of(outline: Outline, names: Names) -> tuple[Numbers, Kinds, Set[str]]:
    """The names that a chunk defines, and the words of its heading."""
    heading = frozenset(words(outline.chunk.heading))
    outline.words = (*names.numbers(outline.chunk.definitions), heading)
    return outline.words
