"""Questions and what answers them, read from JSON lines or from a folder in BEIR's layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_agent.errors import QueryError


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
    BEIR's are ``{"_id", "text"}``.

    Raises:
        QueryError: the file cannot be read, or a line of it is not a topic; names file and line.
    """
    folder = path.is_dir()
    queries = path / "queries.jsonl" if folder else path
    qrels_file = path / "qrels" / "test.tsv"
    qrels = _read_qrels(qrels_file) if folder and qrels_file.is_file() else {}
    name = path.resolve().name if folder else ""
    topics: dict[str, Topic] = {}
    for where, row in _json_lines(queries):
        topic = _topic(row, where, name, qrels)
        if topic.id in topics:
            raise QueryError(f"{where}: the id {topic.id} occurs twice; give each topic its own")
        topics[topic.id] = topic
    return list(topics.values())


def _topic(
    row: Mapping[str, Any], where: str, name: str, qrels: Mapping[str, tuple[Qrel, ...]]
) -> Topic:
    identifier = row.get("id", row.get("_id"))
    query = row.get("query", row.get("text"))
    if identifier is None or not isinstance(query, str):
        raise QueryError(f'{where}: a topic needs an "id" and a "query" of text')
    try:
        relevant = tuple(_qrel(item) for item in row.get("relevant", ()))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise QueryError(f'{where}: "relevant" must be a list of {{"path", …}}') from error
    return Topic(
        id=str(identifier),
        query=query,
        relevant=relevant or qrels.get(str(identifier), ()),
        collection=row.get("set") or name,
        repo=row.get("repo") or name,
        language=row.get("language") or name,
        kind=row.get("kind") or name,
        split=row.get("split") or "",
    )


def _qrel(row: Mapping[str, Any]) -> Qrel:
    return Qrel(
        path=str(row["path"]),
        start=row.get("start"),
        end=row.get("end"),
        relevance=int(row.get("relevance", 1)),
        primary=bool(row.get("primary", True)),
    )


def _read_qrels(path: Path) -> dict[str, tuple[Qrel, ...]]:
    qrels: dict[str, tuple[Qrel, ...]] = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[1:], start=2):  # the first line names the columns
        fields = line.split("\t")
        try:
            topic, document, grade = fields[0], fields[1], int(fields[2])
        except (IndexError, ValueError) as error:
            raise QueryError(f"{path}:{number}: expected topic, document and grade") from error
        if grade > 0:
            qrels[topic] = (*qrels.get(topic, ()), Qrel(path=document, relevance=grade))
    return qrels


def _json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each object of the file with ``path:line``."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise QueryError(f"there is no file {path}; name one with a question a line") from error
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"cannot read topics from {path}: {error}") from error
    # Not splitlines(): JSON strings may hold U+2028 and the like unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise QueryError(f"{where}: not JSON ({error.msg})") from error
        if not isinstance(row, dict):
            raise QueryError(f"{where}: expected an object")
        yield where, row
