"""Verbs that say how things stand."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from rag_agent.commands.data import skipped_data
from rag_agent.commands.hosts import host_checks
from rag_agent.commands.layout import by_reason, counted, one_line, size, styled, table
from rag_agent.commands.registry import Opener, Result, verb
from rag_agent.errors import RagError
from rag_agent.progress import Report
from rag_agent.types import Coverage

if TYPE_CHECKING:
    from rag_agent.types import Activity, Check, Status


_DOCUMENTS = 20  # that are scans, or have a note, and are listed before the rest is counted


@verb("status", "what is indexed, what is running, what is left out, settings")
def status(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """How the index in scope stands."""
    with open_index() as opened:
        found = opened.status()
    return Result(status_data(found), _status_text(found))


@verb(
    "doctor",
    "check the installation and the index, and say what to do",
    detail="Ends with 1 when something needs doing.",
)
def doctor(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Every check with its result."""
    try:
        with open_index() as opened:
            checks = list(opened.doctor())
    except RagError as error:
        # An index that does not open is what doctor is for: it says so among its checks.
        checks = [_cannot_open(error)]
    checks += host_checks()
    rows = [(_mark(check), _check_text(check)) for check in checks]
    failed = [check for check in checks if not check.ok]
    problem = ""
    if failed:
        names = ", ".join(check.name for check in failed)
        problem = f"{counted(len(failed), 'check')} failed: {names}; what to do stands beside each"
    return Result(
        {"ok": not failed, "checks": [asdict(check) for check in checks]}, table(rows), problem
    )


def status_data(found: Status) -> dict[str, object]:
    """The status as plain data, with the share of chunks that have a vector."""
    return {
        **asdict(found),
        "skipped": skipped_data(found.skipped),
        "vector_coverage": round(_vector_coverage(found), 4),
    }


def activity_text(activity: Activity) -> str:
    """``process 12 is indexing: embed 1,200 of 8,000 (src/a.py)``."""
    progress = f" {activity.done:,}" + (f" of {activity.total:,}" if activity.total else "")
    item = f" ({one_line(activity.item)})" if activity.item else ""
    return f"process {activity.pid}: {activity.stage}{progress}{item}"


def _status_text(found: Status) -> str:
    languages = sorted(found.languages.items(), key=lambda item: (-item[1], item[0]))
    settings = "\n".join(_changed_settings(found.settings))
    rows = [
        ("store", f"{one_line(found.store)} ({found.scope}, {size(found.bytes)})"),
        ("files", f"{found.documents:,} ({counted(found.chunks, 'chunk')})"),
        ("pages", "\n".join(_pages(found))),
        ("commits", f"{found.commits:,} read as evidence" if found.commits else ""),
        ("vectors", f"{found.vectors:,} ({_vector_coverage(found):.0%}), {to_come(found)}"),
        ("model", found.model),
        ("other models", "\n".join(_other_models(found.other_models))),
        ("engine", found.vector_engine),
        (
            "languages",
            one_line(", ".join(f"{name or 'other'} {n:,}" for name, n in languages[:12])),
        ),
        (
            "tracked",
            "\n".join(map(one_line, found.tracked_paths))
            or "nothing; `rag-agent index` tracks a folder",
        ),
        ("last sync", found.last_sync or "never"),
        ("refreshed", one_line(found.last_refresh)),
        ("injection", _injection(found.injection)),
        ("running", "\n".join(activity_text(activity) for activity in found.running)),
        ("skipped", by_reason(found.skipped_by_reason)),
        ("settings", settings),
        ("version", found.version),
    ]
    text = table(rows)
    problems = [f"words only, no vectors: {found.model_problem}"] if found.model_problem else []
    notes = [*problems, *found.warnings[:_DOCUMENTS]]
    more = len(found.warnings) - _DOCUMENTS
    notes += [f"{more:,} more notes on files; --json has all"] if more > 0 else []
    return "\n".join([text, *(styled(f"note: {one_line(note)}", "yellow") for note in notes)])


def _vector_coverage(found: Status) -> float:
    """The share in [0, 1] of the chunks that get a vector which have one."""
    wanted = found.vectors + found.pending
    return found.vectors / wanted if wanted else 0.0


def _pages(found: Status) -> Iterator[str]:
    """All pages, then each document that is a scan, wholly or in part."""
    if found.pages != Coverage():
        yield _coverage_text(found.pages)
    for path, coverage in islice(found.pages_of.items(), _DOCUMENTS):
        yield f"{one_line(path)}: {_coverage_text(coverage)}"
    if len(found.pages_of) > _DOCUMENTS:
        yield f"and {len(found.pages_of) - _DOCUMENTS:,} more; --json has all"


def _coverage_text(coverage: Coverage) -> str:
    parts = (
        (coverage.text, "with text"),
        (coverage.ocr, "by OCR"),
        (coverage.without - coverage.failed, "without text"),
        (coverage.failed, "on which OCR failed"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in parts if count or what == "with text")


def to_come(found: Status) -> str:
    """What has no vector yet, and what stands for it meanwhile."""
    told = f"{found.pending:,} to come"
    if found.unembedded:
        told += f", {counted(found.unembedded, 'chunk')} found by words only"
    if found.pending and found.cards:
        told += f"; meanwhile {counted(found.cards, 'file')} found by a summary of each"
    return told


def _changed_settings(settings: Mapping[str, object]) -> Iterator[str]:
    """Those that are not as they come; the README has the others, and --json all."""
    from rag_agent.config import Config, as_json

    for key, default in as_json(Config()).items():
        value = settings.get(key, default)
        if value != default and key != "trackedPaths":
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _other_models(vectors: Mapping[str, int]) -> Iterator[str]:
    for fingerprint, count in vectors.items():
        yield f"{one_line(fingerprint)}: {counted(count, 'vector')}"
    if vectors:
        yield "kept for when one is chosen again; `rag-agent clear --other-models` removes them"


def _injection(counted_turns: Mapping[str, int]) -> str:
    """``12 times (9,321 tokens), 30 turns without, 1 out of time``; nothing before the first."""
    if not counted_turns:
        return ""
    return (
        f"{counted(counted_turns['injections'], 'turn')} given context "
        f"({counted(counted_turns['tokens'], 'token')}), {counted_turns['abstentions']:,} without, "
        f"{counted_turns['time_outs']:,} out of time"
    )


def _cannot_open(error: RagError) -> Check:
    from rag_agent.types import Check

    return Check("index", False, str(error), "")


def _mark(check: Check) -> str:
    return f"{'✓' if check.ok else '✗'} {check.name}"


def _check_text(check: Check) -> str:
    detail = one_line(check.detail)
    detail = detail if check.ok else styled(detail, "red")
    advice = one_line(check.advice)
    return f"{detail or 'fine'}\n→ {advice}" if advice else detail or "fine"
