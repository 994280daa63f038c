from __future__ import annotations

from typing import Any

import numpy as np

from rag_agent.eval.softmax import HARDEST, Lesson, learn, minimise


def test_the_loss_is_least_where_its_slope_is_none() -> None:
    groups = np.random.default_rng(7).normal(size=(40, 5, 3)).astype(np.float32)
    shares = np.full(40, 1 / 40)

    def loss(weights: Any) -> float:
        logits = groups @ weights
        return float(
            (np.log(np.exp(logits).sum(1)) - logits[:, 0]).mean() + 1e-3 * weights @ weights
        )

    best = minimise(groups, shares, 1e-3, np.zeros(3))
    for step in np.vstack([np.eye(3), -np.eye(3)]) * 0.01:
        assert loss(best) < loss(best + step)


def test_what_is_least_does_not_depend_on_the_start() -> None:
    groups = np.random.default_rng(8).normal(size=(40, 5, 3)).astype(np.float32)
    shares = np.full(40, 1 / 40)
    near, far = (minimise(groups, shares, 1e-3, np.full(3, start)) for start in (0.0, 20.0))
    assert np.allclose(near, far, atol=1e-3)


def test_an_answer_learns_from_files_that_the_first_weights_put_last() -> None:
    """More of these than are compared at once: they become the hardest as soon as they pass."""
    files = np.zeros((2 * HARDEST + 1, 2), np.float32)
    files[0] = (1.0, 0.5)
    files[1 : HARDEST + 1, 0] = 0.9
    files[HARDEST + 1 :, 1] = 0.6
    lesson = Lesson(files, np.arange(len(files)) == 0, 1.0)
    scores = files @ learn([lesson], 1e-4, np.array([1.0, 0.0]))
    assert scores.argmax() == 0
