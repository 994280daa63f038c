from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import Qrel, read_topics


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_question_needs_no_labels(tmp_path: Path) -> None:
    (topic,) = read_topics(write(tmp_path / "q.jsonl", '{"id": 7, "query": "how?"}\n\n'))
    assert (topic.id, topic.query, topic.relevant) == ("7", "how?", ())


def test_labels_and_groups_are_read(tmp_path: Path) -> None:
    line = (
        '{"id": "s1", "set": "semble", "repo": "chi", "language": "go", "split": "dev", '
        '"kind": "symbol", "query": "mux", "relevant": [{"path": "mux.go", "primary": true, '
        '"start": 3, "end": 9}, {"path": "tree.go", "primary": false}]}'
    )
    (topic,) = read_topics(write(tmp_path / "q.jsonl", line))
    assert topic.relevant == (Qrel("mux.go", 3, 9), Qrel("tree.go", primary=False))
    assert (topic.collection, topic.repo, topic.language) == ("semble", "chi", "go")
    assert (topic.kind, topic.split) == ("symbol", "dev")


def test_a_beir_folder_joins_queries_and_qrels_and_drops_grade_0(tmp_path: Path) -> None:
    folder = tmp_path / "cisi"
    write(folder / "queries.jsonl", '{"_id": "1", "text": "what?"}\n{"_id": "2", "text": "why?"}\n')
    qrels = "query-id\tcorpus-id\tscore\n1\td3\t2\n1\td4\t0\n1\td5\t1\n"
    write(folder / "qrels" / "test.tsv", qrels)
    first, second = read_topics(folder)
    assert first.relevant == (Qrel("d3", relevance=2), Qrel("d5"))
    assert (first.repo, first.kind, second.relevant) == ("cisi", "cisi", ())


def test_a_folder_without_qrels_takes_the_labels_in_its_lines(tmp_path: Path) -> None:
    write(
        tmp_path / "set" / "queries.jsonl",
        '{"id": "c", "query": "q", "relevant": [{"path": "a.md", "start": 2, "end": 2}]}',
    )
    (topic,) = read_topics(tmp_path / "set")
    assert topic.relevant == (Qrel("a.md", 2, 2),)


def test_a_line_separator_within_a_question_does_not_end_the_line(tmp_path: Path) -> None:
    (topic,) = read_topics(write(tmp_path / "q.jsonl", '{"id": 1, "query": "a\u2028b"}'))
    assert topic.query == "a\u2028b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": 1, "query": "a"}\n{"id": 1, "query": "b"}', "q.jsonl:2: the id 1 occurs twice"),
        ('{"id": 1, "query": "a"}\nnot json', "q.jsonl:2: not JSON"),
        ("[1]", "q.jsonl:1: expected an object"),
        ('{"id": 1}', 'q.jsonl:1: a topic needs an "id" and a "query"'),
        ('{"id": 1, "query": "a", "relevant": ["a.py"]}', 'q.jsonl:1: "relevant" must be'),
        ('{"id": 1, "query": "a", "relevant": [{"start": 1}]}', 'q.jsonl:1: "relevant" must be'),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_topics(write(tmp_path / "q.jsonl", text))
    assert message in str(caught.value)


def test_a_bad_qrels_line_is_named(tmp_path: Path) -> None:
    write(tmp_path / "b" / "queries.jsonl", '{"_id": "1", "text": "what?"}')
    write(tmp_path / "b" / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n1 d3 2\n")
    with pytest.raises(QueryError, match=r"test\.tsv:2: expected topic"):
        read_topics(tmp_path / "b")


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"there is no file .*absent\.jsonl"):
        read_topics(tmp_path / "absent.jsonl")
