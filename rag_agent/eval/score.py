"""Scores of a run: each measure over topics (micro) and over repositories (macro)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from rag_agent.eval.measures import (
    chunk_ndcg,
    line_hit,
    line_recall,
    ndcg,
    recall,
    reciprocal_rank,
    success,
)
from rag_agent.eval.run import Result
from rag_agent.eval.topics import Qrel, Topic

Group = Literal["repo", "language", "kind", "split"]
Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A topic beside its results, in the shapes that measures take."""

    collection: str
    results: Sequence[Result]
    files: Sequence[str]
    targets: Sequence[Qrel]
    grades: Mapping[str, int]

    @property
    def primary(self) -> Mapping[str, int]:
        """Files that answer by themselves; all of them where none is marked."""
        return {t.path: t.relevance for t in self.targets if t.primary} or self.grades

    @property
    def lines(self) -> Sequence[Qrel]:
        return [target for target in self.targets if target.start is not None]


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


# A row is a name, whether the measure applies to the topic, and the measure.
MEASURES: tuple[tuple[str, Callable[[_Judged], bool], Callable[[_Judged], float]], ...] = (
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
)


def score_topic(topic: Topic, results: Sequence[Result]) -> Scores:
    """Every measure that applies to the topic; files are counted at their first place."""
    judged = _Judged(
        collection=topic.collection,
        results=results,
        files=list(dict.fromkeys(result.path for result in results)),
        targets=topic.relevant,
        grades={target.path: target.relevance for target in topic.relevant},
    )
    return {name: measure(judged) for name, applies, measure in MEASURES if applies(judged)}


def score_run(
    topics: Sequence[Topic], run: Mapping[str, Sequence[Result]], *, by: Group | None = None
) -> dict[str, Any]:
    """Means of all measures; topics without labels are left out, those not in the run score 0.

    ``{"n", "missing", "repositories", "total": {measure: {"micro", "macro", "n"}}}``, and with
    ``by`` the same totals in ``"by": {group: …}``.
    """
    judged = [topic for topic in topics if topic.relevant]
    rows = [(topic, score_topic(topic, run.get(topic.id, ()))) for topic in judged]
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
    return scored


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
    differences: dict[str, dict[str, list[float]]] = {}
    for topic in judged:
        ours = score_topic(topic, run.get(topic.id, ()))
        theirs = score_topic(topic, other.get(topic.id, ()))
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


def score_table(scored: Mapping[str, Any]) -> str:
    """The result of ``score_run`` as lines for people."""
    lines = [
        f"{scored['n']} topics, {scored['repositories']} repositories, "
        f"{scored['missing']} missing in the run",
        f"{'measure':16}{'micro':>8}{'macro':>8}{'n':>7}",
    ]
    for name, mean in scored["total"].items():
        lines.append(f"{name:16}{mean['micro']:8.4f}{mean['macro']:8.4f}{mean['n']:7d}")
    groups = scored.get("by", {})
    columns = [name for name in _GROUP_COLUMNS if name in scored["total"]]
    if groups:
        lines += ["", f"{'group':24}{'n':>5}" + "".join(f"{name:>14}" for name in columns)]
    for group, means in groups.items():
        cells = [f"{means[n]['micro']:14.4f}" if n in means else f"{'-':>14}" for n in columns]
        lines.append(f"{group:24}{means['ndcg10']['n']:5d}" + "".join(cells))
    return "\n".join(lines)


def comparison_table(compared: Mapping[str, Mapping[str, float]]) -> str:
    """The result of ``compare_runs`` as lines for people; a star where chance is excluded."""
    lines = [f"{'measure':16}{'difference':>11}   95 % interval"]
    for name, row in compared.items():
        star = " *" if row["low"] > 0 or row["high"] < 0 else ""
        interval = f"[{row['low']:+.4f}, {row['high']:+.4f}]"
        lines.append(f"{name:16}{row['difference']:+11.4f}   {interval}{star}")
    return "\n".join(lines)


_GROUP_COLUMNS = ("ndcg10", "ndcg10_chunk", "recall10", "mrr10", "line_hit10")


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
