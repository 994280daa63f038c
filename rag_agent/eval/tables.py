"""Scores and comparisons as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GROUP_COLUMNS = (
    "ndcg10", "ndcg10_chunk", "recall10", "hit1", "mrr10", "line_hit10", "recall_2000t",
    "read_2000t",
)  # fmt: skip


def score_table(scored: Mapping[str, Any]) -> str:
    """The result of ``score_run``."""
    lines = [
        f"{scored['n']} topics, {scored['repositories']} repositories, "
        f"{scored['missing']} missing in the run",
        f"{'measure':18}{'micro':>8}{'macro':>8}{'n':>7}",
    ]
    for name, mean in scored["total"].items():
        lines.append(f"{name:18}{mean['micro']:8.4f}{mean['macro']:8.4f}{mean['n']:7d}")
    if scored.get("latency", {}).get("n"):
        times = scored["latency"]
        lines.append(
            f"milliseconds a question: p50 {times['p50']:.1f}, p95 {times['p95']:.1f} "
            f"({times['n']} timed)"
        )
    groups = scored.get("by", {})
    columns = [name for name in _GROUP_COLUMNS if name in scored["total"]]
    if groups:
        lines += ["", f"{'group':24}{'n':>5}" + "".join(f"{name:>14}" for name in columns)]
    for group, means in groups.items():
        cells = [f"{means[n]['micro']:14.4f}" if n in means else f"{'-':>14}" for n in columns]
        lines.append(f"{group or '(none)':24}{means['ndcg10']['n']:5d}" + "".join(cells))
    return "\n".join(lines)


def comparison_table(compared: Mapping[str, Mapping[str, float]]) -> str:
    """The result of ``compare_runs``; a star where chance is excluded."""
    lines = [f"{'measure':18}{'difference':>11}   95 % interval"]
    for name, row in compared.items():
        star = " *" if row["low"] > 0 or row["high"] < 0 else ""
        interval = f"[{row['low']:+.4f}, {row['high']:+.4f}]"
        lines.append(f"{name:18}{row['difference']:+11.4f}   {interval}{star}")
    better = [name for name, row in compared.items() if row["low"] > 0]
    worse = [name for name, row in compared.items() if row["high"] < 0]
    told = [
        f"{how} by more than chance: {', '.join(names)}"
        for how, names in (("better", better), ("worse", worse))
        if names
    ]
    lines.append(f"The first run is {'; '.join(told)}." if told else "Chance may explain it all.")
    return "\n".join(lines)


def left_out_table(
    reached: Mapping[str, Mapping[str, Mapping[str, float]]],
    units: Mapping[str, Mapping[str, str]],
) -> str:
    """The results of ``cross_validate`` with vectors and without, and what was left out in turn."""
    lines = [
        f"{'':30}{'n':>6}{'ndcg10':>9}{'macro':>9}{'recall10':>10}{'present':>9}  left out in turn"
    ]
    lines += [
        f"{mode + ', ' + name:30}{row['n']:6.0f}{row['ndcg10']:9.4f}{row['ndcg10_macro']:9.4f}"
        f"{row['recall10']:10.4f}{row['ndcg10_present']:9.4f}  {units[mode][name]}"
        for mode, rows in reached.items()
        for name, row in rows.items()
    ]
    return "\n".join(lines)
