"""The fields of filters: one function and one row each, from a value to a condition in SQL.

Conditions are on the table ``documents`` under the alias ``d``, those of ``OF_CHUNKS`` on
``document_chunks`` under ``c`` as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rag_agent.errors import QueryError
from rag_agent.store import comparing
from rag_agent.store.folding import fold, plain, tag_form

_KINDS = ("code", "prose", "data")
# SQLite's GLOB goes back over every star; more than a few are no pattern of a person.
_MOST_STARS = 8

Binding = str | int
Condition = tuple[str, tuple[Binding, ...]]


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
    wanted = glob(tag_form(value))
    return (
        "EXISTS (SELECT 1 FROM json_each(d.tags) WHERE value GLOB ? OR value GLOB ?)",
        (wanted, f"{wanted}/*"),
    )


def has_tag(tag: str, wanted: str) -> bool:
    """Whether a tag is the wanted one or one below it, as ``tag:wanted`` without a pattern."""
    return f"{tag_form(tag)}/".startswith(f"{tag_form(wanted)}/")


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
        # A document that has none matches not even a star.
        return f"({column} <> '' AND {column} GLOB ?)", (f"*{glob(wanted).strip('*')}*",)
    return f"(instr({column}, ?) > 0)", (wanted,)


# The days of a file are those of its time of change, in UTC.
_OF_FILE = "date(abs(d.mtime_ns) / 1000000000, 'unixepoch')"
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


BOOSTS = frozenset({"near"})

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
OF_CHUNKS = frozenset({"page"})
"""Fields that narrow to chunks; the others narrow to documents."""
