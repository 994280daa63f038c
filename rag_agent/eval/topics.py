"""Questions and what answers them, read from JSON lines or from a folder in BEIR's layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_agent.errors import QueryError
from rag_agent.eval.rows import Row, json_rows, numbered, plain_path

HIGHEST_GRADE = 100
"""Of relevance. The gain is exponential; grades in use are below ten."""

_QUESTIONS = "a question a line"
_JUDGMENTS = "a judgment a line"
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Qrel:
    """A place that answers a topic: a file, or lines ``start`` to ``end`` of it.

    ``relevance`` is a grade of 1 or more. A ``primary`` place answers by itself.
    """

    path: str
    start: int | None = None
    end: int | None = None
    relevance: int = 1
    primary: bool = True


@dataclass(frozen=True, slots=True)
class Topic:
    """A question, the places that answer it, and the groups it is counted in.

    Without ``relevant`` it can be run but not scored. ``collection`` names the set of topics; a
    measure may be defined for one collection only.
    """

    id: str
    query: str
    relevant: tuple[Qrel, ...] = ()
    collection: str = ""
    repo: str = ""
    language: str = ""
    kind: str = ""
    split: str = ""


def read_topics(path: Path) -> list[Topic]:
    """The topics of a ``.jsonl`` file, or of a folder with ``queries.jsonl`` (and BEIR's qrels).

    Lines are ``{"id", "query"}`` with optional ``relevant`` (``[{"path", "start", "end",
    "primary", "relevance"}]``), ``set``, ``repo``, ``language``, ``kind`` and ``split``;
    BEIR's are ``{"_id", "text"}``. Places of grade 0 and below do not answer and are left out.

    Raises:
        QueryError: the file cannot be read, has no topic, or a line of it is none; names file and
            line.
    """
    folder = _is_folder(path)
    queries = path / "queries.jsonl" if folder else path
    qrels_file = path / "qrels" / "test.tsv"
    qrels = _read_qrels(qrels_file) if folder and not _is_missing(qrels_file) else {}
    name = path.resolve().name if folder else ""
    topics: dict[str, Topic] = {}
    for row in json_rows(queries, _QUESTIONS):
        topic = _topic(row, name, qrels)
        if topic.id in topics:
            raise QueryError(f"{row.where}: the id {topic.id} occurs twice; give each its own")
        topics[topic.id] = topic
    if not topics:
        raise QueryError(f"there is no question in {queries}; give it {_QUESTIONS}")
    return list(topics.values())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long, a folder above that may not be read
        return False


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it is there, and who reads it says what is wrong
        return False
    return False


def _topic(row: Row, name: str, qrels: Mapping[str, tuple[Qrel, ...]]) -> Topic:
    identifier = row.name(row.either("id", "_id"))
    places = (_qrel(place) for place in row.each("relevant"))
    relevant = tuple(place for place in places if place.relevance > 0)
    return Topic(
        id=identifier,
        query=row.text(row.either("query", "text")),
        relevant=relevant or qrels.get(identifier, ()),
        collection=row.text("set", "") or name,
        repo=row.text("repo", "") or name,
        language=row.text("language", "") or name,
        kind=row.text("kind", "") or name,
        split=row.text("split", ""),
    )


def _qrel(row: Row) -> Qrel:
    start = row.whole("start", None, least=1)
    end = row.whole("end", None, least=start or 1)
    if (start is None) != (end is None):
        raise row.unexpected("end" if end is None else "start", "there with the other of the two")
    return Qrel(
        path=row.path("path"),
        start=start,
        end=end,
        relevance=row.whole("relevance", 1, least=-HIGHEST_GRADE, most=HIGHEST_GRADE),
        primary=row.flag("primary", True),
    )


def _read_qrels(path: Path) -> dict[str, tuple[Qrel, ...]]:
    grades: dict[tuple[str, str], int] = {}
    for number, (where, line) in enumerate(numbered(path, _JUDGMENTS)):
        topic, document, grade = (*line.split("\t"), "", "", "")[:3]
        graded = _GRADE.fullmatch(grade.strip()) is not None
        if number == 0:
            if graded:
                raise QueryError(f"{where}: expected the names of the columns, not a judgment")
            continue
        document = plain_path(document)
        if not topic or not document or not graded or abs(int(grade)) > HIGHEST_GRADE:
            raise QueryError(
                f"{where}: expected topic, document and grade (a whole number from "
                f"{-HIGHEST_GRADE} to {HIGHEST_GRADE}) with tabs between them"
            )
        if grades.setdefault((topic, document), int(grade)) != int(grade):
            raise QueryError(f"{where}: {document} has another grade for {topic} in a line above")
    qrels: dict[str, list[Qrel]] = {}
    for (topic, document), relevance in grades.items():
        if relevance > 0:
            qrels.setdefault(topic, []).append(Qrel(document, relevance=relevance))
    return {topic: tuple(found) for topic, found in qrels.items()}
