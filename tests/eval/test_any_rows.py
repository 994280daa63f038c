"""Whatever JSON stands in a field, and whatever bytes in a file: it is taken, or one error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_agent.errors import QueryError
from rag_agent.eval import (
    Qrel,
    Result,
    Topic,
    compare_runs,
    read_run,
    read_times,
    read_topics,
    run_queries,
    score_run,
    score_table,
)
from rag_agent.eval.naming import renaming
from rag_agent.eval.published import read_published
from rag_agent.eval.score import Group
from rag_agent.types import Chunk, Hit, SearchResults

GROUPS: tuple[Group, ...] = get_args(Group)
HUGE = (10**400, -(10**400), 2**53, 1e308, 5e-324)
# Halves of surrogate pairs too, which JSON can say and UTF-8 cannot.
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-3, 200)
    | st.sampled_from(HUGE)
    | st.floats()
    | TEXTS
    | st.sampled_from(["t1", "a.py", "1", "./", "..\\"])
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PLACES = st.fixed_dictionaries(
    {"path": st.just("a.py") | VALUES},
    optional=dict.fromkeys(("start", "end", "relevance", "primary"), VALUES),
)
FOUND = st.fixed_dictionaries(
    {"path": st.just("a.py") | VALUES},
    optional=dict.fromkeys(("start", "end", "score", "tokens", "named", "lines"), VALUES),
)
QUESTIONS = st.fixed_dictionaries(
    {"id": st.just("t1") | VALUES, "query": st.just("how?") | VALUES},
    optional={
        "relevant": st.lists(PLACES, max_size=3) | VALUES,
        **dict.fromkeys(("_id", "text", "set", "repo", "language", "kind", "split"), VALUES),
    },
)
ANSWERS = st.fixed_dictionaries(
    {"id": st.just("t1") | VALUES, "results": st.lists(FOUND, max_size=3) | VALUES},
    optional={"took_ms": VALUES, "error": VALUES},
)
TOPIC = Topic("t1", "how?", (Qrel("a.py", 1, 9),), "semble")
Read = TypeVar("Read")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def outcome(read: Callable[[Path], Read], path: Path) -> tuple[Read | None, str]:
    """What is read and no message, or nothing and that of the one error that is allowed."""
    try:
        return read(path), ""
    except QueryError as error:
        return None, str(error)


def is_placed(message: str, path: Path) -> bool:
    """Whether it names the file, and the line where it is about one."""
    place = re.escape(str(path))
    known = rf"{place}:\d+: |there is no question in {place}; |cannot read {place}: "
    return not message or re.match(known, message) is not None


def printed(scored: Any) -> None:
    json.dumps(scored, allow_nan=False).encode("ascii")


@given(rows=st.lists(QUESTIONS, min_size=1, max_size=3))
@example(rows=[{"id": "a", "query": "q", "repo": 1}, {"id": "b", "query": "q", "repo": "b"}])
@example(rows=[{"id": "\ud800", "query": "\udc00", "relevant": [{"path": "\ud800"}]}])
@example(rows=[{"id": 1, "query": "q", "relevant": [{"path": "a.py", "relevance": 0}]}])
def test_any_question_is_taken_and_scored_or_an_error(folder: Path, rows: list[Any]) -> None:
    path = written(folder / "q.jsonl", rows)
    read, message = outcome(read_topics, path)
    assert is_placed(message, path)
    topics = read or []
    found: dict[str, list[Result]] = {topic.id: [] for topic in topics}
    for group in GROUPS:
        scored = score_run(topics, found, by=group)
        printed(scored)
        score_table(scored)
    assert all(place.relevance > 0 for topic in topics for place in topic.relevant)


@given(rows=st.lists(ANSWERS, min_size=1, max_size=3))
@example(rows=[{"id": "t1", "results": [{"path": "a.py", "tokens": 2**53 - 1}], "took_ms": 0}])
def test_any_answer_is_taken_and_scored_or_an_error(folder: Path, rows: list[Any]) -> None:
    path = written(folder / "run.jsonl", rows)
    run, message = outcome(read_run, path)
    times, same = outcome(read_times, path)
    assert message == same
    assert is_placed(message, path)
    scored = score_run([TOPIC], run or {}, times=times or {})
    printed(scored)
    assert all(0 <= mean["micro"] <= 1 for mean in scored["total"].values())
    printed(compare_runs([TOPIC], run or {}, {}, samples=10))


@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@example(content=b'{"id": 1, "query": "\xff"}')
@example(content=b"[" * 200_000)
@example(content=b"\x00" * 40)
@pytest.mark.parametrize("read", [read_topics, read_run, read_times])
def test_any_bytes_are_taken_or_an_error(
    folder: Path, read: Callable[[Path], object], content: bytes
) -> None:
    path = folder / "any.jsonl"
    path.write_bytes(content)
    _, message = outcome(read, path)
    assert is_placed(message, path)


@given(content=st.binary(max_size=60), columns=st.booleans())
@example(content=b"1\td1\t1\xe2\x80\xa8\n", columns=True)
def test_any_judgments_are_taken_or_an_error(folder: Path, content: bytes, columns: bool) -> None:
    (folder / "beir" / "qrels").mkdir(parents=True, exist_ok=True)
    written(folder / "beir" / "queries.jsonl", [{"_id": "1", "text": "q"}])
    judgments = folder / "beir" / "qrels" / "test.tsv"
    judgments.write_bytes(b"query-id\tcorpus-id\tscore\n" * columns + content)
    topics, message = outcome(read_topics, folder / "beir")
    assert is_placed(message, judgments)
    assert all(place.relevance > 0 for topic in topics or () for place in topic.relevant)


@given(value=VALUES | st.lists(st.fixed_dictionaries(
    {name: st.just("x") | VALUES for name in ("set", "name", "source")},
    optional={name: VALUES | st.dictionaries(TEXTS, PLAIN, max_size=2)
              for name in ("measures", "p50_ms", "measure", "repositories")},
), max_size=2))  # fmt: skip
def test_any_published_figures_and_any_names_are_taken_or_an_error(
    folder: Path, value: Any
) -> None:
    for path, read in (
        (folder / "published.json", lambda path: read_published(path, "x")),
        (folder / "_map.json", lambda path: renaming([path.parent])("a.md")),
    ):
        path.write_text(json.dumps(value), encoding="utf-8")
        _, message = outcome(read, path)
        assert not message or message.startswith(f"{path}: ")


def _search(query: str, limit: int) -> SearchResults:
    # The name of a file that is not UTF-8, as Python has it.
    name = "caf\udce9.py"
    hit = Hit(name, 0.5, Chunk(name, 1, 9, "text"))
    return SearchResults(query, "lexical", (hit,), 1.0)


@given(
    broken=st.lists(
        st.binary(max_size=30) | ANSWERS.map(lambda row: json.dumps(row).encode()), max_size=3
    )
)
@example(broken=[b'{"id": "t2", "resu'])
@example(broken=[b"[1]", b"\x00" * 9, b"[" * 200_000])
@example(broken=[b'{"id": "t2", "results": 5}'])
def test_whatever_is_in_the_journal_of_a_run_the_run_is_whole(
    folder: Path, broken: list[bytes]
) -> None:
    topics = [TOPIC, Topic("t2", "why?"), Topic("q\ud800", "who?")]
    out = folder / "answers.jsonl"

    def interrupt(progress: Any) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_queries(_search, topics, out, report=interrupt)
    with out.with_name(out.name + ".partial").open("ab") as stream:
        stream.write(b"".join(line + b"\n" for line in broken))
    run_queries(_search, topics, out)
    assert list(read_run(out)) == ["t1", "t2", "q\ud800"]
    assert [path.name for path in folder.glob("answers*")] == ["answers.jsonl"]
