from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matching import matching

from rag_agent import paths
from rag_agent.store import Store
from rag_agent.store.maintenance import COMMON
from rag_agent.types import Root, Skipped


def _fill(store: Store, root: Root, put: Any, documents: int = 40) -> None:
    model = store.model("m", 64)
    for number in range(documents):
        put(store, root, f"{number}.md", *[f"apple {number} {n} " * 100 for n in range(10)])
    ids = [pending.id for pending in store.pending(model, 10_000)]
    rows = np.random.default_rng(0).standard_normal((len(ids), 64))
    store.put_vectors(model, ids, rows.astype(np.float32))


def test_clear_empties_the_index_and_keeps_the_roots(store: Store, root: Root, put: Any) -> None:
    _fill(store, root, put)
    store.set_skipped(root, [Skipped("a.bin", "binary")])
    store.set_meta("last", "today")
    store.clear()
    counts = store.counts()
    assert (counts.documents, counts.chunks, counts.passages) == (0, 0, 0)
    assert counts.vectors == {1: 0}
    assert store.skipped() == []
    assert matching(store, ["appl"], 5) == []
    assert store.match_paths(["md"], 5) == []
    assert store.roots() == [root]
    assert store.meta("last") == "today"
    assert store.check() == []


def test_the_file_shrinks_after_clear(store: Store, root: Root, put: Any) -> None:
    store.refresh_statistics()
    empty = store.path.stat().st_size
    _fill(store, root, put)
    store.refresh_statistics()
    assert store.path.stat().st_size > 2 * empty
    store.clear()
    assert store.path.stat().st_size < 1.1 * empty
    assert store.counts().bytes < 1.1 * empty


def test_the_file_shrinks_after_much_was_forgotten(store: Store, root: Root, put: Any) -> None:
    _fill(store, root, put, 80)
    store.refresh_statistics()
    full = store.path.stat().st_size
    store.forget([document.id for document in list(store.documents(root).values())[:70]])
    store.refresh_statistics()
    assert store.path.stat().st_size < full / 2
    assert store.check() == []
    assert len(matching(store, ["appl"], 1000)) == 100


def test_the_index_is_usable_after_clear(store: Store, root: Root, put: Any) -> None:
    _fill(store, root, put, 3)
    store.clear()
    _fill(store, root, put, 3)
    assert len(matching(store, ["appl"], 1000)) == 30
    store.forget([document.id for document in store.documents(root).values()])
    # The triggers that clear had dropped are there again.
    assert matching(store, ["appl"], 5) == []
    assert store.check() == []


def test_counts(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.py", "one", "two", kind="code", language="python")
    put(store, root, "b.py", "three", kind="code", language="python")
    put(store, root, "c.md", "four", "  ", language="markdown")
    put(store, root, "empty.txt")
    counts = store.counts()
    assert (counts.documents, counts.chunks, counts.passages) == (4, 5, 4)
    assert counts.languages == {"python": 2, "markdown": 1}
    assert counts.kinds == {"code": 2, "prose": 2}
    assert counts.bytes >= store.path.stat().st_size > 0


def test_statistics_are_renewed_only_when_much_changed(store: Store, root: Root, put: Any) -> None:
    put(store, root, "many.md", *["common"] * (COMMON + 100))
    store.refresh_statistics()
    stale = store._database.value("SELECT passages FROM common_words WHERE word = 'common'")
    put(store, root, "one.md", "common")
    store.refresh_statistics()
    query = "SELECT passages FROM common_words WHERE word = 'common'"
    assert store._database.value(query) == stale == COMMON + 100
    put(store, root, "more.md", *["common"] * 100)
    store.refresh_statistics()
    assert store._database.value(query) == COMMON + 201


@pytest.mark.parametrize("readers", [0, 1])
def test_refreshing_does_not_wait_for_readers(
    store: Store, root: Root, put: Any, readers: int
) -> None:
    put(store, root, "a.md", "apple")
    # Waiting would be until the limit of the whole run.
    store._database.rows("PRAGMA busy_timeout = 1000000")
    with Store.open(store.path, readonly=True) as reader, reader.snapshot():
        if readers:
            assert len(matching(reader, ["appl"], 5)) == 1
        put(store, root, "b.md", "apple")
        store.refresh_statistics()
        assert len(matching(reader, ["appl"], 5)) == (1 if readers else 2)
    assert len(matching(store, ["appl"], 5)) == 2


def test_what_a_process_left_that_died_while_it_wrote_a_copy_is_removed(
    store: Store, root: Root, put: Any
) -> None:
    _fill(store, root, put, 3)
    program = (
        "import os, sys; from pathlib import Path; from rag_agent.store import Store, segments\n"
        "segments.SMALLEST = 1\n"
        "segments._write = lambda *_: os._exit(9)\n"
        "Store.open(Path(sys.argv[1])).refresh_statistics()\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, str(store.path)],
        cwd=Path(paths.__file__).parent.parent,
        check=False,
    )
    assert died.returncode == 9
    (unfinished,) = store.path.parent.glob("rag-words*")
    store.refresh_statistics()
    assert not unfinished.exists()
