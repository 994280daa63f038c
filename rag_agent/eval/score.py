"""Scores of a run: each measure over topics (micro) and over repositories (macro)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from rag_agent.context.render import DEFAULT_TOKENS
from rag_agent.eval.measures import (
    Reader,
    chunk_ndcg,
    line_hit,
    line_hit_within,
    line_recall,
    line_recall_within,
    ndcg,
    read_within,
    recall,
    recall_within,
    reciprocal_rank,
    success,
)
from rag_agent.eval.reading import ASKED_FOR
from rag_agent.eval.run import Result
from rag_agent.eval.topics import Qrel, Topic

Group = Literal["repo", "language", "kind", "split"]
Scores = dict[str, float]
Way = Literal["answer", "places"]
"""How a run is read: the answer that a model gets, or its places, whole ones in their order."""

BUDGETS = (500, 1000, 2000, 4000, ASKED_FOR)  # tokens of answers that a reader takes in


@dataclass(frozen=True, slots=True)
class _Judged:
    """A topic beside its results, in the shapes that measures take.

    ``way`` is how the run can be read, and ``reader`` has read it so.
    """

    collection: str
    results: Sequence[Result]
    files: Sequence[str]
    targets: Sequence[Qrel]
    grades: Mapping[str, int]
    way: Way | None
    reader: Reader

    @property
    def primary(self) -> Mapping[str, int]:
        """Files that answer by themselves; all of them where none is marked."""
        return _grades([t for t in self.targets if t.primary]) or self.grades

    @property
    def lines(self) -> Sequence[Qrel]:
        return [target for target in self.targets if target.start is not None]


def _grades(targets: Sequence[Qrel]) -> dict[str, int]:
    """The grade of each file: the highest of its places."""
    grades: dict[str, int] = {}
    for target in targets:
        grades[target.path] = max(target.relevance, grades.get(target.path, 0))
    return grades


def _ndcg_primary(judged: _Judged) -> float:
    # Secondary files are neither wrong nor wanted: they take up no rank.
    primary = judged.primary
    files = [path for path in judged.files if path in primary or path not in judged.grades]
    return ndcg(files, primary, 10)


def _always(judged: _Judged) -> bool:
    return True


def _has_lines(judged: _Judged) -> bool:
    return bool(judged.lines)


def _is_semble(judged: _Judged) -> bool:
    return judged.collection == "semble"


def _is_read(judged: _Judged) -> bool:
    return judged.way is not None


def _has_read_lines(judged: _Judged) -> bool:
    return judged.way is not None and bool(judged.lines)


_Measure = tuple[str, Callable[[_Judged], bool], Callable[[_Judged], float]]


def _of_files(
    name: str, measure: Callable[[Reader, Collection[str], int], float], budget: int
) -> _Measure:
    return (name, _is_read, lambda j: measure(j.reader, j.grades, budget))


def _of_lines(
    name: str, measure: Callable[[Reader, Sequence[Qrel], int], float], budget: int
) -> _Measure:
    return (name, _has_read_lines, lambda j: measure(j.reader, j.lines, budget))


# A row is a name, whether the measure applies to the topic, and the measure.
MEASURES: tuple[_Measure, ...] = (
    ("ndcg10", _always, lambda j: ndcg(j.files, j.grades, 10)),
    ("ndcg10_primary", _always, _ndcg_primary),
    ("recall5", _always, lambda j: recall(j.files, j.grades, 5)),
    ("recall10", _always, lambda j: recall(j.files, j.grades, 10)),
    ("mrr10", _always, lambda j: reciprocal_rank(j.files, j.grades, 10)),
    ("hit1", _always, lambda j: success(j.files, j.grades, 1)),
    ("ndcg10_chunk", _is_semble, lambda j: chunk_ndcg(j.results, j.targets, 10)),
    ("line_hit5", _has_lines, lambda j: line_hit(j.results, j.lines, 5)),
    ("line_hit10", _has_lines, lambda j: line_hit(j.results, j.lines, 10)),
    ("line_recall10", _has_lines, lambda j: line_recall(j.results, j.lines, 10)),
    *(_of_files(f"recall_{budget}t", recall_within, budget) for budget in BUDGETS),
    *(_of_files(f"read_{budget}t", read_within, budget) for budget in BUDGETS),
    *(_of_lines(f"line_recall_{budget}t", line_recall_within, budget) for budget in BUDGETS),
    _of_lines("line_hit_answer", line_hit_within, DEFAULT_TOKENS),
)


def score_topic(topic: Topic, results: Sequence[Result], way: Way | None = None) -> Scores:
    """Every measure that applies to the topic; files are counted at their first place.

    Those within a budget only where there is a ``way`` to read the run, as ``way_of`` says.
    """
    judged = _Judged(
        collection=topic.collection,
        results=results,
        files=list(dict.fromkeys(result.path for result in results)),
        targets=topic.relevant,
        grades=_grades(topic.relevant),
        way=way,
        reader=Reader(results if way else (), whole=way == "places"),
    )
    return {name: measure(judged) for name, applies, measure in MEASURES if applies(judged)}


def way_of(run: Mapping[str, Sequence[Result]]) -> Way | None:
    """How the run can be read: None if it neither says what is met when nor what places cost."""
    places = [result for results in run.values() for result in results]
    if any(place.lines is not None for place in places):
        return "answer"
    return "places" if places and all(place.tokens is not None for place in places) else None


def score_run(
    topics: Sequence[Topic],
    run: Mapping[str, Sequence[Result]],
    *,
    by: Group | None = None,
    times: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Means of all measures; topics without labels are left out, those not in the run score 0.

    ``{"n", "missing", "repositories", "total": {measure: {"micro", "macro", "n"}}}``, with ``by``
    the same totals in ``"by": {group: …}``, and with ``times`` (``read_times``) their
    ``"latency"``.
    """
    judged = [topic for topic in topics if topic.relevant]
    way = way_of(run)
    rows = [(topic, score_topic(topic, run.get(topic.id, ()), way)) for topic in judged]
    scored: dict[str, Any] = {
        "n": len(rows),
        "missing": sum(topic.id not in run for topic in judged),
        "repositories": len({topic.repo for topic in judged}),
        "total": _means(rows),
    }
    if by is not None:
        names = sorted({str(getattr(topic, by)) for topic in judged})
        groups = {name: [row for row in rows if getattr(row[0], by) == name] for name in names}
        scored["by"] = {name: _means(group) for name, group in groups.items()}
    if times is not None:
        scored["latency"] = latency([times[t.id] for t in judged if t.id in times])
    return scored


