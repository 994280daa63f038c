"""A section of benchmarks/quality.md: our runs beside the figures of others, written by no hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rag_agent.errors import QueryError
from rag_agent.eval.drawing import primary_measure
from rag_agent.eval.published import Published
from rag_agent.eval.run import Result, one_a_file
from rag_agent.eval.score import BUDGETS, Group, score_run
from rag_agent.eval.topics import Topic

# Measures of rankings, one place a file; and those of what a reader is shown.
_RANKED = {
    "ndcg10_chunk": "NDCG@10 by semble's rules",
    "ndcg10": "NDCG@10 of files",
    "recall10": "recall@10 of files",
}
_SHOWN = {
    "line_hit5": "an answering line among 5 passages",
    "line_hit10": "an answering line among 10 passages",
    "line_hit_answer": "an answering line in the answer",
}
_WITHIN = (
    ("recall", "files named"),
    ("read", "files with a line read"),
    ("line_recall", "labelled lines read"),
)
_GROUPS: tuple[tuple[Group, str], ...] = (("language", "language"), ("kind", "kind of question"))
_SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
Run = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, slots=True)
class Row:
    """A run as the tables have it.

    ``ranked`` and ``shown`` are the scores of its first place of each file and of all its places;
    ``groups`` has the totals of the former for each group's names.
    """

    name: str
    ranked: Mapping[str, Any]
    shown: Mapping[str, Any]
    groups: Mapping[Group, Mapping[str, Any]]


def row(name: str, topics: Sequence[Topic], run: Run, times: Mapping[str, float]) -> Row:
    """The scores of a run that holds the passages a reader is shown."""
    ranked = one_a_file(run)
    groups: tuple[Group, ...] = ("repo", *(group for group, _ in _GROUPS))
    return Row(
        name,
        ranked=score_run(topics, ranked, times=times),
        shown=score_run(topics, run, times=times),
        groups={group: score_run(topics, ranked, by=group)["by"] for group in groups},
    )


def section(
    topics: Sequence[Topic],
    rows: Sequence[Row],
    published: Sequence[Published],
    pictures: Sequence[str] = (),
) -> str:
    """The section's text: all measures, recall within tokens, groups, and the spread.

    ``pictures`` are addresses from where the text will lie.
    """
    repositories = {topic.repo for topic in topics if topic.relevant}
    parts = [
        f"{rows[0].ranked['n']} questions, {len(repositories)} "
        f"{'collection' if len(repositories) == 1 else 'repositories'}. Means over repositories; "
        "milliseconds are those of a question when the model is loaded.",
        _quality(rows, published, repositories),
        *(f"![{Path(name).stem}]({name})" for name in pictures),
        _within_tokens(rows),
        *(_grouped(rows, group, title) for group, title in _GROUPS),
        _spread(rows) if len(repositories) > 1 else "",
    ]
    return "\n\n".join(part for part in parts if part)


def put_section(path: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of the section, or add it at the end of the file.

    Raises:
        QueryError: the file cannot be read, one of the markers is missing, or the name is none.
    """
    begin, end = _markers(name)
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else "# Quality\n"
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"cannot read {path}: {error}") from error
    if before.count(begin) != before.count(end) or before.count(begin) > 1:
        raise QueryError(f"{path}: the markers of {name} do not match; mend {begin} and {end}")
    written = f"{begin}\n{text}\n{end}"
    if begin in before:
        head, _, rest = before.partition(begin)
        after = head + written + rest.partition(end)[2]
    else:
        after = f"{before.rstrip()}\n\n## {name}\n\n{written}\n"
    temporary = path.with_name(path.name + ".temporary")
    temporary.write_text(after, encoding="utf-8", newline="\n")
    temporary.replace(path)


def _markers(name: str) -> tuple[str, str]:
    if not _SAFE_NAME.fullmatch(name):
        raise QueryError(f"{name!r} cannot name a section; use lower-case letters, digits, - and _")
    return f"<!-- {name}: written by `make eval` -->", f"<!-- end of {name} -->"


def _quality(rows: Sequence[Row], published: Sequence[Published], repositories: set[str]) -> str:
    measures = [name for name in (*_RANKED, *_SHOWN) if name in rows[0].shown["total"]]
    titles = [{**_RANKED, **_SHOWN}[name] for name in measures]
    lines = [[found.name, *_own(found, measures), *_times(found)] for found in rows]
    elsewhere = False
    for other in published:
        cells = []
        for name in measures:
            value, whole = other.on(name, repositories), other.measures.get(name)
            elsewhere = elsewhere or (value is None and whole is not None)
            cells.append(_figure(value) or (whole is not None and f"{whole:.3f}†") or "")
        took = "" if other.p50_ms is None else f"{other.p50_ms:g}‡"
        lines.append([f"*{other.name}*", *cells, took, ""])
    notes = []
    if published:
        notes.append("In italics: figures of others, with their sources in `published.json`.")
    if elsewhere:
        notes.append("† On the whole set, which may be more repositories than these.")
    if any(other.p50_ms is not None for other in published):
        notes.append("‡ As published, on another machine.")
    made = _table(["", *titles, "p50, ms", "p95, ms"], lines)
    return "\n\n".join([made, " ".join(notes)]) if notes else made


def _own(found: Row, measures: Sequence[str]) -> list[str]:
    totals = [(found.ranked if name in _RANKED else found.shown)["total"] for name in measures]
    return [_mean(total, name) for total, name in zip(totals, measures, strict=True)]


def _times(found: Row) -> list[str]:
    times = found.shown["latency"]
    return [f"{times[name]:.1f}" if name in times else "" for name in ("p50", "p95")]


def _within_tokens(rows: Sequence[Row]) -> str:
    lines = []
    for found in rows:
        for kind, title in _WITHIN:
            cells = [_mean(found.shown["total"], f"{kind}_{budget}t") for budget in BUDGETS]
            if any(cells):
                lines.append([f"{found.name}, {title}", *cells])
    if not lines:
        return ""
    heads = ["reached within … tokens of the answer", *(f"{budget:,}" for budget in BUDGETS)]
    return _table(heads, lines)


def _grouped(rows: Sequence[Row], group: Group, title: str) -> str:
    """The primary measure of each group: the mean over its repositories."""
    names = list(rows[0].groups[group])
    if len(names) < 2:
        return ""
    measure = primary_measure(rows[0].ranked["total"])
    lines = []
    for name in names:
        of_group = [found.groups[group][name] for found in rows]
        count = str(of_group[0][measure]["n"]) if measure in of_group[0] else ""
        lines.append([name, count, *(_mean(means, measure) for means in of_group)])
    return _table([title, "questions", *(found.name for found in rows)], lines)


def _spread(rows: Sequence[Row]) -> str:
    measure = primary_measure(rows[0].ranked["total"])
    lines = []
    for found in rows:
        means = {
            name: total[measure]["macro"]
            for name, total in found.groups["repo"].items()
            if measure in total
        }
        lowest, highest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        lines.append([
            found.name,
            f"{means[lowest]:.3f} ({lowest})",
            f"{median(means.values()):.3f}",
            f"{means[highest]:.3f} ({highest})",
        ])  # fmt: skip
    return _table(["repositories", "lowest", "median", "highest"], lines)


def _mean(total: Mapping[str, Any], name: str) -> str:
    return _figure(total[name]["macro"]) if name in total else ""


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *lines))
