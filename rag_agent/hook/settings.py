"""The settings that a turn needs, read without loading the rest of them."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


class Settings:
    """Those of ``Config`` that a turn reads, with its defaults."""

    __slots__ = (
        "rag_auto_refresh",
        "rag_enabled",
        "rag_score_threshold",
        "rag_time_budget_ms",
        "rag_token_budget",
        "rag_top_k",
    )

    def __init__(
        self,
        rag_enabled: bool = True,
        rag_top_k: int = 5,
        rag_score_threshold: float = 0.1,
        rag_token_budget: int = 1500,
        rag_time_budget_ms: int = 300,
        rag_auto_refresh: bool = True,
    ) -> None:
        self.rag_enabled = rag_enabled
        self.rag_top_k = rag_top_k
        self.rag_score_threshold = rag_score_threshold
        self.rag_token_budget = rag_token_budget
        self.rag_time_budget_ms = rag_time_budget_ms
        self.rag_auto_refresh = rag_auto_refresh


def read_settings(store: Path) -> Settings:
    """The settings of a store.

    Raises:
        ConfigError: config.json cannot be read or parsed, or a value cannot be used.
    """
    path = os.path.join(store, "config.json")  # noqa: PTH118
    if not os.path.lexists(path):
        return Settings()
    # All of the program's checks cost a prompt 30 ms; values that are plainly well need none.
    plain = _plain(path)
    if plain is not None:
        return Settings(**plain)
    from rag_agent.config import load

    config = load(store)
    return Settings(**{name: getattr(config, name) for name in Settings.__slots__})


# By key of config.json: the setting, and what it surely may be.
_PLAIN: dict[str, tuple[str, type, float, float]] = {
    "ragEnabled": ("rag_enabled", bool, False, True),
    "ragTopK": ("rag_top_k", int, 1, 100),
    "ragScoreThreshold": ("rag_score_threshold", float, 0, 1),
    "ragTokenBudget": ("rag_token_budget", int, 50, 100_000),
    "ragTimeBudgetMs": ("rag_time_budget_ms", int, 10, 60_000),
    "ragAutoRefresh": ("rag_auto_refresh", bool, False, True),
}


def _plain(path: str) -> dict[str, Any] | None:
    """What config.json says of these settings; None where anything about it is out of line."""
    try:
        with open(path, encoding="utf-8") as stream:  # noqa: PTH123
            raw = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    found = {}
    for key, (name, kind, low, high) in _PLAIN.items():
        if key in raw:
            value: Any = raw[key]
            is_plain = type(value) is kind
            if not is_plain or not low <= value <= high:
                return None
            found[name] = value
    return found
