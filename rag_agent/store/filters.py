"""``where`` expressions: ``path:src/* year:>=2020 -tag:draft`` as a condition on what is found.

Terms of the same field are alternatives, terms of different fields must all hold, ``-`` negates
(then none of the field's negated terms may hold); comparisons of a field must all hold. Case never
matters. In patterns ``*`` stands for any characters, ``/`` included, and ``?`` for one; brackets
mean themselves. ``near:PATH`` is no condition but a wish, which ``boosts`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_agent.errors import QueryError
from rag_agent.store import comparing
from rag_agent.store.fields import (
    BOOSTS,
    COMPARABLE,
    EXAMPLES,
    FIELDS,
    OF_CHUNKS,
    Binding,
    Condition,
)

_TERM = re.compile(r'(-?)([A-Za-z]+):([<>]=?)?(?:"([^"]*)"|([^\s"]+))(?=\s|$)')
_MOST_TERMS = 100
_LONGEST = 10_000  # characters


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition that must hold, with the terms as written that it is made of.

    It is SQL on the table ``documents`` under the alias ``d``, of chunks on ``document_chunks``
    under ``c`` as well. ``value`` is that of the first term.
    """

    text: str
    field: str
    value: str
    sql: str
    bindings: tuple[Binding, ...]
    of_chunks: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Clauses that must all hold."""

    clauses: tuple[Clause, ...]

    def on_chunks(self) -> Condition:
        """The condition for a query that has ``documents AS d`` and ``document_chunks AS c``."""
        return _all(self.clauses)

    def on_documents(self) -> Condition:
        """The condition for a query that has ``documents AS d``: that a chunk of it is left."""
        sql, bindings = _all([clause for clause in self.clauses if not clause.of_chunks])
        of_chunks = [clause for clause in self.clauses if clause.of_chunks]
        if not of_chunks:
            return sql, bindings
        inner, more = _all(of_chunks)
        return (
            f"{sql} AND EXISTS (SELECT 1 FROM document_chunks AS c "
            f"WHERE c.document_id = d.id AND {inner})",
            (*bindings, *more),
        )


def _all(clauses: Sequence[Clause]) -> Condition:
    return (
        " AND ".join(clause.sql for clause in clauses) or "TRUE",
        tuple(binding for clause in clauses for binding in clause.bindings),
    )


@dataclass(frozen=True, slots=True)
class _Term:
    negated: bool
    field: str
    value: str
    text: str

    @property
    def bounds(self) -> bool:
        """Whether it stands for itself instead of being one of several alternatives."""
        return self.negated or (self.field in COMPARABLE and comparing.is_comparison(self.value))


def compile(expression: str) -> Filter | None:
    """None for an empty expression.

    Raises:
        QueryError: an unknown field, an unusable value, or text that is no ``field:value``.
    """
    groups: dict[tuple[str, int], list[_Term]] = {}
    for place, term in enumerate(_terms(expression)):
        if term.field in BOOSTS:
            if term.negated:
                name = term.field
                raise QueryError(f"-{name}: leaves nothing out; {name}: only moves documents up")
            _condition(term.field, term.value)  # which raises if it cannot be used
            continue
        groups.setdefault((term.field, place if term.bounds else -1), []).append(term)
    return Filter(tuple(_clause(terms) for terms in groups.values())) if groups else None


def boosts(expression: str, name: str = "near") -> tuple[str, ...]:
    """The values of a field that moves documents up: ``near:PATH`` what is linked with the path.

    Raises:
        QueryError: as ``compile``.
    """
    compile(expression)
    return tuple(term.value for term in _terms(expression) if term.field == name)


def _clause(terms: Sequence[_Term]) -> Clause:
    first = terms[0]
    conditions = [_condition(term.field, term.value) for term in terms]
    either = " OR ".join(sql for sql, _ in conditions)
    return Clause(
        text=" ".join(term.text for term in terms),
        field=first.field,
        value=first.value,
        sql=f"NOT ({either})" if first.negated else f"({either})",
        bindings=tuple(binding for _, bindings in conditions for binding in bindings),
        of_chunks=first.field in OF_CHUNKS,
    )


def _terms(expression: str) -> list[_Term]:
    if len(expression) > _LONGEST:
        raise QueryError(f"the filter is longer than {_LONGEST} characters; shorten it")
    terms = []
    rest = expression.strip()
    while rest:
        found = _TERM.match(rest)
        if not found:
            word = rest.split(maxsplit=1)[0]
            if rest.count('"') % 2:
                raise QueryError(f"a quote is not closed in the filter, from {word!r} on")
            raise QueryError(
                f"a filter is made of field:value, which {word!r} is not; "
                f'fields: {", ".join(FIELDS)}. Quote values with spaces: path:"my notes/*"'
            )
        value = (found[4] if found[4] is not None else found[5]).strip()
        field = found[2].lower()
        terms.append(_Term(found[1] == "-", field, (found[3] or "") + value, found[0]))
        rest = rest[found.end() :].lstrip()
    if len(terms) > _MOST_TERMS:
        raise QueryError(f"the filter has more than {_MOST_TERMS} terms; shorten it")
    return terms


def _condition(name: str, value: str) -> Condition:
    if name not in FIELDS:
        meant = like(name, list(FIELDS))
        guess = f"; did you mean {meant[0]}?" if meant else ""
        raise QueryError(f"unknown filter field {name!r}{guess}; fields: {', '.join(FIELDS)}")
    if not value:
        raise QueryError(f"the filter field {name!r} needs a value, as in {EXAMPLES[name]}")
    return FIELDS[name](value)


def like(text: str, known: Sequence[str]) -> list[str]:
    """Up to three of the known words that look like a text, the most alike first."""
    from difflib import get_close_matches

    return get_close_matches(text, known, cutoff=0.6)
