"""The weights that put what answers a question above the hardest of what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Singles = NDArray[np.float32]

HARDEST = 40  # files that a relevant one is compared with
_ROUNDS = 3  # the hardest files depend on the weights
_STEPS = 25  # of Newton's method, which mostly needs eight
_LONGEST_STEP = 5.0
_CLOSE = 1e-2  # the step after it is a hundredth of that


@dataclass(frozen=True, slots=True)
class Lesson:
    """The candidates of a question, of shape (files, weights), and how much it counts."""

    features: Singles
    relevant: NDArray[np.bool_]
    share: float


def learn(lessons: Sequence[Lesson], ridge: float, start: Array) -> Array:
    """The weights that answer best, from those that say at first which files are hardest."""
    weights = start
    for _ in range(_ROUNDS):
        rows: list[Singles] = []
        shares: list[float] = []
        for lesson in lessons:
            others = lesson.features[~lesson.relevant]
            hardest = others[np.argsort(-(others @ weights), kind="stable")[:HARDEST]]
            answers = lesson.features[lesson.relevant]
            for answer in answers:
                group = np.full((HARDEST + 1, len(weights)), np.nan, np.float32)
                group[0] = answer
                group[1 : len(hardest) + 1] = hardest
                rows.append(group)
                shares.append(lesson.share / len(answers))
        weights = minimise(np.stack(rows), np.array(shares) / sum(shares), ridge, weights)
    return weights


def minimise(groups: Singles, shares: Array, ridge: float, start: Array) -> Array:
    """Minimise the mean of -log softmax of each group's first row, with a ridge.

    ``groups`` has the shape (groups, rows, weights); rows of NaN are no files.
    """
    absent = np.isnan(groups[:, :, 0])
    filled = np.where(absent[:, :, None], np.float32(0), groups)
    count = groups.shape[2]
    weights = start
    for _ in range(_STEPS):
        logits = np.where(absent, -np.inf, filled @ weights.astype(np.float32))
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        means = np.matmul(chances[:, None, :].astype(np.float32), filled)[:, 0]
        slope = 2 * ridge * weights + shares @ (means - filled[:, 0])
        rooted = np.sqrt(chances * shares[:, None]).astype(np.float32)
        spread = (filled * rooted[:, :, None]).reshape(-1, count)
        middle = means * np.sqrt(shares).astype(np.float32)[:, None]
        curve = (spread.T @ spread - middle.T @ middle).astype(np.float64)
        step = np.linalg.solve(curve + 2 * ridge * np.eye(count), slope)
        # Far from the end a whole step may overshoot.
        weights = weights - step * min(1.0, _LONGEST_STEP / max(float(np.linalg.norm(step)), 1e-9))
        if np.abs(step).max() < _CLOSE:
            break
    return weights
