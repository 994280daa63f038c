from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval import fit
from rag_agent.eval.enough import doubts
from rag_agent.eval.topics import Qrel, Topic
from rag_agent.index import Index

ANSWERS = {"orders": "src/orders.py", "parcels": "src/parcels.py", "invoices": "src/invoices.py"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes of two projects with the same files, by words alone."""
    folder = tmp_path_factory.mktemp("fit")
    for repo in ("one", "two"):
        root = folder / repo
        for name, path in ANSWERS.items():
            for place in (path, f"tests/test_{name}.py"):
                file = root / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"def count_{name}():\n    return len({name})\n", encoding="utf-8")
        with Index(root, folder / "stores" / repo, "environment") as index:
            index.sync(root, vectors=False)
    return folder / "stores"


@pytest.fixture(scope="module")
def judged(stores: Path) -> list[fit.Judged]:
    topics = [
        Topic(f"{repo}-{name}", f"how are {name} counted", (Qrel(path),), "own", repo)
        for repo in ("one", "two")
        for name, path in ANSWERS.items()
    ]
    return list(fit.judge(topics, stores, None))


def test_every_question_is_put_to_the_index_of_its_repository(judged: Any) -> None:
    assert [one.repo for one in judged] == ["one"] * 3 + ["two"] * 3
    for one in judged:
        assert one.values.shape == (len(one.paths), len(fit.KEYS))
        assert one.relevant.sum() == 1
        assert not one.hybrid


def test_what_answers_is_told_from_its_test(judged: Any) -> None:
    table = fit.fit(judged, words=True)
    assert table["test: test"][0] < 0
    assert table.keys() == set(fit.KEYS)
    scores = fit.cross_validate(judged, words=True)
    assert scores["own"] == {"ndcg10": 1.0, "ndcg10_macro": 1.0, "recall10": 1.0, "n": 6}


def test_what_is_fixed_is_not_left_to_labels(judged: Any) -> None:
    table = fit.fit(judged, words=True)
    for key, weights in fit.FIXED.items():
        assert table[key] == weights


def test_the_tables_are_written_as_a_module(judged: Any, tmp_path: Path) -> None:
    table = fit.fit(judged, words=True)
    (tmp_path / "weights.py").write_text(fit.write_tables(table, table), encoding="utf-8")
    written = runpy.run_path(str(tmp_path / "weights.py"))
    assert written["HYBRID"] == {key: row for key, row in table.items() if any(row)}
    assert written["WORDS_ONLY"] == written["HYBRID"]


def test_questions_without_an_index_are_left_out(stores: Path) -> None:
    topics = [Topic("x", "where", (Qrel("a.py"),), "own", "three")]
    assert list(fit.judge(topics, stores, None)) == []


@pytest.mark.parametrize("repo", ["x" * 300, "a\0b", "\ud800"])
def test_a_repository_that_cannot_be_a_folder_has_no_index(stores: Path, repo: str) -> None:
    assert list(fit.judge([Topic("x", "where", (Qrel("a.py"),), "own", repo)], stores, None)) == []


def test_what_nothing_is_left_to_fit_to_is_an_error(judged: Any) -> None:
    with pytest.raises(QueryError, match="no question is left to fit weights to"):
        fit.cross_validate(judged[:1], words=True)
    with pytest.raises(QueryError, match="no question is left to fit weights to"):
        fit.fit(judged)  # no vectors in these indexes


def test_sets_with_as_many_repositories_as_are_left_out_in_turn_are_not_doubted(
    judged: Any,
) -> None:
    enough = [replace(judged[0], repo=str(number)) for number in range(fit.FOLDS)]
    assert doubts(enough) == []
    fewer = [replace(one, collection="other") for one in enough[1:]]
    (doubt,) = doubts([*enough, *fewer])
    assert doubt.startswith("other: too few repositories to judge by (7, of 8")
