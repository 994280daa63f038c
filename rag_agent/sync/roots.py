"""Sync what an index follows: every root, or one place below one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_agent.errors import WalkError
from rag_agent.progress import Report
from rag_agent.store import Store
from rag_agent.sync.sync import finish, is_emptied, sync_documents
from rag_agent.sync.texts import TextCache
from rag_agent.sync.walk import WalkRules, check_root
from rag_agent.tracked import place_in
from rag_agent.types import SyncReport

_EMPTIED = (
    "{} is empty, and may be where a disk is not mounted: what the index holds of it is kept; to "
    "forget it, take the folder out of trackedPaths, or run `rag-agent clear` and then "
    "`rag-agent refresh`"
)


def sync_roots(
    store: Store,
    followed: Sequence[Path],
    targets: Sequence[Path],
    rules: WalkRules,
    report: Report,
    *,
    kept: Sequence[Path] = (),
    force: bool = False,
    anew: bool = False,
    texts: TextCache | None = None,
) -> SyncReport:
    """Sync the ``targets``, each one of the ``followed`` roots or below one; forget other roots.

    But for those that are ``kept``, which are neither read nor forgotten.

    A root that is new to the index is refused like one that is named on the command line (the home
    folder and the like), unless ``force`` is given: settings can be edited, or moved along.

    Raises:
        WalkError: the only target cannot be walked. One of several is left as it is, with a
            warning: an unmounted disk must not cost the index of it.
    """
    gone = [root for root in store.roots() if Path(root.path) not in (*followed, *kept)]
    reports = [SyncReport(removed=sum(store.remove_root(root) for root in gone))]
    known = {root.path for root in store.roots()}
    complete = len(targets) == len(followed)
    for target in targets:
        base, under = place_in(followed, target)
        complete = complete and not under
        try:
            if str(base) not in known:
                check_root(base, force=force)
            root = store.add_root(str(base))
            if is_emptied(store, root):
                done = SyncReport(warnings=(_EMPTIED.format(base),))
                complete = False
            else:
                done = sync_documents(
                    store, root, rules, report, under=under, anew=anew, texts=texts
                )
        except WalkError as error:
            if len(targets) == 1:
                raise
            done = SyncReport(warnings=(str(error),))
            complete = False
        reports.append(done)
    finish(store, complete=complete)
    return _merged(reports)


def _merged(reports: Sequence[SyncReport]) -> SyncReport:
    """One report over several roots."""
    return SyncReport(
        added=sum(r.added for r in reports),
        changed=sum(r.changed for r in reports),
        removed=sum(r.removed for r in reports),
        unchanged=sum(r.unchanged for r in reports),
        chunks=sum(r.chunks for r in reports),
        skipped=tuple(s for r in reports for s in r.skipped),
        warnings=tuple(w for r in reports for w in r.warnings),
        seconds=sum(r.seconds for r in reports),
    )
