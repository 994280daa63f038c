"""The scores of FTS5's ``bm25()``, number for number (SQLite's fts5_aux.c), over columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_K1, _B = 1.2, 0.75
_LEAST_RARITY = 1e-6


def norms(sizes: NDArray[np.generic], average: float) -> Floats:
    """What the length of each row, in words, makes of its score."""
    import numpy as np

    return _K1 * (1 - _B + _B * sizes.astype(np.float64) / (average or 1.0))


def add(
    scores: Floats,
    places: NDArray[np.integer],
    often: NDArray[np.integer],
    norms: Floats,
    total: int,
) -> None:
    """Add to ``scores`` what a word gives to the rows at ``places``, which have it so ``often``.

    ``total`` counts all rows that there are.
    """
    import numpy as np

    if not len(places):
        return
    rarity = math.log((total - len(places) + 0.5) / (len(places) + 0.5))
    gain = rarity if rarity > 0 else _LEAST_RARITY
    often = often.astype(np.float64)
    scores[places] += gain * ((often * (_K1 + 1.0)) / (often + norms[places]))


def highest(scores: Floats, k: int) -> NDArray[np.int64]:
    """Places of the ``k`` highest scores above 0 and of those that are as high as the last of them.

    In the order of the rows.
    """
    import numpy as np

    found = np.flatnonzero(scores)
    if k < 1:
        return found[:0]
    if len(found) > k:
        high = scores[found]
        found = found[high >= np.partition(high, -k)[-k]]
    return found
