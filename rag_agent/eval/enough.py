"""Whether questions are enough to fit weights to, and to judge the weights by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_agent.errors import QueryError
from rag_agent.eval.judging import Judged, usable
from rag_agent.eval.topics import Topic
from rag_agent.eval.validating import FOLDS, left_out

FEWEST = FOLDS
"""Questions: one for each part that is left out in turn. Weights worth using need hundreds."""


def require_labels(topics: Sequence[Topic]) -> None:
    """Find out before the work that there are too few questions.

    Raises:
        QueryError: fewer than ``FEWEST`` have labels.
    """
    labelled = sum(bool(topic.relevant) for topic in topics)
    if labelled < FEWEST:
        raise QueryError(
            f"eval fit needs {FEWEST} questions or more that say what is relevant, hundreds for "
            f"weights of use; there are {labelled}"
        )


def require_sets(names: Iterable[str], topics: Sequence[Topic]) -> None:
    """Find out that there are questions of each set that is named.

    Raises:
        QueryError: there are none; says which sets there are.
    """
    known = {topic.collection for topic in topics if topic.relevant}
    for name in names:
        if name not in known:
            others = ", ".join(sorted(known - {""})) or "no set"
            raise QueryError(f"no question is of the set {name}; they are of {others}")


def require_usable(judged: Sequence[Judged], *, words: bool) -> None:
    """Find out that enough questions found what weights can be fitted to.

    Raises:
        QueryError: fewer than ``FEWEST`` did.
    """
    count = len(usable(judged, words))
    if count >= FEWEST:
        return
    vectors = "" if words else " in an index with all vectors"
    way = "" if words else "; run `rag-agent index` for them, or fit --words"
    raise QueryError(
        f"eval fit needs {FEWEST} questions or more that find{vectors} both a file that answers "
        f"and one that does not; {count} of {len(judged)} do. Are the indexes STORES/<repo>/rag.db?"
        f"{way}"
    )


def doubts(judged: Sequence[Judged]) -> list[str]:
    """For each collection with too few repositories to judge the weights by, a line that says so.

    They are those of which ``cross_validate`` leaves out single questions.
    """
    return [
        f"{name or 'questions of no set'}: too few repositories to judge by ({_repos(judged, name)}"
        f", of {FOLDS} that are needed), so questions are left out one by one instead of "
        "repositories, and these figures flatter"
        for name, unit in left_out(judged).items()
        if unit == "questions"
    ]


def _repos(judged: Sequence[Judged], collection: str) -> int:
    return len({one.repo for one in judged if one.collection == collection})
