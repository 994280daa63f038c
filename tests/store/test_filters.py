from __future__ import annotations

import operator
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matching import matching

from rag_agent.errors import QueryError
from rag_agent.store import Store, fields, filters
from rag_agent.store.migrations import VERSION
from rag_agent.types import Root

Lines = range
_RECENTLY = int(time.time()) - 3 * 86_400


def _utc_day(ago: int = 0) -> str:
    return (datetime.now(timezone.utc) - timedelta(days=ago)).date().isoformat()


@dataclass(frozen=True)
class Facts:
    path: str
    kind: str = "code"
    language: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    mtime: int = 1_770_000_000  # 2026-02-02 UTC
    names: tuple[str, ...] = ()
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    chunks: tuple[Lines, ...] = (range(1, 2),)

    @property
    def file_day(self) -> str:
        return datetime.fromtimestamp(self.mtime, timezone.utc).date().isoformat()

    @property
    def day(self) -> str:
        return self.date[:10] or self.file_day

    @property
    def created(self) -> str:
        return self.metadata.get("created", "")[:10] or self.date[:10]

    @property
    def modified(self) -> str:
        return self.metadata.get("modified", "")[:10] or self.file_day

    @property
    def year(self) -> str:
        return self.metadata.get("year", "") or (self.date or self.created)[:4]

    def lines_of(self, page: int) -> Lines:
        begins = [*self.pages, 1000]
        return range(begins[page - 1], begins[page])


_DOCUMENTS = (
    Facts("src/app.py", language="python", names=("main", "App"), mtime=1_700_000_000),
    Facts("src/web/App.TSX", language="tsx", names=("App",), mtime=_RECENTLY),
    Facts("src/[id]/page.d.ts", language="typescript"),
    Facts("tests/test_app.py", language="python", names=("test_main",)),
    Facts("contests/a.py", language="python"),
    Facts(
        "docs/guide.md", "prose", "markdown", ("Billing", "guide/start"), "2026-01-15",
        title="User guide: Café & Straße", metadata={"author": "Ada Lovelace; Béla Bartók"},
    ),
    Facts(
        "notes/Übung heute.md", "prose", "markdown", ("draft",), "2025-06-01T10:00:00",
        title="[Übung]", metadata={"modified": "2025-12-31T23:59:59+01:00", "year": "1998"},
    ),
    Facts("notes/zero.md", "prose", "markdown", date="2026-01-01"),
    Facts("data/rows.csv", "data", "csv", mtime=-86_400),
    Facts(
        "papers/paper.pdf", "prose", "pdf", title="On pies",
        metadata={"created": "2019-12-31", "author": "Чайковский"},
        # The second page is empty.
        pages=(1, 3, 3, 5), chunks=(range(1, 2), range(2, 4), range(4, 5), range(5, 9)),
    ),
    Facts("papers/slides.pdf", "prose", "pdf", date="2020-02-29", pages=(1,)),
)  # fmt: skip


def _matches(pattern: str, text: str) -> bool:
    parts = {"*": ".*", "?": "."}
    regex = "".join(parts.get(character, re.escape(character)) for character in pattern.casefold())
    return re.fullmatch(regex, text.casefold(), re.DOTALL) is not None


def _path(facts: Facts, value: str) -> bool:
    if "*" in value or "?" in value:
        return _matches(value, facts.path)
    wanted, parts = value.strip("/").split("/"), facts.path.casefold().split("/")
    folded = [part.casefold() for part in wanted]
    return any(parts[at : at + len(folded)] == folded for at in range(len(parts)))


_FOLDED = str.maketrans({"é": "e", "ó": "o", "á": "a", "ß": "ss", "ü": "u", "й": "и"})


def _contains(text: str, value: str) -> bool:
    return _matches(f"*{value.casefold().translate(_FOLDED)}*", text.casefold().translate(_FOLDED))


_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "": operator.eq,
}  # fmt: skip


def _compares(known: str, value: str) -> bool:
    """Of texts that begin with the larger unit: as much of what is known as the value has."""
    if not known:
        return False
    value = re.sub(r"(\d+)d", lambda found: _utc_day(int(found[1])), value)
    if ".." in value:
        low, high = value.split("..")
        return (not low or known[: len(low)] >= low) and (not high or known[: len(high)] <= high)
    sign = re.match("[<>]=?|", value)
    assert sign
    bare = value[sign.end() :]
    return _OPERATORS[sign[0]](known[: len(bare)], bare)


def _page(facts: Facts, value: str, lines: Lines) -> bool:
    return any(
        set(facts.lines_of(page)) & set(lines)
        for page in range(1, len(facts.pages) + 1)
        if _compares(f"{page:03}", re.sub(r"\d+", lambda found: f"{int(found[0]):03}", value))
    )


