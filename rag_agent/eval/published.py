"""Figures of others, to stand beside ours: a JSON list, an object a figure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from rag_agent.errors import QueryError


@dataclass(frozen=True, slots=True)
class Published:
    """What somebody reports of a method on a set of topics.

    ``measures`` are macro means, named as ours. ``repositories`` holds the values of ``measure``
    for each, so that the mean over other repositories than all of them can be had. ``p50_ms`` is
    the median time of a question on a machine that is not ours; None where nobody says.
    """

    collection: str
    name: str
    source: str
    measures: Mapping[str, float]
    p50_ms: float | None = None
    measure: str = ""
    repositories: Mapping[str, float] = field(default_factory=dict)

    def on(self, measure: str, repositories: Collection[str]) -> float | None:
        """The mean of the measure over these repositories; None where one of them is missing."""
        if measure != self.measure or not set(repositories) <= set(self.repositories):
            return None
        return fmean(self.repositories[name] for name in repositories)


def read_published(path: Path, collection: str) -> list[Published]:
    """What is reported on the collection, in the order of the file.

    Lines are ``{"set", "name", "source", "measures": {measure: value}, "p50_ms", "measure",
    "repositories": {name: value}}``; the last three may be left out.

    Raises:
        QueryError: the file cannot be read, or holds something else.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [_published(row) for row in rows if row["set"] == collection]
    except OSError as error:
        raise QueryError(f"cannot read published figures from {path}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise QueryError(
            f'{path}: expected a list of {{"set", "name", "source", "measures": {{…}}}} '
            f"({type(error).__name__}: {error})"
        ) from error


def _published(row: Mapping[str, Any]) -> Published:
    took = row.get("p50_ms")
    return Published(
        collection=str(row["set"]),
        name=str(row["name"]),
        source=str(row["source"]),
        measures={str(name): float(value) for name, value in row["measures"].items()},
        p50_ms=None if took is None else float(took),
        measure=str(row.get("measure", "")),
        repositories={str(k): float(v) for k, v in row.get("repositories", {}).items()},
    )
