"""Runs and published figures to the two plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_agent.eval.measures import read_within, recall_within
from rag_agent.eval.plots import Curve, Point, plot_quality, plot_recall, require_matplotlib
from rag_agent.eval.published import Published
from rag_agent.eval.reading import ASKED_FOR
from rag_agent.eval.run import Result, one_a_file
from rag_agent.eval.score import recall_curve, score_run, way_of
from rag_agent.eval.topics import Topic

# 200 to 4,000 tokens in steps of a tenth of a doubling: a smooth line, and each of BUDGETS on it.
# Between the default answer and one of ASKED_FOR tokens nothing is asked for.
_BUDGETS = [*sorted({round(500 * 2 ** (step / 10)) for step in range(-13, 31)}), ASKED_FOR]
_RULES = (("named", recall_within), ("read", read_within))


def primary_measure(totals: Mapping[str, Any]) -> str:
    """The measure that one figure stands for: by the benchmark's own rules where it has some."""
    return "ndcg10_chunk" if "ndcg10_chunk" in totals else "ndcg10"


def draw(
    topics: Sequence[Topic],
    runs: Mapping[str, tuple[Mapping[str, Sequence[Result]], Mapping[str, float]]],
    published: Sequence[Published],
    folder: Path,
    prefix: str = "",
) -> list[Path]:
    """The pictures that can be drawn of runs (by name: results and times), as files in ``folder``.

    Quality against time holds the runs and published figures that have a time; recall against
    tokens the runs that know what is read when, by both rules of ``measures``. Without any there is
    no such picture.

    Raises:
        MissingDependency: there is no matplotlib.
    """
    require_matplotlib()
    drawn: list[Path] = []
    repositories = {topic.repo for topic in topics if topic.relevant}
    points: list[Point] = []
    measure = ""
    for name, (run, times) in runs.items():
        scored = score_run(topics, one_a_file(run), times=times)
        measure = primary_measure(scored["total"])
        if scored["latency"].get("p50"):  # a time of 0 has no place on a logarithmic scale
            quality = scored["total"][measure]["macro"]
            points.append(Point(name, quality, scored["latency"]["p50"]))
    for other in published:
        value = other.on(measure, repositories)
        quality = other.measures.get(measure) if value is None else value
        if other.p50_ms and quality is not None:
            points.append(Point(other.name, quality, other.p50_ms, ours=False))
    if any(point.ours for point in points):
        drawn.append(folder / f"{prefix}quality-time.svg")
        plot_quality(points, measure, drawn[-1])
    curves = [
        Curve(name, rule, recall_curve(topics, run, _BUDGETS, measure))
        for name, (run, _) in runs.items()
        for rule, measure in _RULES
        # Of places that are read whole both rules say the same.
        if (way := way_of(run)) == "answer" or (way and rule == "named")
    ]
    if curves:
        drawn.append(folder / f"{prefix}recall-tokens.svg")
        plot_recall(curves, _BUDGETS, drawn[-1])
    return drawn
