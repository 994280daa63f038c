from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rag_agent.eval.judging import KEYS, Judged, judge
from rag_agent.eval.topics import Qrel, Topic
from rag_agent.store import Store


def test_every_question_is_put_to_the_index_of_its_repository(
    judged: list[Judged], stores: Path
) -> None:
    assert [one.repo for one in judged] == ["one"] * 3 + ["two"] * 3
    for one in judged:
        assert one.values.shape == (len(one.paths), len(KEYS))
        assert one.relevant.sum() == 1
        assert not one.hybrid
        assert one.index == str((stores / one.repo).resolve())


@pytest.mark.parametrize(
    ("answers", "about_documents"),
    [
        (["notes.md"], True),
        (["src/orders.py"], False),
        (["notes.md", "src/orders.py"], False),
        (["notes.md", "guide.md", "src/orders.py"], True),
        (["gone.md"], False),
    ],
)
def test_a_question_is_about_documents_if_most_of_its_answers_are(
    stores: Path, answers: list[str], about_documents: bool
) -> None:
    topic = Topic("x", "orders", tuple(Qrel(path) for path in answers), "own", "one")
    (one,) = judge([topic], stores, None)
    assert one.about_documents == about_documents


def test_questions_without_an_index_are_left_out(stores: Path) -> None:
    topics = [Topic("x", "where", (Qrel("a.py"),), "own", "three")]
    assert list(judge(topics, stores, None)) == []


def test_questions_to_an_index_of_nothing_are_left_out(stores: Path, tmp_path: Path) -> None:
    shutil.copytree(stores, tmp_path / "stores")
    (tmp_path / "stores" / "three").mkdir()
    Store.open(tmp_path / "stores" / "three" / "rag.db").close()
    topics = [
        Topic("x", "orders", (Qrel("src/orders.py"),), "own", repo) for repo in ("three", "two")
    ]
    assert [one.repo for one in judge(topics, tmp_path / "stores", None)] == ["two"]


@pytest.mark.parametrize("repo", ["x" * 300, "a\0b", "\ud800"])
def test_a_repository_that_cannot_be_a_folder_has_no_index(stores: Path, repo: str) -> None:
    assert list(judge([Topic("x", "where", (Qrel("a.py"),), "own", repo)], stores, None)) == []