_PREDICATES: dict[str, Callable[[Facts, str, Lines], bool]] = {
    "path": lambda facts, value, _: _path(facts, value),
    "kind": lambda facts, value, _: facts.kind == value.lower(),
    "ext": lambda facts, value, _: facts.path.casefold().endswith(
        f".{value.lstrip('.').casefold()}"
    ),
    "lang": lambda facts, value, _: facts.language == value.lower(),
    "tag": lambda facts, value, _: any(
        _matches(wanted, tag)
        for wanted in (value.strip("#/"), value.strip("#/") + "/*")
        for tag in facts.tags
    ),
    "name": lambda facts, value, _: any(_matches(value, name) for name in facts.names),
    "title": lambda facts, value, _: _contains(facts.title, value),
    "author": lambda facts, value, _: _contains(facts.metadata.get("author", ""), value),
    "year": lambda facts, value, _: _compares(facts.year, value.replace("-", "..")),
    "created": lambda facts, value, _: _compares(facts.created, value),
    "modified": lambda facts, value, _: _compares(facts.modified, value),
    "page": lambda facts, value, lines: _page(facts, value.replace("-", ".."), lines),
    "after": lambda facts, value, _: facts.day >= (value + "-01-01")[:10],
    "before": lambda facts, value, _: facts.day < (value + "-01-01")[:10],
}

_DATES = [
    "2026", "2026-01", "2025-06-01", ">2025", ">=2026", "<2026-01-15", "<=2026-01", ">=2019-12-31",
    "2025-06..2025-12", "..2020", "2026-01-15..", "2019..2026-01-01", ">7d", "<=3d", "9999", "0001",
]  # fmt: skip
_VALUES = {
    "path": [
        "src/*", "*.py", "src", "tests", "app.py", "SRC/APP.PY", "*[id]*", "[id]", "src/web/",
        "*übung*", "notes/Übung heute.md", "s?c/*", "nothing", "*", "web/app.tsx", "papers",
    ],
    "kind": ["code", "prose", "DATA"],
    "ext": ["py", ".py", "TSX", "d.ts", "s", "md"],
    "lang": ["python", "Markdown", "cobol"],
    "tag": [
        "billing", "#Billing", "guide", "guide/start", "gui", "draft", "guide/", "gui*",
        "g*/s*", "guide/*", "*", "#draft/", "?raft",
    ],
    "name": ["main", "APP", "test_*", "*app*", "m"],
    "title": ["guide", "USER GUIDE", "cafe", "CAFÉ", "strasse", "[ubung]", "on*pie", "guide?user"],
    "author": ["lovelace", "Bela Bartok", "BARTÓK", "a*k", "чайковскии", "Чайковский", "grace"],
    "year": ["1998", ">=2020", "<2020", "2019..2020", "2019-2026", "<=1998", ">2026", "..1999"],
    "created": _DATES,
    "modified": _DATES,
    "page": ["1", "2", "3", "4", "5", "2-3", "1..2", ">=3", "<2", ">1", "<=9", "4.."],
    "after": ["2026", "2026-01", "2026-01-15", "2023-11-14", "1969-12-31"],
    "before": ["2026", "2026-01", "2026-01-15", "2023-11-15", "1969-12-31"],
}  # fmt: skip

Terms = list[tuple[bool, str, str]]
_TERMS = st.sampled_from(
    [(field, value) for field, values in _VALUES.items() for value in values]
).flatmap(lambda term: st.tuples(st.booleans(), st.just(term[0]), st.just(term[1])))


def _holds(facts: Facts, lines: Lines, terms: Terms) -> bool:
    for name, predicate in _PREDICATES.items():
        values = [value for negated, field, value in terms if field == name and not negated]
        bounds = [value for value in values if value[0] in "<>"]
        either = [value for value in values if value not in bounds]
        if either and not any(predicate(facts, value, lines) for value in either):
            return False
        if not all(predicate(facts, value, lines) for value in bounds):
            return False
    return not any(
        _PREDICATES[field](facts, value, lines) for negated, field, value in terms if negated
    )


@pytest.fixture
def filled(store: Store, root: Root, put: Any) -> Store:
    for facts in _DOCUMENTS:
        put(
            store,
            root,
            facts.path,
            *("\n".join(["apple pie"] * len(lines)) for lines in facts.chunks),
            names=facts.names,
            mtime=facts.mtime,
            kind=facts.kind,
            language=facts.language,
            tags=facts.tags,
            date=facts.date,
            title=facts.title,
            metadata=facts.metadata,
            pages=facts.pages,
        )
    model = store.model("m", 2)
    ids = [pending.id for pending in store.pending(model, 100)]
    store.put_vectors(model, ids, np.ones((len(ids), 2), np.float32))
    cards = store.pending_cards(model, 100)
    store.put_cards(model, cards, np.ones((len(cards), 2), np.float32))
    return store


