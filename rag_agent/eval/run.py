"""Answers to topics: one line of JSON a topic, written as they are found."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_agent.errors import QueryError
from rag_agent.eval.outputs import PARTIAL, check_file, write_lines, writing
from rag_agent.eval.reading import reading
from rag_agent.eval.rows import Row, as_row, json_rows, parse
from rag_agent.eval.topics import Topic
from rag_agent.progress import Progress, Report, silent
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Chunk, Hit, SearchResults

# A reader is shown all passages of the first file (three, of a long document up to five), so many
# of the second, then one of each: one a file hits the changed lines of 61 % of bug fixes, this plan
# of 75 %, and further ones cost reading.
PASSAGES_OF_SECOND = 2
_LONGEST_MS = 10**9  # more than eleven days for one question is no time that was taken
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """One place of a run. ``path`` is as the topics name it.

    ``tokens`` is what its whole text and the line that names it cost, by
    ``tokens.estimate_tokens``. The first place of each file says when the file is met in the answer
    that ``reading`` reads: ``named`` is after how many tokens its place, ``lines`` has the numbers
    of its lines with the tokens after which each has been read. None in runs that do not say.
    """

    path: str
    start: int | None
    end: int | None
    score: float
    tokens: int | None = None
    named: int | None = None
    lines: Sequence[tuple[int, int]] | None = None


def run_queries(
    search: Callable[[str, int], SearchResults],
    topics: Sequence[Topic],
    out: Path,
    *,
    limit: int = 10,
    passages: bool = False,
    answers: bool = True,
    rename: Callable[[str], str] = str,
    label: str = "",
    report: Report = silent,
) -> int:
    """Answer every topic and write ``out``; returns how many were answered in this call.

    Lines are ``{"id", "results": [{"path", "start", "end", "score", "tokens"}], "took_ms"}``: one
    result a file, or with ``passages`` the best of its places. The first of each file has ``named``
    and ``lines`` as well, unless ``answers`` says that it is not our answer that a model would get
    (the search of another tool). ``took_ms`` is the time of the
    search in a process that is warm: the first question is asked once before, unmeasured, so that
    it does not pay for loading the model. A query that cannot be understood has no results and an
    ``"error"``. ``rename`` maps the paths of hits to those of the topics.

    Until it is complete the run lies in ``<out>.partial``; interrupted, the next call with the
    same topics, settings and ``label`` (say, what is indexed) goes on from there. Lines in it that
    are not whole are answered again.

    Raises:
        QueryError: ``out`` cannot be written; said before the first question.
    """
    check_file(out)
    partial = out.with_name(out.name + PARTIAL)
    header = _header(topics, limit=limit, passages=passages, answers=answers, label=label)

    def answered_now(topic: Topic) -> str:
        return _answer(search, topic, limit, passages, answers, rename)

    with writing(partial):
        answered = _resume(partial, header)
    missing = [topic for topic in topics if topic.id not in answered]
    write_lines(partial, [header, *answered.values()])
    done = len(topics) - len(missing)
    for number, topic in enumerate(missing):
        report(Progress("answer", done + number, len(topics), topic.id))
        if number == 0:
            answered_now(topic)
        answered[topic.id] = answered_now(topic)
        _append(partial, answered[topic.id])
    report(Progress("answer", len(topics), len(topics)))
    write_lines(out, [answered[topic.id] for topic in topics])
    with writing(partial):
        partial.unlink()
    return len(missing)


def read_run(path: Path) -> dict[str, list[Result]]:
    """The results of each topic, best first.

    Raises:
        QueryError: the file cannot be read, a line is no answer, or one to a question that was
            answered above; names file and line.
    """
    return {answer.id: answer.results for answer in _read(path)}


def read_times(path: Path) -> dict[str, float]:
    """The milliseconds of each topic that the run says them of.

    Raises:
        QueryError: as ``read_run``.
    """
    return {answer.id: answer.took_ms for answer in _read(path) if answer.took_ms is not None}


def one_a_file(run: Mapping[str, Sequence[Result]]) -> dict[str, list[Result]]:
    """The run with the first place of each file only: what it would be without ``passages``."""
    kept: dict[str, list[Result]] = {}
    for name, results in run.items():
        first: dict[str, Result] = {}
        for result in results:
            first.setdefault(result.path, result)
        kept[name] = list(first.values())
    return kept


def places(hits: Sequence[Hit], *, passages: bool) -> list[Result]:
    """The best place of each hit, or those that the plan shows of it, as they are read."""
    found: list[Result] = []
    for rank, hit in enumerate(hits):
        further = (len(hit.more), PASSAGES_OF_SECOND - 1)[rank] if passages and rank < 2 else 0
        chunks = (hit.chunk, *hit.more[:further])
        found.extend(
            Result(hit.path, chunk.start, chunk.end, hit.score, reading_cost(chunk))
            for chunk in chunks
        )
        # A reader is told their names beside the lines, which are the same there.
        found.extend(
            Result(path, hit.chunk.start, hit.chunk.end, hit.score, estimate_tokens(path))
            for path in hit.copies
        )
    return found


def reading_cost(chunk: Chunk) -> int:
    """Tokens of a chunk's text and of the line that names its place."""
    return estimate_tokens(f"{chunk.location}\n{chunk.text}\n")


