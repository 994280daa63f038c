"""``where`` expressions: ``path:src/* year:>=2020 -tag:draft`` as a condition on what is found.

Terms of the same field are alternatives, terms of different fields must all hold, ``-`` negates
(then none of the field's negated terms may hold); comparisons of a field must all hold. Case never
matters. In patterns ``*`` stands for any characters, ``/`` included, and ``?`` for one; brackets
mean themselves. ``near:PATH`` is no condition but a wish, which ``boosts`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_agent.errors import QueryError
from rag_agent.store import comparing
from rag_agent.store.folding import fold, plain

_TERM = re.compile(r'(-?)([A-Za-z]+):([<>]=?)?(?:"([^"]*)"|([^\s"]+))(?=\s|$)')
_KINDS = ("code", "prose", "data")
# SQLite's GLOB goes back over every star; more than a few are no pattern of a person.
_MOST_STARS = 8
_MOST_TERMS = 100
_LONGEST = 10_000  # characters

Binding = str | int
Condition = tuple[str, tuple[Binding, ...]]


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
        if term.field in _BOOSTS:
            if term.negated:
                name = term.field
                raise QueryError(f"-{name}: leaves nothing out; {name}: only moves documents up")
            _condition(term.field, term.value)  # which raises if it cannot be used
            continue
        groups.setdefault((term.field, place if term.bounds else -1), []).append(term)
    return Filter(tuple(_clause(terms) for terms in groups.values())) if groups else None


def looks_inside(where: Filter) -> bool:
    """Whether a filter depends on more than the paths of files: an edit may let one in or out."""
    return any(clause.field not in _OF_PATH for clause in where.clauses)


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


def glob(pattern: str) -> str:
    """A folded pattern for SQLite's GLOB, in which only ``*`` and ``?`` are special.

    Raises:
        QueryError: more stars than any sensible pattern has.
    """
    if (
        pattern.count("*") > 2 * _MOST_STARS
        or re.sub(r"\*+", "*", pattern).count("*") > _MOST_STARS
    ):
        raise QueryError(
            f"the pattern {pattern[:60]!r} has too many stars; use at most {_MOST_STARS}"
        )
    return re.sub(r"\*+", "*", fold(pattern)).replace("[", "[[]")


def _path(value: str) -> Condition:
    pattern = glob(value.replace("\\", "/").removeprefix("./"))
    absolute = pattern.startswith("/") or re.match("[a-z]:/", pattern) is not None
    column, wanted = "d.folded", pattern
    if absolute:
        column = "absolute_path(d.root_id, d.folded)"
    if "*" not in pattern and "?" not in pattern:
        # A plain name is a file or folder of that name at any depth.
        wanted = f"{'/' if absolute else '*/'}{pattern.strip('/')}/*"
        column = f"'/' || ltrim({column}, '/') || '/'"
    matches = f"{column} GLOB ?"
    if absolute:
        return f"({matches})", (wanted,)
    # Of several roots, hits show the path with that of the root, which people copy.
    shown = matches.replace("d.folded", "shown_path(d.root_id, d.folded)")
    several = "(SELECT count(*) > 1 FROM roots)"
    return f"({matches} OR ({several} AND {shown}))", (wanted, wanted)


def _kind(value: str) -> Condition:
    if value.lower() not in _KINDS:
        raise QueryError(f"kind:{value} is unknown; kinds: {', '.join(_KINDS)}")
    return "(d.kind = ?)", (value.lower(),)


def _extension(value: str) -> Condition:
    return "(d.folded GLOB ?)", ("*." + glob(value.lstrip(".")),)


def _language(value: str) -> Condition:
    return "(lower(d.language) = ?)", (fold(value),)


def _tag(value: str) -> Condition:
    # As in Obsidian, tag:project also finds project/alpha.
    tag = fold(value).lstrip("#")
    return (
        "EXISTS (SELECT 1 FROM json_each(d.tags) WHERE value = ? OR value GLOB ?)",
        (tag, glob(tag) + "/*"),
    )


def has_tag(tag: str, wanted: str) -> bool:
    """Whether ``tag:wanted`` finds a document with this tag."""
    have, want = fold(tag).lstrip("#"), fold(wanted).strip("#/ ")
    return have == want or have.startswith(f"{want}/")


def _name(value: str) -> Condition:
    return (
        "(d.id IN (SELECT n_c.document_id FROM definitions AS n "
        "JOIN document_chunks AS n_c ON n_c.id = n.chunk_id WHERE n.folded GLOB ?))",
        (glob(value),),
    )


def _title(value: str) -> Condition:
    return _holds("d.title_plain", value)


def _author(value: str) -> Condition:
    return _holds("d.author_plain", value)


def _holds(column: str, value: str) -> Condition:
    """Anywhere in the column, whatever the case and the accents."""
    wanted = plain(value)
    if "*" in wanted or "?" in wanted:
        return f"({column} GLOB ?)", (f"*{glob(wanted).strip('*')}*",)
    return f"(instr({column}, ?) > 0)", (wanted,)


# The days of a file are those of its time of change, in UTC.
_OF_FILE = "date(d.mtime_ns / 1000000000, 'unixepoch')"
_DAY = f"coalesce(nullif(d.day, ''), {_OF_FILE}, '')"
_MODIFIED = f"coalesce(nullif(d.modified, ''), {_OF_FILE}, '')"


def _created(value: str) -> Condition:
    return _within("d.created", comparing.days("created", value, EXAMPLES["created"]))


def _modified(value: str) -> Condition:
    return _within(_MODIFIED, comparing.days("modified", value, EXAMPLES["modified"]))


def _after(value: str) -> Condition:
    return _within(_DAY, (_first_day("after", value), None))


def _before(value: str) -> Condition:
    return _within(_DAY, (None, _first_day("before", value)))


def _first_day(name: str, value: str) -> str:
    first, end = comparing.days(name, value, EXAMPLES[name])
    if first is None or end is None or ".." in value:
        raise QueryError(
            f"{name}:{value} is no single date; write it as {EXAMPLES[name]}, "
            "or compare: created:>=2026-01, modified:2025..2026-06"
        )
    return first


def _within(column: str, span: comparing.Span[str]) -> Condition:
    low, high = span
    # A document without a date lies in no span; '' would be before any day.
    sql, bindings = f"{column} >= ?", (low or "0",)
    return (f"({sql} AND {column} < ?)", (*bindings, high)) if high else (f"({sql})", bindings)


def _year(value: str) -> Condition:
    low, high = comparing.years("year", value, EXAMPLES["year"])
    return "(ifnull(d.year >= ? AND d.year < ?, FALSE))", (low or 0, high or 10_000)


def _page(value: str) -> Condition:
    """Chunks with a line on one of the pages; those of documents without pages have none."""
    low, high = comparing.pages("page", value, EXAMPLES["page"])
    first = f"$[{(low or 1) - 1}]"
    begins = "ifnull(json_extract(d.pages, ?) <= c.end_line, FALSE)"
    if high is None:
        return f"({begins})", (first,)
    # Pages without a line begin where the next one does.
    ends = "ifnull(json_extract(d.pages, ?) > max(c.start_line, json_extract(d.pages, ?)), TRUE)"
    return f"({begins} AND {ends})", (first, f"$[{high - 1}]", first)


def _near(value: str) -> Condition:
    """No condition: what is linked with the path counts more, and nothing is left out."""
    return "TRUE", ()


_BOOSTS = frozenset({"near"})

# One row a field. A file without a date of its own has that of the file for `after` and `before`.
FIELDS: Mapping[str, Callable[[str], Condition]] = {
    "path": _path,
    "ext": _extension,
    "kind": _kind,
    "lang": _language,
    "name": _name,
    "tag": _tag,
    "title": _title,
    "author": _author,
    "year": _year,
    "created": _created,
    "modified": _modified,
    "page": _page,
    "after": _after,
    "before": _before,
    "near": _near,
}
EXAMPLES: Mapping[str, str] = {
    "path": "path:src/*",
    "ext": "ext:py",
    "kind": "kind:code",
    "lang": "lang:python",
    "name": "name:parse_url",
    "tag": "tag:billing",
    "title": 'title:"user guide"',
    "author": "author:lovelace",
    "year": "year:2024, year:>=2020 or year:2019..2021",
    "created": "created:2026-01-31, created:>=2026-01, created:2025-06..2025-09 or created:>7d",
    "modified": "modified:2026-01-31, modified:<2026, modified:2025-06..2025-09 or modified:>7d",
    "page": "page:3, page:3-5 or page:>=3",
    "after": "after:2026-01-31",
    "before": "before:2026-01-31",
    "near": "near:notes/plan.md",
}
COMPARABLE = frozenset({"year", "created", "modified", "page"})
"""Fields of which values are compared and make ranges."""
_OF_PATH = frozenset({"path", "ext", "kind", "lang"})
OF_CHUNKS = frozenset({"page"})
"""Fields that narrow to chunks; the others narrow to documents."""
