from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_agent.errors import QueryError
from rag_agent.store import Store, filters
from rag_agent.types import Root


@dataclass(frozen=True)
class Facts:
    path: str
    kind: str = "code"
    language: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    mtime: int = 1_770_000_000  # 2026-02-02 UTC
    names: tuple[str, ...] = ()

    @property
    def day(self) -> str:
        file_day = datetime.fromtimestamp(self.mtime, timezone.utc).date().isoformat()
        return self.date[:10] or file_day


_DOCUMENTS = (
    Facts("src/app.py", language="python", names=("main", "App"), mtime=1_700_000_000),
    Facts("src/web/App.TSX", language="tsx", names=("App",)),
    Facts("src/[id]/page.d.ts", language="typescript"),
    Facts("tests/test_app.py", language="python", names=("test_main",)),
    Facts("contests/a.py", language="python"),
    Facts("docs/guide.md", "prose", "markdown", ("Billing", "guide/start"), "2026-01-15"),
    Facts("notes/Übung heute.md", "prose", "markdown", ("draft",), "2025-06-01T10:00:00"),
    Facts("notes/zero.md", "prose", "markdown", date="2026-01-01"),
    Facts("data/rows.csv", "data", "csv", mtime=-86_400),
)


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


_PREDICATES: dict[str, Callable[[Facts, str], bool]] = {
    "path": _path,
    "kind": lambda facts, value: facts.kind == value.lower(),
    "ext": lambda facts, value: facts.path.casefold().endswith(f".{value.lstrip('.').casefold()}"),
    "lang": lambda facts, value: facts.language == value.lower(),
    "tag": lambda facts, value: any(
        (tag.casefold() + "/").startswith(value.casefold().lstrip("#") + "/") for tag in facts.tags
    ),
    "name": lambda facts, value: any(_matches(value, name) for name in facts.names),
    "after": lambda facts, value: facts.day >= (value + "-01-01")[:10],
    "before": lambda facts, value: facts.day < (value + "-01-01")[:10],
}

_VALUES = {
    "path": [
        "src/*", "*.py", "src", "tests", "app.py", "SRC/APP.PY", "*[id]*", "[id]", "src/web/",
        "*übung*", "notes/Übung heute.md", "s?c/*", "nothing", "*", "web/app.tsx",
    ],
    "kind": ["code", "prose", "DATA"],
    "ext": ["py", ".py", "TSX", "d.ts", "s", "md"],
    "lang": ["python", "Markdown", "cobol"],
    "tag": ["billing", "#Billing", "guide", "guide/start", "gui", "draft"],
    "name": ["main", "APP", "test_*", "*app*", "m"],
    "after": ["2026", "2026-01", "2026-01-15", "2023-11-14", "1969-12-31"],
    "before": ["2026", "2026-01", "2026-01-15", "2023-11-15", "1969-12-31"],
}  # fmt: skip

_TERMS = st.sampled_from(
    [(field, value) for field, values in _VALUES.items() for value in values]
).flatmap(lambda term: st.tuples(st.booleans(), st.just(term[0]), st.just(term[1])))


def _holds(facts: Facts, terms: list[tuple[bool, str, str]]) -> bool:
    for name, predicate in _PREDICATES.items():
        values = [value for negated, field, value in terms if field == name and not negated]
        if values and not any(predicate(facts, value) for value in values):
            return False
    return not any(
        predicate(facts, value)
        for negated, field, value in terms
        if negated
        for predicate in [_PREDICATES[field]]
    )


@pytest.fixture
def filled(store: Store, root: Root, put: Any) -> Store:
    for facts in _DOCUMENTS:
        put(
            store,
            root,
            facts.path,
            "apple pie",
            names=facts.names,
            mtime=facts.mtime,
            kind=facts.kind,
            language=facts.language,
            tags=facts.tags,
            date=facts.date,
        )
    model = store.model("m", 2)
    ids = [pending.id for pending in store.pending(model, 100)]
    store.put_vectors(model, ids, np.ones((len(ids), 2), np.float32))
    return store


@given(terms=st.lists(_TERMS, min_size=1, max_size=4))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_filter_agrees_with_a_predicate_wherever_it_is_used(
    terms: list[tuple[bool, str, str]], filled: Store
) -> None:
    expression = " ".join(
        f"{'-' if negated else ''}{field}:{f'{chr(34)}{value}{chr(34)}' if ' ' in value else value}"
        for negated, field, value in terms
    )
    expected = {facts.path for facts in _DOCUMENTS if _holds(facts, terms)}
    where = filters.compile(expression)

    assert {match.path for match in filled.match(["appl"], 100, where)} == expected
    nearest = filled.nearest(1, np.ones(2, np.float32), 100, where)
    by_vector = filled.chunks([chunk_id for chunk_id, _ in nearest]).values()
    assert {stored.chunk.path for stored in by_vector} == expected
    by_path = filled.match_paths(["appl", "py", "md", "ts", "tsx", "csv", "src", "d"], 100, where)
    found = filled.documents_by_id([identifier for identifier, _ in by_path]).values()
    assert {document.path for document in found} == expected


def test_a_filter_narrows_before_ranking(store: Store, root: Root, put: Any) -> None:
    for number in range(40):
        put(store, root, f"src/{number}.md", "apple apple")
    put(store, root, "doc/far.md", "apple in a longer text that ranks below all the others")
    model = store.model("m", 2)
    pending = store.pending(model, 100)
    rows = [[0.0, 1.0] if item.path == "doc/far.md" else [1.0, 0.0] for item in pending]
    store.put_vectors(model, [item.id for item in pending], np.array(rows, np.float32))
    where = filters.compile("path:doc/*")
    assert [match.path for match in store.match(["appl"], 1, where)] == ["doc/far.md"]
    nearest = store.nearest(model, np.array([1, 0.1], np.float32), 1, where)
    assert [store.chunks([chunk])[chunk].chunk.path for chunk, _ in nearest] == ["doc/far.md"]


def test_an_absolute_path_narrows_to_one_of_several_roots(
    store: Store, tmp_path: Path, put: Any
) -> None:
    for name in ("One", "two"):
        put(store, store.add_root(str(tmp_path / name)), "src/a.md", "apple")
    for expression in (f"path:{tmp_path.as_posix()}/one/*", f"path:{tmp_path.as_posix()}/one"):
        found = store.match(["appl"], 5, filters.compile(expression))
        assert [match.document_id for match in found] == [1]
    assert len(store.match(["appl"], 5, filters.compile("path:src/*"))) == 2


@pytest.mark.parametrize("expression", ["", "   ", "\n"])
def test_an_empty_filter_is_none(expression: str) -> None:
    assert filters.compile(expression) is None


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("authr:x", "fields: path, kind, ext, lang, tag, name, after, before"),
        ("src", "field:value"),
        ("path:", "field:value"),
        ('path:""', "path:src"),
        ('path:"open', "field:value"),
        ('path:"a"b', "field:value"),
        ("--kind:code", "field:value"),
        ("kind:source", "code, prose, data"),
        ("after:yesterday", "after:2026-01-31"),
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


@given(expression=st.text(max_size=60) | st.from_regex(r'(-?[a-z]{2,6}:["*?\[\]\\\w]{0,9} ?)+'))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_filter_or_a_query_error(expression: str, filled: Store) -> None:
    try:
        where = filters.compile(expression)
    except QueryError:
        return
    assert len(filled.match(["appl"], 100, where)) <= len(_DOCUMENTS)
