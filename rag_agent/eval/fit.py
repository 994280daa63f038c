"""Fit the weights of the ranking signals to labelled questions.

For each question the candidates of its index are found and measured as a search would; a linear
model puts each relevant file above the hardest others (softmax, ridge). Weights depend on how long
the question is and on whether a file is prose; with vectors and without there is a table each.
Cross-validation leaves out whole repositories: figures on those that were fitted flatter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_agent.errors import QueryError
from rag_agent.eval.measures import ndcg, recall
from rag_agent.eval.naming import prefix_below, renaming
from rag_agent.eval.softmax import minimise
from rag_agent.eval.topics import Topic
from rag_agent.progress import Progress, Report, silent
from rag_agent.search.candidates import find_candidates
from rag_agent.search.dense import read_meaning
from rag_agent.search.facts import Facts, corpus_of
from rag_agent.search.fusion import MEANINGS, scaled, stand_in
from rag_agent.search.question import read_question
from rag_agent.search.signals import MEANING, OF_PROSE, SIGNALS, WORDS
from rag_agent.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rag_agent.types import Embedder

    Array = NDArray[np.float64]

KEYS = tuple(signal.key for signal in SIGNALS)
RIDGE = 5e-4  # of the mean loss of a question; ten times less or more costs 0.002 NDCG@10
HARDEST = 40  # files that a relevant one is compared with
FOLDS = 8
_ROUNDS = 3  # the hardest files depend on the weights

Table = Mapping[str, tuple[float, float, float]]

# What is not left to labels, in units of the blend. Who writes a file's name with its ending means
# that file, but for long texts, which have such names in traces; who asks for nothing but a name
# wants its definition.
FIXED: Table = {
    "file name: with its ending": (0.2, -0.2, 0.2),
    "definition: sought": (1.0, 0.0, 0.0),
}


@dataclass(frozen=True)
class Judged:
    """A question with the values of its candidates, of shape (files, signals).

    ``relevant`` marks candidates that answer, ``wanted`` counts all files that do.
    """

    collection: str
    repo: str
    language: str
    length: float
    paths: tuple[str, ...]
    values: Array
    prose: Array
    relevant: NDArray[np.bool_]
    wanted: int
    hybrid: bool


def judge(
    topics: Sequence[Topic],
    stores: Path,
    embedder: Embedder | None,
    report: Report = silent,
) -> Iterator[Judged]:
    """Every labelled question put to the index of its repository, ``stores/<repo>/rag.db``.

    Questions whose repository has no index there are left out; without ``embedder``, or where an
    index lacks vectors, words alone are measured.
    """
    by_repo: dict[str, list[Topic]] = {}
    for topic in topics:
        if topic.relevant and _has_index(stores / topic.repo):
            by_repo.setdefault(topic.repo, []).append(topic)
    total, done = sum(map(len, by_repo.values())), 0
    for repo, asked in sorted(by_repo.items()):
        with Store.open(stores / repo / "rag.db", readonly=True) as store:
            root = Path(store.roots()[0].path)
            rename = renaming([root], prefix_below(root, repo))
            reader = _with_all_vectors(store, embedder)
            for topic in asked:
                report(Progress("answer", done, total, topic.id))
                yield _judged(store, reader, topic, rename)
                done += 1
    report(Progress("answer", total, total))


def _has_index(folder: Path) -> bool:
    try:
        return (folder / "rag.db").is_file()
    except OSError:  # a repository's name that is no name of a folder
        return False


def _with_all_vectors(store: Store, embedder: Embedder | None) -> Embedder | None:
    model = store.find_model(embedder.fingerprint) if embedder else None
    return embedder if model is not None and not store.count_pending(model) else None


def _judged(store: Store, embedder: Embedder | None, topic: Topic, rename: object) -> Judged:
    assert callable(rename)
    question, _ = read_question(store, topic.query)
    reading = read_meaning(store, embedder, question.text)
    with store.snapshot():
        files = find_candidates(store, question, reading, None)
        corpus = corpus_of(store)
    facts = [Facts(question, file, corpus) for file in files]
    values = scaled(facts)
    hybrid = reading.result()[0] is not None
    if hybrid:
        stand_in(values, len(files))
    table = np.array([[value or 0.0 for value in values[key]] for key in KEYS], np.float64)
    labels = {place.path for place in topic.relevant}
    paths = tuple(str(rename(file.document.path)) for file in files)
    return Judged(
        collection=topic.collection,
        repo=topic.repo,
        language=topic.language,
        length=question.length,
        paths=paths,
        values=table.T,
        prose=np.array([float(one.kind == "prose") for one in facts]),
        relevant=np.array([path in labels for path in paths], bool),
        wanted=len(labels),
        hybrid=hybrid,
    )


def fit(judged: Sequence[Judged], *, words: bool = False, ridge: float = RIDGE) -> Table:
    """The weights of each signal: in code for short questions, more for long ones; in prose.

    Collections weigh the same whatever their size. With ``words`` meaning is left out.

    Raises:
        QueryError: there is nothing to fit to, or what there is says that words mean nothing.
    """
    return _table(_with_fixed(_fitted(judged, words, ridge)))


def cross_validate(
    judged: Sequence[Judged], *, words: bool = False, ridge: float = RIDGE, folds: int = FOLDS
) -> dict[str, dict[str, float]]:
    """By collection ``{"ndcg10", "ndcg10_macro", "recall10", "n"}`` with repositories left out.

    The document sets have one repository each and are split by question.

    Raises:
        QueryError: as ``fit``, where one part is left out.
    """
    single = {c for c in {j.collection for j in judged} if _repositories(judged, c) < folds}
    fold_of = [
        _draw(one.repo if one.collection not in single else f"{one.repo}{number}", folds)
        for number, one in enumerate(judged)
    ]
    ranked: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for fold in range(folds):
        others = [one for one, own in zip(judged, fold_of, strict=True) if own != fold]
        weights = _with_fixed(_fitted(others, words, ridge))
        for one, own in zip(judged, fold_of, strict=True):
            if own == fold:
                by_repo = ranked.setdefault(one.collection, {})
                by_repo.setdefault(one.repo, []).append(_measured(one, weights, words))
    return {name: _means(by_repo) for name, by_repo in sorted(ranked.items())}


def usable(judged: Sequence[Judged], words: bool) -> list[Judged]:
    """Those that weights can be fitted to: they found a file that answers, and one that does not.

    Without ``words`` only those by meaning as well.
    """
    both = [one for one in judged if one.relevant.any() and not one.relevant.all()]
    return both if words else [one for one in both if one.hybrid]


def write_tables(hybrid: Table, words_only: Table) -> str:
    """The source of ``search/weights.py``."""
    return "\n".join(
        [_HEAD, *_written("HYBRID", hybrid), "", *_written("WORDS_ONLY", words_only), ""]
    )


def _repositories(judged: Sequence[Judged], collection: str) -> int:
    return len({one.repo for one in judged if one.collection == collection})


def _draw(name: str, folds: int) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % folds


def _features(one: Judged, words: bool) -> Array:
    values = one.values
    if words:
        values = values * np.array([key not in MEANINGS for key in KEYS])
    code, prose = 1 - one.prose[:, None], one.prose[:, None] * np.isin(KEYS, [*OF_PROSE])
    return np.hstack([values * code, values * code * one.length, values * prose])


def _left_to_labels() -> Array:
    return np.array([float(key not in FIXED) for key in KEYS] * 3)


def _with_fixed(weights: Array) -> Array:
    fixed = np.array([FIXED.get(key, (0.0, 0.0, 0.0)) for key in KEYS]).T.reshape(-1)
    whole: Array = weights + fixed * _unit(weights)
    return whole


def _fitted(judged: Sequence[Judged], words: bool, ridge: float) -> Array:
    sizes: dict[str, int] = {}
    for one in judged:
        sizes[one.collection] = sizes.get(one.collection, 0) + 1
    fitted = usable(judged, words)
    if not fitted:
        raise QueryError("no question is left to fit weights to; give more of them")
    left = _left_to_labels()
    features = [_features(one, words) * left for one in fitted]
    weights = np.zeros(3 * len(KEYS))
    weights[KEYS.index("words: best passages")] = 1.0
    for number in range(_ROUNDS):
        rows, shares = [], []
        for one, table in zip(fitted, features, strict=True):
            others = table[~one.relevant]
            hardest = others[np.argsort(-(others @ weights), kind="stable")[:HARDEST]]
            answers = table[one.relevant]
            for answer in answers:
                group = np.zeros((HARDEST + 1, table.shape[1]))
                group[0] = answer
                group[1 : len(hardest) + 1] = hardest
                group[len(hardest) + 1 :] = np.nan
                rows.append(group)
                shares.append(1 / (len(answers) * sizes[one.collection]))
        weights = minimise(
            np.stack(rows), np.array(shares) / sum(shares), ridge, weights * (number > 0)
        )
    return weights


def _measured(one: Judged, weights: Array, words: bool) -> tuple[float, float]:
    scores = _features(one, words) @ weights
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], one.paths[place]))
    ranking = [one.paths[place] for place in order]
    found = {path for path, good in zip(one.paths, one.relevant, strict=True) if good}
    missing = {f"\0{number}": 1 for number in range(one.wanted - len(found))}
    grades = dict.fromkeys(found, 1) | missing
    return ndcg(ranking, grades, 10), recall(ranking, grades, 10)


def _means(by_repo: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, float]:
    rows = [row for rows in by_repo.values() for row in rows]
    return {
        "ndcg10": float(np.mean([row[0] for row in rows])),
        "ndcg10_macro": float(np.mean([np.mean([r[0] for r in own]) for own in by_repo.values()])),
        "recall10": float(np.mean([row[1] for row in rows])),
        "n": len(rows),
    }


def _table(weights: Array) -> Table:
    """The weights in units of the blend: the best file by words and meaning has 1 from these."""
    unit = _unit(weights)
    if not unit > 0:
        raise QueryError("by these questions neither words nor meaning find anything; give others")
    rows = (weights / unit).reshape(3, len(KEYS)).T
    return {
        key: (round(float(row[0]), 4), round(float(row[1]), 4), round(float(row[2]), 4))
        for key, row in zip(KEYS, rows, strict=True)
    }


def _unit(weights: Array) -> float:
    return float(weights[: len(KEYS)][[s.part in (WORDS, MEANING) for s in SIGNALS]].sum())


def _written(name: str, table: Table) -> Iterator[str]:
    yield f"{name}: dict[str, tuple[float, float, float]] = {{"
    for key, weights in table.items():
        if any(weights):
            yield f"    {json.dumps(key)}: ({', '.join(str(weight) for weight in weights)}),"
    yield "}"


_HEAD = '''"""The weights of the signals, fitted to labelled questions by ``rag-agent eval fit``.

Of each signal: its weight in code for a short question, what a long one adds; its weight in prose.
"""

from __future__ import annotations
'''