def _answer(
    search: Callable[[str, int], SearchResults],
    topic: Topic,
    limit: int,
    passages: bool,
    answers: bool,
    rename: Callable[[str], str],
) -> str:
    answer: dict[str, Any] = {"id": topic.id, "results": []}
    found: SearchResults | None = None
    started = time.perf_counter()
    try:
        found = search(topic.query, limit)
    except QueryError as error:
        answer["error"] = str(error)
    answer["took_ms"] = round((time.perf_counter() - started) * 1000, 3)
    met = reading(found) if found and answers else {}
    for place in places(found.hits if found else (), passages=passages):
        row: dict[str, Any] = asdict(place) | {"path": rename(place.path)}
        del row["named"], row["lines"]
        # Only with the file's first place.
        if (file := met.pop(place.path, None)) is not None:
            row |= {"named": file.named, "lines": sorted(file.lines.items())}
        answer["results"].append(row)
    return json.dumps(answer, ensure_ascii=False)


def _header(topics: Sequence[Topic], **settings: object) -> str:
    digest = hashlib.sha256()
    for topic in topics:
        digest.update(json.dumps([topic.id, topic.query]).encode("ascii"))
    return json.dumps({"topics": digest.hexdigest(), **settings})


def _resume(partial: Path, header: str) -> dict[str, str]:
    """The whole lines of an interrupted run of the same kind, by topic.

    It is our own: a line that was being written, or that a disk has lost, is no reason to stop.
    """
    if not partial.is_file():
        return {}
    first, *lines = partial.read_bytes().split(b"\n")
    if first != header.encode("ascii"):
        return {}
    whole: dict[str, str] = {}
    for number, written in enumerate(lines[:-1], start=2):  # the last piece has no end
        try:
            line = written.decode("utf-8")
            where = f"{partial}:{number}"
            whole[_answered(as_row(parse(line, where), where)).id] = line
        except (QueryError, UnicodeDecodeError) as error:
            _log.warning("%s:%d is answered again: %s", partial, number, error)
    return whole


def _append(partial: Path, line: str) -> None:
    with (
        writing(partial),
        partial.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as stream,
    ):
        stream.write(line + "\n")


@dataclass(frozen=True, slots=True)
class _Answer:
    """A line of a run."""

    id: str
    results: list[Result]
    took_ms: float | None


def _read(path: Path) -> Iterator[_Answer]:
    seen: set[str] = set()
    for row in json_rows(path, "an answer a line, as `eval run` writes it"):
        answer = _answered(row)
        if answer.id in seen:
            raise QueryError(f"{row.where}: the id {answer.id} occurs twice; leave one of them")
        seen.add(answer.id)
        yield answer


def _answered(row: Row) -> _Answer:
    identifier = row.name("id")
    if row.fields.get("results") is None:
        raise row.unexpected("results", "a list of objects")
    results = [_result(place) for place in row.each("results")]
    return _Answer(identifier, results, row.number("took_ms", None, least=0, most=_LONGEST_MS))


def _result(row: Row) -> Result:
    start = row.whole("start", None, least=1)
    return Result(
        row.path("path"),
        start,
        row.whole("end", None, least=start or 1),
        row.number("score", 0.0),
        row.whole("tokens", None),
        row.whole("named", None),
        row.pairs("lines", least=(1, 0)),
    )
