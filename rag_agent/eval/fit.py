"""Fit the weights of the ranking signals to labelled questions.

A linear model puts each file that answers above the hardest others (softmax, ridge), with vectors
and without, in three steps:

1. Questions that code answers teach the weights of code, among code alone.
2. Questions that documents answer teach the weights of documents, among documents alone.
3. Where an index was asked questions of both kinds, they teach how high documents stand among code.

Questions that code answers can teach nothing of documents but that they are in the way, and
collections of documents have no code. What no question teaches stays as it is in
``search/weights.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rag_agent.errors import QueryError
from rag_agent.eval.judging import KEYS, Judged, usable
from rag_agent.eval.softmax import Lesson, learn
from rag_agent.search.fusion import MEANINGS
from rag_agent.search.signals import ASKED_FOR, MEANING, SIGNALS, WORDS
from rag_agent.search.weights import HYBRID, WORDS_ONLY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Row = tuple[float, float, float]
Table = Mapping[str, Row]
Shares = Mapping[str, float]
"""How much a collection counts, by name; 1 if it is not among them, whatever its size."""

RIDGE = 5e-4  # of the mean loss of a question; ten times less or more costs 0.002 NDCG@10

# What is set by hand, in units of the blend. Who pastes a piece of a file wants that file, which
# labelled questions hardly ever do (benchmarks/lookups.py has such). Who writes a file's name with
# its ending means that file, but for long texts, which have such names in traces; who asks for
# nothing but a name wants its definition. None stays as it is: fixes change tests and examples and
# are seldom labelled with them, so those of them that a question asks for would learn the distrust
# that is due to others.
DOCUMENT, DOCUMENT_ASKED = "document: document", f"{ASKED_FOR}: document"
FIXED: Mapping[str, Row | None] = {
    "verbatim: word for word": (1.6, 0.0, 1.6),
    "verbatim: all of it": (1.0, 0.0, 1.0),
    "file name: with its ending": (0.2, -0.2, 0.2),
    "definition: sought": (1.0, 0.0, 0.0),
} | {key: None for key in KEYS if key.startswith(f"{ASKED_FOR}: ") and key != DOCUMENT_ASKED}

# What collections of documents teach. What they taught of the other signals of documents (names as
# they are written, kinds of files) did not hold on collections that were left out.
TAUGHT_OF_PROSE = (
    "words: best passage",
    "words: strength",
    "words: best chunk",
    "words: words in chunk",
    "words: words in passage",
    "words: near each other",
    *MEANINGS,
    "file name: name covered",
    "defined names: headings",
    "defined names: title",
)


@dataclass(frozen=True, slots=True)
class _Way:
    """How to learn with vectors, or without.

    ``ridge`` pulls the weights of documents to any multiple of each of ``blends``. A question that
    code answers counts ``times`` as much as one that documents answer where both have a say.
    """

    ridge: float
    blends: tuple[Mapping[str, float], ...]
    times: float


# Collections of documents are few and unlike each other. With vectors the plain blend of words and
# meaning is hard to beat on one that was left out; by words alone BM25 is not.
# Who asks about a project mostly asks for code. So often counted, messages of fixes lose up to
# 0.005 of NDCG@10 to the documents, and messages of changes of documents have three quarters of
# what they can have (0.54 of 0.68); counted once, fixes lose 0.05. By words alone, which tell the
# two less well from each other, documents are that dear at half of this height.
_WAYS = {
    "hybrid": _Way(
        0.03,
        (
            {"words: best passage": 0.4},
            {"meaning: best chunk's meaning": 0.4, "meaning: summary's meaning": 0.2},
            {"words: near each other": 0.2},
        ),
        times=10.0,
    ),
    "words": _Way(0.001, (), times=20.0),
}
_FREE = 10.0  # times larger features are pulled a hundred times less
_LEVEL_RIDGE = 1e-4  # of four weights, so that they stay finite

_BLEND = np.array([signal.part in (WORDS, MEANING) for signal in SIGNALS])


def fit(judged: Sequence[Judged], *, words: bool = False, shares: Shares | None = None) -> Table:
    """The weights of each signal: in code for short questions, more for long ones; in prose.

    With ``words`` meaning is left out.

    Raises:
        QueryError: there is nothing to fit to, or what there is says that words mean nothing.
    """
    rows = fit_weights(judged, words=words, shares=shares or {}).T
    return {
        key: (round(float(row[0]), 4), round(float(row[1]), 4), round(float(row[2]), 4))
        for key, row in zip(KEYS, rows, strict=True)
    }


def fit_weights(judged: Sequence[Judged], *, words: bool, shares: Shares) -> Array:
    """The same, of shape (3, signals): in units of the blend of words and meaning in code.

    Raises:
        QueryError: as ``fit``.
    """
    if not usable(judged, words):
        raise QueryError("no question is left to fit weights to; give more of them")
    weights = present(words)
    weights[:2] = _of_code(judged, words, shares, weights)
    weights[2] = _of_prose(judged, words, shares, weights)
    return _at_its_level(judged, words, shares, weights)


def present(words: bool) -> Array:
    """The weights in use, of shape (3, signals)."""
    table = WORDS_ONLY if words else HYBRID
    weights: Array = np.array([table.get(key, (0.0, 0.0, 0.0)) for key in KEYS]).T
    return weights


def teaching(judged: Sequence[Judged], *, words: bool, documents: bool) -> list[Judged]:
    """Questions that teach of documents, or else of code, with their candidates of that kind."""
    return usable(
        [_only(one, prose=documents) for one in judged if one.about_documents == documents], words
    )


def of_both_kinds(judged: Sequence[Judged]) -> list[Judged]:
    """Those about an index that both code and documents answer questions about."""
    kinds: dict[str, set[bool]] = {}
    for one in judged:
        kinds.setdefault(one.index, set()).add(one.about_documents)
    return [one for one in judged if len(kinds[one.index]) > 1]


def scores(one: Judged, weights: Array) -> Array:
    """What the weights say of each candidate."""
    code, prose = one.values @ (weights[0] + weights[1] * one.length), one.values @ weights[2]
    gained: Array = np.where(one.prose > 0, prose, code)
    return gained


def _of_code(judged: Sequence[Judged], words: bool, shares: Shares, weights: Array) -> Array:
    taught = np.array([not FIXED.get(key) and not (words and key in MEANINGS) for key in KEYS])
    asked = teaching(judged, words=words, documents=False)
    if not asked:
        return weights[:2]
    lessons = [
        _lesson(np.hstack([one.values[:, taught], one.values[:, taught] * one.length]), one, share)
        for one, share in zip(asked, _shares(asked, shares), strict=True)
    ]
    found = learn(lessons, RIDGE, weights[:2, taught].reshape(-1))
    code: Array = np.zeros_like(weights[:2])
    code[:, taught] = found.reshape(2, -1)
    unit = code[0, _BLEND].sum()
    if not unit > 0:
        raise QueryError("by these questions neither words nor meaning find anything; give others")
    code /= unit
    for place, key in enumerate(KEYS):  # what stays was learned, so that nothing made up for it
        if key in FIXED:
            code[:, place] = (FIXED[key] or weights[:, place])[:2]
    return code


def _of_prose(judged: Sequence[Judged], words: bool, shares: Shares, weights: Array) -> Array:
    """The blend in it keeps the size that it has."""
    taught = [key for key in TAUGHT_OF_PROSE if not (words and key in MEANINGS)]
    places = [KEYS.index(key) for key in taught]
    way = _WAYS["words" if words else "hybrid"]
    blends = np.array([[blend.get(key, 0.0) for key in taught] for blend in way.blends])
    basis = np.vstack([np.eye(len(taught)), _FREE * blends.reshape(-1, len(taught))])
    asked = teaching(judged, words=words, documents=True)
    prose: Array = weights[2]
    if not asked:
        return prose
    lessons = [
        _lesson(one.values[:, places] @ basis.T, one, share)
        for one, share in zip(asked, _shares(asked, shares), strict=True)
    ]
    start = np.pad(prose[places], (0, len(blends)))
    prose = np.zeros_like(prose)
    prose[places] = learn(lessons, way.ridge, start) @ basis
    unit = prose[_BLEND].sum()
    if not unit > 0:
        raise QueryError("by these questions neither words nor meaning find anything; give others")
    prose *= weights[2, _BLEND].sum() / unit
    for place, key in enumerate(KEYS):
        if key in FIXED or key in (DOCUMENT, DOCUMENT_ASKED):
            prose[place] = (FIXED.get(key) or weights[:, place])[2]
    return prose


def _at_its_level(judged: Sequence[Judged], words: bool, shares: Shares, weights: Array) -> Array:
    """The weights with documents where questions of both kinds about one index have them."""
    asked = of_both_kinds(usable(judged, words))
    counts = _shares(asked, shares)
    of_kind = {
        kind: sum(n for n, one in zip(counts, asked, strict=True) if one.about_documents == kind)
        for kind in (False, True)
    }
    if not all(of_kind.values()):
        return weights
    levels = [KEYS.index(DOCUMENT), KEYS.index(DOCUMENT_ASKED)]
    known, shape = weights.copy(), weights[2].copy()
    known[2] = np.where([key in FIXED for key in KEYS], weights[2], 0.0)
    shape -= known[2]
    shape[levels] = 0
    lessons = []
    for one, count in zip(asked, counts, strict=True):
        prose = one.prose[:, None] * np.column_stack([one.values @ shape, one.values[:, levels]])
        times = 1.0 if one.about_documents else _WAYS["words" if words else "hybrid"].times
        share = times * count / of_kind[one.about_documents]
        lessons.append(_lesson(np.column_stack([scores(one, known), prose]), one, share))
    found = learn(lessons, _LEVEL_RIDGE, np.array([1.0, 1.0, *weights[2, levels]]))
    if not (found[0] > 0 and found[1] > 0):
        raise QueryError(
            "by these questions documents cannot be told from code; give others, or those of one "
            "kind alone"
        )
    raised: Array = weights.copy()
    raised[2] = known[2] + shape * found[1] / found[0]
    raised[2, levels] = found[2:] / found[0]
    return raised


def _only(one: Judged, *, prose: bool) -> Judged:
    kept = (one.prose > 0) == prose
    return replace(
        one,
        paths=tuple(path for path, keep in zip(one.paths, kept, strict=True) if keep),
        values=one.values[kept],
        prose=one.prose[kept],
        relevant=one.relevant[kept],
    )


def _lesson(features: Array, one: Judged, share: float) -> Lesson:
    return Lesson(features.astype(np.float32), one.relevant, share)


def _shares(judged: Sequence[Judged], shares: Shares) -> list[float]:
    """How much each question counts: all of a collection together its share."""
    sizes = Counter(one.collection for one in judged)
    return [shares.get(one.collection, 1.0) / sizes[one.collection] for one in judged]
