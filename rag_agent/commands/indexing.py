"""Verbs that fill and empty the index."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rag_agent.commands.data import skipped_data
from rag_agent.commands.layout import by_reason, counted, duration, one_line, styled
from rag_agent.commands.registry import GOES_ON, Argument, Opener, Result, verb
from rag_agent.errors import NOTHING_INDEXED, StoreMissing
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.index import Index
    from rag_agent.types import SyncReport

_log = logging.getLogger(__name__)

_WARNINGS_SHOWN = 5


@verb(
    "index",
    "index a file or folder, and keep it tracked",
    Argument("path", "what to index (default: the current folder)", many="?", default=".",
             values="path"),
    Argument("--force", "also where it is refused for safety: /, the home folder and above it"),
    Argument("--no-vectors", "words only; `rag-agent refresh` makes the vectors later"),
    detail="Makes .pi/rag/ in the current folder when no index is in scope. Files are searchable\n"
    "by words as soon as they are read; vectors, which find by meaning, follow.\n"
    "Interrupted anywhere, the next run goes on from there.",
    resumes=GOES_ON,
)  # fmt: skip
def index(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Index a path and remember it."""
    path = arguments.path
    with open_index() as opened:
        done = opened.sync(
            path, report=report, force=arguments.force, vectors=not arguments.no_vectors
        )
        result = _result(opened, done)
    if not (done.added or done.changed or done.unchanged):
        place = one_line(str(path))
        nothing = f"no indexable files found in {place}; `rag-agent ext list` shows what is indexed"
        return Result(result.data, "\n".join([nothing, *result.text.split("\n")[1:]]))
    return result


@verb(
    "rebuild",
    "read and cut every tracked file again",
    Argument("--force", "compute every vector anew; an index file that is corrupt is moved aside"),
    detail="Text that did not change keeps its vectors, also those of other models, unless --force "
    "is given.",
    resumes="`rag-agent rebuild` begins again, `rag-agent refresh` makes missing vectors only",
)
def rebuild(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Rebuild from the tracked paths."""
    with open_index() as opened:
        _check_tracked(opened)
        return _result(opened, opened.rebuild(force=arguments.force, report=report), anew=True)


@verb("refresh", "take in new, changed and removed files of the tracked paths", resumes=GOES_ON)
def refresh(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Incremental sync of every tracked path."""
    with open_index() as opened:
        _check_tracked(opened)
        return _result(opened, opened.refresh(report=report))


@verb(
    "clear",
    "empty the index; tracked paths and settings stay",
    Argument("--other-models", "remove nothing but the vectors of models that are not in use"),
)
def clear(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Forget every document."""
    with open_index() as opened:
        status = opened.status()
        before = status.documents
        if not Path(status.store).exists():
            return Result({"cleared": 0, "store": status.store}, "", NOTHING_INDEXED)
        if arguments.other_models:
            removed = opened.clear_other_models()
            return Result(
                {"cleared": 0, "vectors_removed": removed, "store": status.store},
                f"{counted(removed, 'vector')} of other models removed.",
            )
        opened.clear()
        return Result(
            {"cleared": before, "store": status.store},
            f"Index cleared: {counted(before, 'file')} forgotten, tracked paths and settings kept.",
        )


def _check_tracked(opened: Index) -> None:
    """Without a tracked path the engine would take the current folder, which nobody asked for."""
    from rag_agent.legacy import legacy_files

    if not opened.tracked_paths and not legacy_files(opened.folder):
        if opened.config.tracked_paths:
            raise StoreMissing("no tracked path may be followed; `rag-agent status` says why")
        raise StoreMissing("nothing is tracked here; run `rag-agent index`")


def _result(opened: Index, done: SyncReport, *, anew: bool = False) -> Result:
    """What was done as data and text; ``anew`` if files that did not change were read as well."""
    status = opened.status()
    for skipped in done.skipped:
        detail = f" ({skipped.detail})" if skipped.detail else ""
        _log.debug("skipped %s: %s%s", skipped.path, skipped.reason, detail)
    reasons = Counter(skipped.reason for skipped in done.skipped)
    tracked = len(status.tracked_paths)
    vectors = done.embedded + done.reused
    taken = done.added + done.changed + (done.unchanged if anew else 0)
    lines = [
        f"{styled('✅', 'green')} Indexed {counted(taken, 'file')} "
        f"({counted(done.chunks, 'chunk')}) · {done.unchanged:,} unchanged"
        + (f" · {done.removed:,} removed" if done.removed else "")
        + (f" · {counted(vectors, 'vector')}" if vectors else "")
        + f" · {duration(done.seconds)} · tracking {tracked} path(s) · {status.scope} store"
    ]
    if reasons:
        lines.append(
            styled(
                f"   skipped {counted(reasons.total(), 'file')}: {by_reason(reasons)} "
                "(`rag-agent status --json` lists them)",
                "dim",
            )
        )
    shown = done.warnings[:_WARNINGS_SHOWN]
    lines.extend(styled(f"   {one_line(warning)}", "yellow") for warning in shown)
    if len(done.warnings) > len(shown):
        lines.append(styled(f"   … {len(done.warnings) - len(shown):,} more warnings", "yellow"))
    if status.model_problem:
        lines.append(
            styled(
                f"   words only, no vectors: {one_line(status.model_problem)} (`rag-agent doctor`)",
                "yellow",
            )
        )
    elif status.pending:
        pending = counted(status.pending, "chunk")
        others = [running.pid for running in status.running if running.pid != os.getpid()]
        maker = f"process {others[0]} makes" if others else "`rag-agent refresh` makes"
        lines.append(f"   {pending} without a vector yet; {maker} them")
    data = {
        "added": done.added,
        "changed": done.changed,
        "removed": done.removed,
        "unchanged": done.unchanged,
        "chunks": done.chunks,
        "embedded": done.embedded,
        "reused": done.reused,
        "pending": status.pending,
        "skipped_by_reason": dict(reasons.most_common()),
        "skipped": skipped_data(done.skipped),
        "warnings": list(done.warnings),
        "seconds": round(done.seconds, 3),
        "tracked_paths": list(status.tracked_paths),
        "store": status.store,
        "scope": status.scope,
        "model_problem": status.model_problem,
    }
    return Result(data, "\n".join(lines))
