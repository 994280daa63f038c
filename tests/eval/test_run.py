from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import Result, Topic, one_a_file, read_run, read_times, run_queries
from rag_agent.eval.reading import reading
from rag_agent.progress import Progress
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Chunk, Hit, SearchResults

TOPICS = [Topic("t1", "first"), Topic("t2", "zweite Frage"), Topic("t3", "third")]


def hit(path: str, *starts: int) -> Hit:
    chunks = [Chunk(path, start, start + 9, "text") for start in starts]
    return Hit(path, 0.5, chunks[0], more=tuple(chunks[1:]))


class Searcher:
    """A search with fixed hits that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def __call__(self, query: str, limit: int) -> SearchResults:
        self.asked.append((query, limit))
        hits = (hit("a.py", 1, 11, 21), hit("b.py", 1, 11, 21), hit("c.py", 1, 11, 21))
        return SearchResults(query, "lexical", hits, 1.0)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_has_one_line_a_topic_and_one_result_a_file(tmp_path: Path) -> None:
    search, out = Searcher(), tmp_path / "new" / "run.jsonl"
    assert run_queries(search, TOPICS, out, limit=3) == 3
    assert search.asked[1:] == [("first", 3), ("zweite Frage", 3), ("third", 3)]
    first, place = rows(out)[0], reading(search("first", 3))["a.py"]
    assert first["id"] == "t1"
    cost = estimate_tokens("a.py:1-10\ntext\n")
    assert first["results"][0] == {
        "path": "a.py",
        "start": 1,
        "end": 10,
        "score": 0.5,
        "tokens": cost,
        "named": place.named,
        "lines": [[line, tokens] for line, tokens in sorted(place.lines.items())],
    }
    assert [result["path"] for result in first["results"]] == ["a.py", "b.py", "c.py"]
    assert first["took_ms"] >= 0
    assert [path.name for path in out.parent.iterdir()] == ["run.jsonl"]


def test_passages_show_three_of_the_first_file_two_of_the_second_then_one(tmp_path: Path) -> None:
    run_queries(Searcher(), TOPICS[:1], tmp_path / "run.jsonl", passages=True)
    found = read_run(tmp_path / "run.jsonl")["t1"]
    assert [(place.path, place.start) for place in found] == [
        ("a.py", 1),
        ("a.py", 11),
        ("a.py", 21),
        ("b.py", 1),
        ("b.py", 11),
        ("c.py", 1),
    ]


def test_only_the_first_place_of_a_file_says_when_the_file_is_met(tmp_path: Path) -> None:
    run_queries(Searcher(), TOPICS[:1], tmp_path / "run.jsonl", passages=True)
    places = rows(tmp_path / "run.jsonl")[0]["results"]
    assert ["named" in place for place in places] == [True, False, False, True, False, True]
    assert [place["named"] for place in places if "named" in place] == [
        place.named for place in read_run(tmp_path / "run.jsonl")["t1"] if place.lines is not None
    ]


def test_a_run_of_another_tool_says_what_places_cost_and_nothing_of_our_answer(
    tmp_path: Path,
) -> None:
    run_queries(Searcher(), TOPICS[:1], tmp_path / "run.jsonl", answers=False)
    places = rows(tmp_path / "run.jsonl")[0]["results"]
    assert [place.keys() & {"tokens", "named", "lines"} for place in places] == [{"tokens"}] * 3


def test_the_first_question_is_asked_once_before_so_that_its_time_is_that_of_a_warm_search(
    tmp_path: Path,
) -> None:
    search, out = Searcher(), tmp_path / "run.jsonl"
    run_queries(search, TOPICS, out)
    assert [query for query, _ in search.asked] == ["first", "first", "zweite Frage", "third"]
    assert list(read_times(out)) == ["t1", "t2", "t3"]


def test_a_run_that_does_not_say_its_times_has_none(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    lines = ['{"id": 1, "results": []}', '{"id": 2, "results": [], "took_ms": 7}']
    run.write_text("\n".join(lines), encoding="utf-8")
    assert read_times(run) == {"2": 7.0}


def test_the_first_places_of_a_run_with_passages_are_the_run_without(tmp_path: Path) -> None:
    run_queries(Searcher(), TOPICS, tmp_path / "passages", passages=True)
    run_queries(Searcher(), TOPICS, tmp_path / "files")
    passages, files = read_run(tmp_path / "passages"), read_run(tmp_path / "files")
    assert passages != files
    assert one_a_file(passages) == files


def test_paths_are_renamed_to_those_of_the_topics(tmp_path: Path) -> None:
    run_queries(Searcher(), TOPICS[:1], tmp_path / "r", rename=lambda path: f"src/{path}")
    assert read_run(tmp_path / "r")["t1"][0].path == "src/a.py"


def interrupt_at(number: int) -> Any:
    def report(progress: Progress) -> None:
        if progress.done == number:
            raise KeyboardInterrupt

    return report


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out, search = tmp_path / "run.jsonl", Searcher()
    with pytest.raises(KeyboardInterrupt):
        run_queries(search, TOPICS, out, report=interrupt_at(2))
    assert not out.exists()
    partial = tmp_path / "run.jsonl.partial"
    with partial.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "t3", "resul')  # as a kill in the middle of a line leaves it
    assert run_queries(search, TOPICS, out) == 1
    # Twice the first of each call: the first time it is not measured.
    assert [q for q, _ in search.asked] == ["first", "first", "zweite Frage", "third", "third"]
    assert [row["id"] for row in rows(out)] == ["t1", "t2", "t3"]


@pytest.mark.parametrize(
    "changed", [{"limit": 5}, {"passages": True}, {"answers": False}, {"label": "other index"}]
)
def test_an_interrupted_run_of_other_settings_is_not_mixed_in(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_queries(Searcher(), TOPICS, tmp_path / "run.jsonl", report=interrupt_at(2))
    assert run_queries(Searcher(), TOPICS, tmp_path / "run.jsonl", **changed) == 3


def test_a_finished_run_is_replaced_by_the_next(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run_queries(Searcher(), TOPICS, out)
    assert run_queries(Searcher(), TOPICS[:2], out) == 2
    assert set(read_run(out)) == {"t1", "t2"}


def test_a_query_that_is_an_error_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    def search(query: str, limit: int) -> SearchResults:
        if query == "first":
            raise QueryError("the query is empty")
        return Searcher()(query, limit)

    assert run_queries(search, TOPICS, tmp_path / "run.jsonl") == 3
    first, second, _ = rows(tmp_path / "run.jsonl")
    assert (first["results"], first["error"]) == ([], "the query is empty")
    assert second["results"]


def test_progress_names_each_topic_and_ends_at_the_total(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run_queries(Searcher(), TOPICS, tmp_path / "run.jsonl", report=seen.append)
    assert [(progress.done, progress.item) for progress in seen] == [
        (0, "t1"),
        (1, "t2"),
        (2, "t3"),
        (3, ""),
    ]


def test_runs_of_other_tools_are_read(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(
        '{"id": 4, "results": [{"path": ".\\\\src\\\\a.py"}, {"path": "././b.py", "start": 1}]}\n',
        encoding="utf-8",
    )
    assert read_run(run) == {
        "4": [Result("src/a.py", None, None, 0.0), Result("b.py", 1, None, 0.0)]
    }


PLACE = '{"id": 2, "results": [{"path": "a", %s}]}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "not JSON (Expecting value)"),
        ("[" * 200_000, "this JSON cannot be read ("),
        ('{"id": %s}' % ("9" * 5000), "this JSON cannot be read ("),
        ("[]", "expected an object, not []"),
        ('{"results": []}', "expected id to be text or a whole number, there is none"),
        ('{"id": true, "results": []}', "expected id to be text or a whole number, not True"),
        ('{"id": 2}', "expected results to be a list of objects, there is none"),
        ('{"id": 2, "results": 5}', "expected results to be a list of objects, not 5"),
        ('{"id": 2, "results": [3]}', "expected results[0] to be an object, not 3"),
        ('{"id": 1, "results": []}', "the id 1 occurs twice"),
        ('{"id": "1", "results": []}', "the id 1 occurs twice"),
        ('{"id": 2, "results": [{"path": "./"}]}', "expected results[0].path to be a path"),
        (PLACE % '"start": "1"', "results[0].start to be a whole number of 1 or more, not '1'"),
        (PLACE % '"start": 0', "results[0].start to be a whole number of 1 or more, not 0"),
        (PLACE % '"start": 5, "end": 4', "results[0].end to be a whole number of 5 or more, not 4"),
        (PLACE % '"tokens": 1e400', "results[0].tokens to be a whole number of 0 or more, not inf"),
        (PLACE % '"named": 1.5', "results[0].named to be a whole number of 0 or more, not 1.5"),
        (PLACE % '"score": NaN', "results[0].score to be a number, not nan"),
        (PLACE % '"lines": [[1, 2], [3]]', "results[0].lines to be pairs of whole numbers"),
        (PLACE % '"lines": 7', "results[0].lines to be pairs of whole numbers"),
        (
            '{"id": 2, "results": [], "took_ms": NaN}',
            "took_ms to be a number from 0 to 1,000,000,000, not",
        ),
        (
            '{"id": 2, "results": [], "took_ms": -1}',
            "took_ms to be a number from 0 to 1,000,000,000, not",
        ),
        (
            '{"id": 2, "results": [], "took_ms": Infinity}',
            "took_ms to be a number from 0 to 1,000,000,000, not",
        ),
    ],
)
def test_a_bad_line_of_a_run_is_named_with_what_was_expected(
    tmp_path: Path, line: str, message: str
) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text('{"id": 1, "results": []}\n' + line, encoding="utf-8")
    for read in (read_run, read_times):
        with pytest.raises(QueryError) as caught:
            read(run)
        assert str(caught.value).startswith(f"{run}:2: ")
        assert message in str(caught.value)


def test_a_run_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'{"id": "caf\xe9"}')
    for name in ("latin", "absent", ".", "x" * 300):
        with pytest.raises(QueryError, match=r"no file|cannot read"):
            read_run(tmp_path / name)
