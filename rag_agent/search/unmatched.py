"""What is said of a search that a filter left nothing of: why, and what is there without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_agent.store import Filter, Store
    from rag_agent.store.filters import Clause
    from rag_agent.types import Hit

_VALUES_SHOWN = 8
_VALUE_SHOWN = 60  # characters
WITHOUT_FILTER = 3
"""Hits that are shown of the same question without its filter."""


def explain_nothing(store: Store, where: Filter, best: Sequence[Hit]) -> tuple[int, list[str]]:
    """How many documents the filter leaves, and sentences for a reader whom it left no hit.

    ``best`` are the hits of the same question without the filter.
    """
    left = store.count_matching(where)
    if left:
        noun = "document" if left == 1 else "documents"
        why = f"The filter leaves {left:,} {noun}, in which nothing answers the question."
    else:
        why = f"The filter leaves nothing: {_reason(store, where)}"
    return left, [why, *_without(store, where, best)]


def _reason(store: Store, where: Filter) -> str:
    counts = [(clause, store.count_matching(_alone(clause))) for clause in where.clauses]
    empty = [clause for clause, count in counts if not count]
    if not empty:
        each = ", ".join(f"{clause.text} {count:,}" for clause, count in counts)
        return f"each term matches documents ({each}), no document matches all of them."
    return " ".join(
        f"{clause.text} matches no document; {_there(store, clause)}" for clause in empty
    )


def _alone(clause: Clause) -> Filter:
    from rag_agent.store.filters import Filter

    return Filter((clause,))


def _there(store: Store, clause: Clause) -> str:
    """What could have been asked instead."""
    from rag_agent.store.fields import COMPARABLE
    from rag_agent.store.filters import like

    field = clause.field
    if field in COMPARABLE or field in ("after", "before"):
        span = store.filter_span(field)
        return f"{field} here: {span[0]} to {span[1]}." if span else f"none has any {field}."
    known = store.filter_values(field)
    if not known:
        return f"none has any {field}."
    counts = {value.casefold(): (value, count) for value, count in reversed(known)}
    near = [counts[one] for one in like(_word(clause.value), list(counts))]
    if near and not clause.text.startswith("-"):
        return f"did you mean {_listed(near)}?"
    more = len(known) - _VALUES_SHOWN
    others = f" and {more:,} more" if more > 0 else ""
    return f"{_PLURALS[field]} here: {_listed(known[:_VALUES_SHOWN])}{others}."


_PLURALS = {
    "path": "names of files and folders",
    "ext": "extensions",
    "kind": "kinds",
    "lang": "languages",
    "name": "names",
    "tag": "tags",
    "title": "titles",
    "author": "authors",
}


def _word(value: str) -> str:
    """The most telling part of a pattern: its last name, without stars and what begins a tag."""
    parts = [part.strip("*?#.") for part in value.casefold().replace("\\", "/").split("/")]
    return next((part for part in reversed(parts) if part), "")


def _listed(values: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{value[:_VALUE_SHOWN]} ({count:,})" for value, count in values)


def _without(store: Store, where: Filter, best: Sequence[Hit]) -> Iterator[str]:
    if not best:
        yield "Without the filter nothing is found either."
        return
    known = [(hit.path, hit.document.id) for hit in best if hit.document is not None]
    excluding = store.excluding(where, [identifier for _, identifier in known])
    shown = []
    for path, identifier in known:
        terms = ", ".join(clause.text for clause in excluding[identifier])
        shown.append(f"{path} (excluded by {terms})" if terms else path)
    yield f"Without the filter the best are: {'; '.join(shown)}."
