from __future__ import annotations

from dataclasses import replace

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval.enough import doubts
from rag_agent.eval.judging import Judged
from rag_agent.eval.validating import FOLDS, cross_validate, left_out


def documents(one: Judged, collection: str, index: str) -> Judged:
    return replace(one, collection=collection, index=index, repo=index, about_documents=True)


def test_what_is_left_out_is_measured(judged: list[Judged]) -> None:
    (name, reached), *others = cross_validate(judged, words=True).items()
    present = reached.pop("ndcg10_present")
    assert name == "own"
    assert reached == {"ndcg10": 1.0, "ndcg10_macro": 1.0, "recall10": 1.0, "n": 6}
    assert 0 < present <= 1
    assert not others


def test_a_question_without_vectors_says_nothing_of_the_weights_with_them(
    judged: list[Judged],
) -> None:
    assert cross_validate(judged) == {}


def test_what_nothing_is_left_to_fit_to_is_an_error(judged: list[Judged]) -> None:
    with pytest.raises(QueryError, match="no question is left to fit weights to"):
        cross_validate(judged[:1], words=True)


def test_sets_with_as_many_repositories_as_are_left_out_in_turn_are_not_doubted(
    judged: list[Judged],
) -> None:
    enough = [replace(judged[0], repo=str(number)) for number in range(FOLDS)]
    assert doubts(enough) == []
    assert left_out(enough) == {"own": "repositories"}
    fewer = [replace(one, collection="other") for one in enough[1:]]
    (doubt,) = doubts([*enough, *fewer])
    assert doubt.startswith("other: too few repositories to judge by (7, of 8")


def test_a_collection_of_documents_is_left_out_as_a_whole(judged: list[Judged]) -> None:
    notes, manual = documents(judged[0], "notes", "a"), documents(judged[0], "manual", "b")
    both = [notes, manual]
    assert left_out([notes]) == {"notes": "questions"}  # there is nothing else to learn from
    assert left_out(both) == {"manual": "collection", "notes": "collection"}
    assert doubts(both) == []


def test_collections_of_one_index_do_not_teach_each_other(judged: list[Judged]) -> None:
    notes, manual = documents(judged[0], "notes", "a"), documents(judged[0], "manual", "a")
    assert set(left_out([notes, manual]).values()) == {"questions"}
    other = documents(judged[0], "other", "b")
    assert set(left_out([notes, manual, other]).values()) == {"collection"}
    silent = replace(other, relevant=other.relevant & False)
    with pytest.raises(QueryError, match="no question is left"):
        cross_validate([notes, manual, silent], words=True)
