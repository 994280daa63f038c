"""The weights that put the first row of each group above the others of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_STEPS = 25  # of Newton's method, which mostly needs eight
_LONGEST_STEP = 5.0
_CLOSE = 1e-3


def minimise(groups: Array, shares: Array, ridge: float, start: Array) -> Array:
    """Minimise the mean of -log softmax of each group's first row, with a ridge.

    ``groups`` has the shape (groups, rows, weights); rows of NaN are no files.
    """
    absent = np.isnan(groups[:, :, 0])
    filled = np.where(absent[:, :, None], 0.0, groups).astype(np.float32)
    used = np.flatnonzero(np.any(filled != 0, axis=(0, 1)))
    filled = np.ascontiguousarray(filled[:, :, used])
    weights = start[used]
    for _ in range(_STEPS):
        logits = np.where(absent, -np.inf, filled @ weights.astype(np.float32))
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        weighed = chances * shares[:, None]
        means = np.einsum("gr,grw->gw", chances, filled)
        slope = 2 * ridge * weights + shares @ (means - filled[:, 0])
        rooted = (filled * np.sqrt(weighed)[:, :, None].astype(np.float32)).reshape(-1, len(used))
        spread = means * np.sqrt(shares)[:, None]
        curve = rooted.T @ rooted - spread.T @ spread + 2 * ridge * np.eye(len(used))
        step = np.linalg.solve(curve.astype(np.float64), slope)
        # Far from the end a whole step may overshoot.
        weights = weights - step * min(1.0, _LONGEST_STEP / max(float(np.linalg.norm(step)), 1e-9))
        if np.abs(step).max() < _CLOSE:
            break
    whole = np.zeros(groups.shape[2])
    whole[used] = weights
    return whole
