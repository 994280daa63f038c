"""Questions put to their indexes: what is measured of each candidate, and which of them answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_agent.eval.naming import prefix_below, renaming
from rag_agent.eval.topics import Topic
from rag_agent.progress import Progress, Report, silent
from rag_agent.search.candidates import find_candidates
from rag_agent.search.dense import read_meaning
from rag_agent.search.facts import Facts, corpus_of
from rag_agent.search.fusion import scaled, stand_in
from rag_agent.search.question import read_question
from rag_agent.search.signals import SIGNALS
from rag_agent.store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rag_agent.types import Embedder

    Array = NDArray[np.float64]

KEYS = tuple(signal.key for signal in SIGNALS)


@dataclass(frozen=True)
class Judged:
    """A question with the values of its candidates, of shape (files, signals).

    ``relevant`` marks candidates that answer, ``wanted`` counts all files that do. It is about
    documents if most of these are some. ``index`` is the folder of the index.
    """

    collection: str
    repo: str
    language: str
    length: float
    paths: tuple[str, ...]
    values: Array
    prose: Array
    relevant: NDArray[np.bool_]
    wanted: int
    hybrid: bool
    about_documents: bool
    index: str


def judge(
    topics: Sequence[Topic],
    stores: Path,
    embedder: Embedder | None,
    report: Report = silent,
) -> Iterator[Judged]:
    """Every labelled question put to the index of its repository, ``stores/<repo>/rag.db``.

    Questions whose repository has no index there, or one of nothing, are left out; without
    ``embedder``, or where an index lacks vectors, words alone are measured.
    """
    by_repo: dict[str, list[Topic]] = {}
    for topic in topics:
        if topic.relevant and _has_index(stores / topic.repo):
            by_repo.setdefault(topic.repo, []).append(topic)
    total, done = sum(map(len, by_repo.values())), 0
    for repo, asked in sorted(by_repo.items()):
        folder = (stores / repo).resolve()
        with Store.open(folder / "rag.db", readonly=True) as store:
            root = next(iter(store.roots()), None)
            if root is None:
                continue
            below = Path(root.path)
            rename = renaming([below], prefix_below(below, repo))
            documents = {
                rename(document.path)
                for document in store.documents(root).values()
                if document.kind == "prose"
            }
            reader = _with_all_vectors(store, embedder)
            for topic in asked:
                report(Progress("answer", done, total, topic.id))
                yield _judged(store, reader, topic, rename, documents, str(folder))
                done += 1
    report(Progress("answer", total, total))


def usable(judged: Sequence[Judged], words: bool) -> list[Judged]:
    """Those that weights can be fitted to: they found a file that answers, and one that does not.

    Without ``words`` only those by meaning as well.
    """
    both = [one for one in judged if one.relevant.any() and not one.relevant.all()]
    return both if words else [one for one in both if one.hybrid]


def _has_index(folder: Path) -> bool:
    try:
        return (folder / "rag.db").is_file()
    except OSError:  # a repository's name that is no name of a folder
        return False


def _with_all_vectors(store: Store, embedder: Embedder | None) -> Embedder | None:
    model = store.find_model(embedder.fingerprint) if embedder else None
    return embedder if model is not None and not store.count_pending(model) else None


def _judged(
    store: Store,
    embedder: Embedder | None,
    topic: Topic,
    rename: Callable[[str], str],
    documents: set[str],
    index: str,
) -> Judged:
    question, _ = read_question(store, topic.query)
    reading = read_meaning(store, embedder, question.text)
    with store.snapshot():
        files = find_candidates(store, question, reading, None)
        corpus = corpus_of(store)
    facts = [Facts(question, file, corpus) for file in files]
    values = scaled(facts)
    hybrid = reading.result()[0] is not None
    if hybrid:
        stand_in(values, len(files))
    table = np.array([[value or 0.0 for value in values[key]] for key in KEYS], np.float64)
    labels = {place.path for place in topic.relevant}
    paths = tuple(rename(file.document.path) for file in files)
    return Judged(
        collection=topic.collection,
        repo=topic.repo,
        language=topic.language,
        length=question.length,
        paths=paths,
        values=table.T,
        prose=np.array([float(one.kind == "prose") for one in facts]),
        relevant=np.array([path in labels for path in paths], bool),
        wanted=len(labels),
        hybrid=hybrid,
        about_documents=2 * len(labels & documents) > len(labels),
        index=index,
    )
