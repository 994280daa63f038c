from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import Qrel, Result, Topic, read_topics, score_run


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


PLACE = '{"id": 1, "query": "a", "relevant": [{"path": "a"}, {"path": "b", %s}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": 1, "query": "a"}\n{"id": 1, "query": "b"}', "q.jsonl:2: the id 1 occurs twice"),
        ('{"id": 1, "query": "a"}\nnot json', "q.jsonl:2: not JSON"),
        ("[1]", "q.jsonl:1: expected an object"),
        ("[" * 200_000, "q.jsonl:1: this JSON cannot be read ("),
        ('{"id": %s}' % ("9" * 5000), "q.jsonl:1: this JSON cannot be read ("),
        ('{"id": 1}', "q.jsonl:1: expected query to be text, there is none"),
        ('{"query": "a"}', "q.jsonl:1: expected id to be text or a whole number, there is none"),
        ('{"id": 1.5, "query": "a"}', "expected id to be text or a whole number, not 1.5"),
        (
            '{"id": 1, "query": "a", "repo": ["a"]}',
            "q.jsonl:1: expected repo to be text, not ['a']",
        ),
        ('{"id": 1, "query": "a", "repo": 1}', "q.jsonl:1: expected repo to be text, not 1"),
        ('{"id": 1, "query": "a", "relevant": {}}', "expected relevant to be a list of objects"),
        ('{"id": 1, "query": "a", "relevant": ["a.py"]}', "expected relevant[0] to be an object"),
        (PLACE % '"start": "a", "end": 2', "relevant[1].start to be a whole number of 1 or more"),
        (
            PLACE % '"start": 3, "end": 2',
            "relevant[1].end to be a whole number of 3 or more, not 2",
        ),
        (PLACE % '"start": 3', "relevant[1].end to be there with the other of the two, there is"),
        (PLACE % '"end": 3', "relevant[1].start to be there with the other of the two, there is"),
        (
            PLACE % '"relevance": 2000',
            "relevant[1].relevance to be a whole number from -100 to 100",
        ),
        (PLACE % '"relevance": 1e400', "relevant[1].relevance to be a whole number from -100 to"),
        (PLACE % '"relevance": 0.5', "relevant[1].relevance to be a whole number from -100 to 100"),
        (PLACE % '"relevance": "1"', "relevant[1].relevance to be a whole number from -100 to 100"),
        (PLACE % '"primary": "no"', "relevant[1].primary to be true or false, not 'no'"),
        ('{"id": 1, "query": "a", "relevant": [{"start": 1, "end": 1}]}', "relevant[0].path to be"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_topics(write(tmp_path / "q.jsonl", text))
    assert message in str(caught.value)


@pytest.mark.parametrize("grade", ["0", "-1", "-1.0"])
def test_places_of_grade_0_and_below_do_not_answer(tmp_path: Path, grade: str) -> None:
    graded = f'{{"path": "b.py", "relevance": {grade}}}'
    both, none = (
        f'{{"id": "{name}", "query": "q", "relevant": [{places}]}}'
        for name, places in (("both", f'{{"path": "a.py", "relevance": 2.0}}, {graded}'),
                             ("none", graded))
    )  # fmt: skip
    topics = read_topics(write(tmp_path / "q.jsonl", f"{both}\n{none}\n"))
    assert [topic.relevant for topic in topics] == [(Qrel("a.py", relevance=2),), ()]
    found = {name: [Result("a.py", None, None, 1.0)] for name in ("both", "none")}
    scored = score_run(topics, found)
    assert (scored["n"], scored["total"]["recall10"]["micro"]) == (1, 1.0)


def test_paths_of_labels_are_written_as_those_of_runs(tmp_path: Path) -> None:
    line = r'{"id": 1, "query": "q", "relevant": [{"path": ".\\src\\a.py"}, {"path": "././b.py"}]}'
    (topic,) = read_topics(write(tmp_path / "q.jsonl", line))
    assert topic.relevant == (Qrel("src/a.py"), Qrel("b.py"))


def test_null_says_the_same_as_nothing_and_a_mark_before_the_first_line_is_no_character(
    tmp_path: Path,
) -> None:
    line = (
        '\ufeff{"id": null, "_id": 1, "query": "q", "repo": null, "relevant": [{"path": "a", '
        '"start": null, "end": null, "relevance": null, "primary": null}]}'
    )
    (topic,) = read_topics(write(tmp_path / "q.jsonl", line))
    assert topic == Topic("1", "q", (Qrel("a"),))


HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (HEADER + "1 d3 2\n", "test.tsv:2: expected topic, document and grade"),
        (HEADER + "1\td1\t1\n\n1\td2\t101\n", "test.tsv:4: expected topic, document and grade"),
        (HEADER + "1\td1\t0.5\n", "test.tsv:2: expected topic, document and grade"),
        (HEADER + f"1\td1\t{'9' * 5000}\n", "test.tsv:2: expected topic, document and grade"),
        (HEADER + "1\t\t1\n", "test.tsv:2: expected topic, document and grade"),
        (HEADER + "1\td1\t1\n1\td1\t0\n", "test.tsv:3: d1 has another grade for 1 in a line above"),
        ("1\td1\t1\n", "test.tsv:1: expected the names of the columns, not a judgment"),
        (b"caf\xe9\n", "; expected a judgment a line"),
    ],
)
def test_a_bad_qrels_line_is_named(tmp_path: Path, qrels: str | bytes, message: str) -> None:
    write(tmp_path / "b" / "queries.jsonl", '{"_id": "1", "text": "what?"}')
    written = qrels if isinstance(qrels, bytes) else qrels.encode()
    write(tmp_path / "b" / "qrels" / "test.tsv", "").write_bytes(written)
    with pytest.raises(QueryError) as caught:
        read_topics(tmp_path / "b")
    assert message in str(caught.value)


def test_a_judgment_that_occurs_twice_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "b" / "queries.jsonl", '{"_id": "1", "text": "what?"}')
    write(tmp_path / "b" / "qrels" / "test.tsv", HEADER + "1\td1\t1\n1\td1\t1\n")
    (topic,) = read_topics(tmp_path / "b")
    assert topic.relevant == (Qrel("d1"),)


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_a_file_without_a_question_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(QueryError, match=r"there is no question in .*q\.jsonl; give it a question"):
        read_topics(write(tmp_path / "q.jsonl", text))


def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"cannot read|there is no file"):
        read_topics(tmp_path / ("x" * 300))


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"there is no file .*absent\.jsonl"):
        read_topics(tmp_path / "absent.jsonl")
