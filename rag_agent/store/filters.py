"""``where`` expressions: ``path:src/* kind:code -tag:draft`` as a condition on documents.

Terms of the same field are alternatives, terms of different fields must all hold, ``-`` negates
(then none of the field's negated terms may hold). Case never matters. In patterns ``*`` stands for
any characters, ``/`` included, and ``?`` for one; brackets mean themselves. ``near:PATH`` is no
condition but a wish, which ``boosts`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rag_agent.errors import QueryError
from rag_agent.store.folding import fold, iso_day

_TERM = re.compile(r'(-?)([A-Za-z]+):(?:"([^"]*)"|([^\s"]+))(?=\s|$)')
_KINDS = ("code", "prose", "data")
# SQLite's GLOB goes back over every star; more than a few are no pattern of a person.
_MOST_STARS = 8
_MOST_TERMS = 100
_LONGEST = 10_000  # characters

Condition = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition in SQL on the table ``documents`` under the alias ``d``, with its bindings."""

    sql: str
    bindings: tuple[str, ...]


def compile(expression: str) -> Filter | None:
    """None for an empty expression.

    Raises:
        QueryError: an unknown field, an unusable value, or text that is no ``field:value``.
    """
    required: dict[str, list[Condition]] = {}
    forbidden: list[Condition] = []
    for negated, name, value in _terms(expression):
        condition = _condition(name, value)
        if name in _BOOSTS:
            if negated:
                raise QueryError(f"-{name}: leaves nothing out; {name}: only moves documents up")
            continue
        if negated:
            forbidden.append(condition)
        else:
            required.setdefault(name, []).append(condition)
    clauses = [
        ("(" + " OR ".join(sql for sql, _ in alternatives) + ")", alternatives)
        for alternatives in required.values()
    ]
    clauses += [(f"NOT {sql}", [(sql, bindings)]) for sql, bindings in forbidden]
    if not clauses:
        return None
    return Filter(
        " AND ".join(sql for sql, _ in clauses),
        tuple(
            binding
            for _, conditions in clauses
            for _, bindings in conditions
            for binding in bindings
        ),
    )


def boosts(expression: str, name: str = "near") -> tuple[str, ...]:
    """The values of a field that moves documents up: ``near:PATH`` what is linked with the path.

    Raises:
        QueryError: as ``compile``.
    """
    compile(expression)
    return tuple(value for _, field, value in _terms(expression) if field == name)


def _terms(expression: str) -> list[tuple[bool, str, str]]:
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
        value = (found[3] if found[3] is not None else found[4]).strip()
        terms.append((found[1] == "-", found[2].lower(), value))
        rest = rest[found.end() :].lstrip()
    if len(terms) > _MOST_TERMS:
        raise QueryError(f"the filter has more than {_MOST_TERMS} terms; shorten it")
    return terms


def _condition(name: str, value: str) -> Condition:
    if name not in FIELDS:
        raise QueryError(f"unknown filter field {name!r}; fields: {', '.join(FIELDS)}")
    if not value:
        raise QueryError(f"the filter field {name!r} needs a value, as in {EXAMPLES[name]}")
    return FIELDS[name](value)


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
    column = "absolute_path(d.root_id, d.folded)" if absolute else "d.folded"
    if "*" in pattern or "?" in pattern:
        return f"({column} GLOB ?)", (pattern,)
    # A plain name is a file or folder of that name at any depth.
    inside = pattern.strip("/")
    start = "/" if absolute else "*/"
    return f"(('/' || ltrim({column}, '/') || '/') GLOB ?)", (f"{start}{inside}/*",)


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
        "(d.id IN (SELECT c.document_id FROM definitions AS n "
        "JOIN document_chunks AS c ON c.id = n.chunk_id WHERE n.folded GLOB ?))",
        (glob(value),),
    )


_DAY = "coalesce(nullif(d.day, ''), date(d.mtime_ns / 1000000000, 'unixepoch'))"


def _after(value: str) -> Condition:
    return f"({_DAY} >= ?)", (_day("after", value),)


def _before(value: str) -> Condition:
    return f"({_DAY} < ?)", (_day("before", value),)


def _day(name: str, value: str) -> str:
    day = iso_day(value)
    if not day or len(value) not in (4, 7, 10):
        raise QueryError(f"{name}:{value} is no date; write it as {EXAMPLES[name]}")
    return day


def _near(value: str) -> Condition:
    """No condition: what is linked with the path counts more, and nothing is left out."""
    return "TRUE", ()


_BOOSTS = frozenset({"near"})

# One row a field. Dates: the document's own date, else the file's (UTC); `after` includes the day.
FIELDS: Mapping[str, Callable[[str], Condition]] = {
    "path": _path,
    "kind": _kind,
    "ext": _extension,
    "lang": _language,
    "tag": _tag,
    "name": _name,
    "after": _after,
    "before": _before,
    "near": _near,
}
EXAMPLES: Mapping[str, str] = {
    "path": "path:src/*",
    "kind": "kind:code",
    "ext": "ext:py",
    "lang": "lang:python",
    "tag": "tag:billing",
    "name": "name:parse_url",
    "after": "after:2026-01-31",
    "before": "before:2026-01-31",
    "near": "near:notes/plan.md",
}