def _written(terms: Terms) -> str:
    return " ".join(
        f"{'-' if negated else ''}{field}:{f'{chr(34)}{value}{chr(34)}' if ' ' in value else value}"
        for negated, field, value in terms
    )


@given(terms=st.lists(_TERMS, min_size=1, max_size=4))
@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_filter_agrees_with_a_predicate_wherever_it_is_used(terms: Terms, filled: Store) -> None:
    expected = {
        (facts.path, lines.start)
        for facts in _DOCUMENTS
        for lines in facts.chunks
        if _holds(facts, lines, terms)
    }
    documents = {path for path, _ in expected}
    where = filters.compile(_written(terms))
    assert where is not None
    question, everything = np.ones(2, np.float32), [*range(1, len(_DOCUMENTS) + 1)]

    assert {
        (m.chunk.path, m.chunk.start) for m in matching(filled, ["appl"], 100, where)
    } == expected
    nearest = filled.nearest(1, question, 100, where)
    by_vector = filled.chunks([chunk_id for chunk_id, _ in nearest]).values()
    assert {(stored.chunk.path, stored.chunk.start) for stored in by_vector} == expected
    first = filled.outlines(filled.first_chunks(everything, 100, where)).values()
    assert {(one.document.path, one.chunk.start) for one in first} == expected
    by_path = filled.match_paths(
        ["appl", "py", "md", "ts", "tsx", "csv", "src", "d", "pdf"], 100, where
    )
    by_card = filled.nearest_cards(1, question, 100, where)
    for found in (by_path, by_card):
        ids = filled.documents_by_id([identifier for identifier, _ in found]).values()
        assert {document.path for document in ids} == documents
    assert filled.count_matching(where) == len(documents)
    excluding = filled.excluding(where, everything)
    assert {number for number, clauses in excluding.items() if not clauses} >= {
        document.id
        for document in filled.documents_by_id(everything).values()
        if document.path in documents
    }


@pytest.mark.parametrize("field", _VALUES)
def test_the_values_of_the_test_above_tell_documents_apart(field: str, filled: Store) -> None:
    sizes = set()
    for value in _VALUES[field]:
        where = filters.compile(_written([(False, field, value)]))
        sizes.add(len(matching(filled, ["appl"], 100, where)))
    assert len(sizes) > 1


@pytest.mark.parametrize("wanted", ["project", "#Project", "project/", "pro", "project/alpha"])
def test_a_filter_and_the_tags_that_keep_documents_out_mean_the_same(
    store: Store, root: Root, put: Any, wanted: str
) -> None:
    tags = {
        put(store, root, f"{n}.md", "text", tags=(tag,)): tag
        for n, tag in enumerate(
            ["project", "Project/Alpha", "#project", "projects", "alpha/project"]
        )
    }
    left_out = {number for number, tag in tags.items() if fields.has_tag(tag, wanted)}
    assert left_out == store.tagged(root, [wanted])
    found = store.match_paths(["md"], 9, filters.compile(f"tag:{wanted}"))
    assert left_out == {number for number, _ in found}


def test_a_filter_narrows_before_ranking(store: Store, root: Root, put: Any) -> None:
    for number in range(40):
        put(store, root, f"src/{number}.md", "apple apple")
    put(store, root, "doc/far.md", "apple in a longer text that ranks below all the others")
    model = store.model("m", 2)
    pending = store.pending(model, 100)
    rows = [[0.0, 1.0] if item.path == "doc/far.md" else [1.0, 0.0] for item in pending]
    store.put_vectors(model, [item.id for item in pending], np.array(rows, np.float32))
    where = filters.compile("path:doc/*")
    assert [match.chunk.path for match in matching(store, ["appl"], 1, where)] == ["doc/far.md"]
    nearest = store.nearest(model, np.array([1, 0.1], np.float32), 1, where)
    assert [store.chunks([chunk])[chunk].chunk.path for chunk, _ in nearest] == ["doc/far.md"]


def test_an_absolute_path_narrows_to_one_of_several_roots(
    store: Store, tmp_path: Path, put: Any
) -> None:
    for name in ("One", "two"):
        put(store, store.add_root(str(tmp_path / name)), "src/a.md", "apple")
    for expression in (f"path:{tmp_path.as_posix()}/one/*", f"path:{tmp_path.as_posix()}/one"):
        found = matching(store, ["appl"], 5, filters.compile(expression))
        assert [match.document.id for match in found] == [1]
    assert len(matching(store, ["appl"], 5, filters.compile("path:src/*"))) == 2


