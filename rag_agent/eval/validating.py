"""What fitted weights reach on what they were not fitted to; on that they flatter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag_agent.eval.fit import Shares, fit_weights, present, scores
from rag_agent.eval.judging import Judged
from rag_agent.eval.measures import ndcg, recall

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FOLDS = 8

Unit = Literal["repositories", "collection", "questions"]


def cross_validate(
    judged: Sequence[Judged],
    *,
    words: bool = False,
    shares: Shares | None = None,
    folds: int = FOLDS,
) -> dict[str, dict[str, float]]:
    """By collection ``{"ndcg10", "ndcg10_macro", "recall10", "n", "ndcg10_present"}``.

    ``left_out`` says what is left out in turn; the last is what the weights in use reach.

    Raises:
        QueryError: as ``fit``, where one part is left out.
    """
    in_use = present(words)
    ranked: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for part, others in _parts([one for one in judged if words or one.hybrid], folds):
        weights = fit_weights(others, words=words, shares=shares or {})
        for one in part:
            row = (*_measured(one, weights), _measured(one, in_use)[0])
            ranked.setdefault(one.collection, {}).setdefault(one.repo, []).append(row)
    return {name: _means(by_repo) for name, by_repo in sorted(ranked.items())}


def left_out(judged: Sequence[Judged], folds: int = FOLDS) -> dict[str, Unit]:
    """What of each collection is left out in turn: some of its repositories, or the whole of it.

    The whole, with those of the same index, if it has few repositories and there are other
    collections that documents answer. Else its questions, which flatters.
    """
    return {
        name: _unit([one for one in judged if one.collection == name], judged, folds)
        for name in sorted({one.collection for one in judged})
    }


def _unit(own: Sequence[Judged], judged: Sequence[Judged], folds: int) -> Unit:
    if len({one.repo for one in own}) >= folds:
        return "repositories"
    if not all(one.about_documents for one in own):
        return "questions"
    indexes = {one.index for one in own}
    others = (one.about_documents and one.index not in indexes for one in judged)
    return "collection" if any(others) else "questions"


def _parts(
    judged: Sequence[Judged], folds: int
) -> Iterator[tuple[Sequence[Judged], Sequence[Judged]]]:
    """Each part that is left out, with what weights are fitted to meanwhile."""
    units = left_out(judged, folds)
    fold_of = [
        _draw(one.repo if units[one.collection] == "repositories" else f"{one.repo}{number}", folds)
        if units[one.collection] != "collection"
        else None
        for number, one in enumerate(judged)
    ]
    for fold in range(folds):
        part = [one for one, own in zip(judged, fold_of, strict=True) if own == fold]
        if part:
            yield part, [one for one, own in zip(judged, fold_of, strict=True) if own != fold]
    for name, unit in units.items():
        if unit == "collection":
            part = [one for one in judged if one.collection == name]
            indexes = {one.index for one in part}
            yield part, [one for one in judged if one.index not in indexes]


def _draw(name: str, folds: int) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % folds


def _measured(one: Judged, weights: Array) -> tuple[float, float]:
    gained = scores(one, weights)
    order = sorted(range(len(gained)), key=lambda place: (-gained[place], one.paths[place]))
    ranking = [one.paths[place] for place in order]
    found = {path for path, good in zip(one.paths, one.relevant, strict=True) if good}
    missing = {f"\0{number}": 1 for number in range(one.wanted - len(found))}
    grades = dict.fromkeys(found, 1) | missing
    return ndcg(ranking, grades, 10), recall(ranking, grades, 10)


def _means(by_repo: Mapping[str, Sequence[tuple[float, float, float]]]) -> dict[str, float]:
    rows = [row for rows in by_repo.values() for row in rows]
    return {
        "ndcg10": float(np.mean([row[0] for row in rows])),
        "ndcg10_macro": float(np.mean([np.mean([r[0] for r in own]) for own in by_repo.values()])),
        "recall10": float(np.mean([row[1] for row in rows])),
        "n": len(rows),
        "ndcg10_present": float(np.mean([row[2] for row in rows])),
    }
