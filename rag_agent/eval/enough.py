"""Whether questions are enough to fit weights to, and to judge the weights by."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.errors import QueryError
from rag_agent.eval.fit import FOLDS, Judged, usable
from rag_agent.eval.topics import Topic

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

    Where repositories are fewer than folds, ``cross_validate`` leaves out single questions.
    """
    repositories: dict[str, set[str]] = {}
    for one in judged:
        repositories.setdefault(one.collection, set()).add(one.repo)
    return [
        f"{name or 'questions of no set'}: too few repositories to judge by ({len(found)}, of "
        f"{FOLDS} that are needed), so questions are left out one by one instead of repositories, "
        "and these figures flatter"
        for name, found in sorted(repositories.items())
        if len(found) < FOLDS
    ]