@pytest.mark.parametrize("expression", ["", "   ", "\n"])
def test_an_empty_filter_is_none(expression: str) -> None:
    assert filters.compile(expression) is None


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("authr:x", "did you mean author?"),
        ("colour:x", "fields: path, ext, kind, lang, name, tag, title, author, year, created"),
        ("src", "field:value"),
        ("path:", "field:value"),
        ('path:""', "path:src"),
        ('path:"open', "a quote is not closed"),
        ('path:"a"b', "field:value"),
        ("--kind:code", "field:value"),
        ("kind:source", "code, prose, data"),
        ("after:tomorrow", "after:2026-01-31"),
        ("after:2025..2026", "created:>=2026-01"),
        ("before:>2026", "modified:2025..2026-06"),
        ("year:20", "year:>=2020"),
        ("year:>=20a0", "'20a0' is no year"),
        ("year:>", "is no year"),
        ("year:2021..2019", "ends before it begins"),
        ("created:2026-13", "'2026-13' is no date"),
        ("created:..", "is no date"),
        ("created:2025-09..2025-06", "ends before it begins"),
        ("modified:>7x", "modified:>7d"),
        ("page:0", "page:3"),
        ("page:5-3", "ends before it begins"),
        ("page:three", "'three' is no page"),
        ("before:2026-02-30", "before:2026-01-31"),
        ("after:2026-1-1", "after:2026-01-31"),
        ("after:2026-01-01T10", "after:2026-01-31"),
        ("path:" + "*a" * 20, "too many stars"),
        (" ".join(["ext:py"] * 200), "terms"),
        ("path:" + "a" * 20_000, "longer than"),
    ],
)
def test_what_is_no_filter_says_what_to_write(expression: str, hint: str) -> None:
    with pytest.raises(QueryError, match=re.escape(hint)):
        filters.compile(expression)


@given(
    expression=st.text(max_size=60) | st.from_regex(r'(-?[a-z]{2,8}:["*?<>=.\[\]\\\w-]{0,9} ?)+')
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_filter_or_a_query_error(expression: str, filled: Store) -> None:
    try:
        where = filters.compile(expression)
    except QueryError:
        return
    found = {match.document.id for match in matching(filled, ["appl"], 100, where)}
    assert len(found) == (len(_DOCUMENTS) if where is None else filled.count_matching(where))


@pytest.mark.parametrize(
    ("value", "ago"), [("today", 0), ("Yesterday", 1), ("5d", 5), ("2W", 14), ("0d", 0)]
)
def test_days_may_be_so_long_ago(value: str, ago: int, store: Store, root: Root, put: Any) -> None:
    for days in (ago - 1, ago, ago + 1):
        put(store, root, f"{days}.md", "apple", date=_utc_day(days))
    for sign, expected in (
        ("", {ago}), (">=", {ago - 1, ago}), (">", {ago - 1}), ("<", {ago + 1}),
    ):  # fmt: skip
        found = matching(store, ["appl"], 9, filters.compile(f"created:{sign}{value}"))
        assert {match.chunk.path for match in found} == {f"{days}.md" for days in expected}


@pytest.mark.parametrize("value", ["1m", "13m", "1y", "9999y", "9999m", "9999w"])
def test_months_and_years_ago_are_days(value: str, store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", "apple", date=_utc_day())
    assert matching(store, ["appl"], 9, filters.compile(f"created:>{value}"))
    assert not matching(store, ["appl"], 9, filters.compile(f"created:<{value}"))


def test_comparisons_of_a_field_bound_it_and_values_are_alternatives(filled: Store) -> None:
    both = matching(filled, ["appl"], 9, filters.compile("year:>=2019 year:<2020"))
    assert {match.chunk.path for match in both} == {"papers/paper.pdf"}
    either = matching(filled, ["appl"], 9, filters.compile("year:1998 year:2020"))
    assert {match.chunk.path for match in either} == {"notes/Übung heute.md", "papers/slides.pdf"}


def test_an_index_of_an_older_format_can_be_asked_for_authors_and_dates(
    path: Path, tmp_path: Path, put: Any, before_step: Any
) -> None:
    with Store.open(path) as store:
        put(
            store, store.add_root(str(tmp_path / "project")), "a.md", "apple",
            title="Äpfel", date="2020-05-01", metadata={"Authors": "Ada", "updated": "2021-01-01"},
        )  # fmt: skip
        before_step(store, "_details")
    with Store.open(path) as store:
        assert store._database.value("PRAGMA user_version") == VERSION
        for where in ("author:ada", "title:apfel", "year:2020", "created:2020-05", "modified:2021"):
            assert len(matching(store, ["appl"], 5, filters.compile(where))) == 1
