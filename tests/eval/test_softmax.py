from __future__ import annotations

from typing import Any

import numpy as np

from rag_agent.eval.softmax import minimise


def test_the_loss_is_least_where_its_slope_is_none() -> None:
    groups = np.random.default_rng(7).normal(size=(40, 5, 3))
    shares = np.full(40, 1 / 40)

    def loss(weights: Any) -> float:
        logits = groups @ weights
        return float(
            (np.log(np.exp(logits).sum(1)) - logits[:, 0]).mean() + 1e-3 * weights @ weights
        )

    best = minimise(groups, shares, 1e-3, np.zeros(3))
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 0.01:
        assert loss(best) < loss(best + step)