def latency(times: Sequence[float]) -> dict[str, float]:
    """``{"n", "p50", "p95"}`` of milliseconds; nearest ranks, so each is a time that was taken."""
    ordered = sorted(times)
    found: dict[str, float] = {"n": len(ordered)}
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        if ordered:
            found[name] = ordered[math.ceil(share * len(ordered)) - 1]
    return found


def recall_curve(
    topics: Sequence[Topic],
    run: Mapping[str, Sequence[Result]],
    budgets: Sequence[int],
    measure: Callable[[Reader, Collection[str], int], float] = recall_within,
) -> list[float]:
    """Files named (or by ``measure``) within each budget: the mean of repositories' means."""
    whole = way_of(run) == "places"
    by_repository: dict[str, list[list[float]]] = {}
    for topic in topics:
        files = {target.path for target in topic.relevant}
        if files:
            reader = Reader(run.get(topic.id, ()), whole=whole)
            curve = [measure(reader, files, budget) for budget in budgets]
            by_repository.setdefault(topic.repo, []).append(curve)
    means = [list(map(fmean, zip(*curves, strict=True))) for curves in by_repository.values()]
    return list(map(fmean, zip(*means, strict=True)))


def compare_runs(
    topics: Sequence[Topic],
    run: Mapping[str, Sequence[Result]],
    other: Mapping[str, Sequence[Result]],
    *,
    over: Literal["topics", "repositories"] = "topics",
    samples: int = 1000,
    seed: int = 7,
) -> dict[str, dict[str, float]]:
    """For each measure ``{"difference", "low", "high", "n"}``: run minus other, paired.

    ``low`` to ``high`` is the 95 % percentile interval of a paired bootstrap (Sakai, Evaluating
    evaluation metrics based on the bootstrap, SIGIR 2006). ``over="repositories"`` draws whole
    repositories and averages their means: the honest interval where topics of one are alike.
    """
    judged = [topic for topic in topics if topic.relevant]
    ours_read, theirs_read = way_of(run), way_of(other)
    if ours_read is None or theirs_read is None:
        ours_read = theirs_read = None  # what one of them lacks is not compared
    differences: dict[str, dict[str, list[float]]] = {}
    for topic in judged:
        ours = score_topic(topic, run.get(topic.id, ()), ours_read)
        theirs = score_topic(topic, other.get(topic.id, ()), theirs_read)
        for name, value in ours.items():
            unit = topic.id if over == "topics" else topic.repo
            differences.setdefault(name, {}).setdefault(unit, []).append(value - theirs[name])
    random_numbers = random.Random(seed)
    compared: dict[str, dict[str, float]] = {}
    for name, units in differences.items():
        means = [fmean(values) for values in units.values()]
        drawn = sorted(fmean(random_numbers.choices(means, k=len(means))) for _ in range(samples))
        compared[name] = {
            "difference": fmean(means),
            "low": drawn[int(0.025 * samples)],
            "high": drawn[int(0.975 * samples) - 1],
            "n": len(means),
        }
    return compared


def _means(rows: Sequence[tuple[Topic, Scores]]) -> dict[str, dict[str, float]]:
    means: dict[str, dict[str, float]] = {}
    for name, _, _ in MEASURES:
        by_repository: dict[str, list[float]] = {}
        for topic, scores in rows:
            if name in scores:
                by_repository.setdefault(topic.repo, []).append(scores[name])
        if by_repository:
            values = [value for group in by_repository.values() for value in group]
            macro = fmean(fmean(group) for group in by_repository.values())
            means[name] = {"micro": fmean(values), "macro": macro, "n": len(values)}
    return means
