"""Figures of others, to stand beside ours: a JSON list, an object a figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from rag_agent.errors import QueryError
from rag_agent.eval.rows import Row, as_row, parse, read_text


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
        """The mean of the measure over these repositories; None of none or if one is missing."""
        known = measure == self.measure and set(repositories) <= set(self.repositories)
        if not known or not repositories:
            return None
        return fmean(self.repositories[name] for name in repositories)


def read_published(path: Path, collection: str) -> list[Published]:
    """What is reported on the collection, in the order of the file.

    Lines are ``{"set", "name", "source", "measures": {measure: value}, "p50_ms", "measure",
    "repositories": {name: value}}``; the last three may be left out.

    Raises:
        QueryError: the file cannot be read, or holds something else.
    """
    figures = parse(read_text(path, "published figures"), str(path))
    if not isinstance(figures, list):
        raise QueryError(f"{path}: expected a list of figures, each an object")
    rows = [as_row(figure, str(path), f"[{number}]") for number, figure in enumerate(figures)]
    return [_published(row) for row in rows if row.text("set") == collection]


def _published(row: Row) -> Published:
    return Published(
        collection=row.text("set"),
        name=row.text("name"),
        source=row.text("source"),
        measures=_values(row, "measures"),
        p50_ms=row.number("p50_ms", None, least=0),
        measure=row.text("measure", ""),
        repositories=_values(row, "repositories") if "repositories" in row.fields else {},
    )


def _values(row: Row, field: str) -> dict[str, float]:
    """Of each name its number."""
    if row.fields.get(field) is None:
        raise row.unexpected(field, "an object of names and numbers")
    values = row.row(field)
    found = {name: values.number(name, None) for name in values.fields}
    return {name: value for name, value in found.items() if value is not None}
