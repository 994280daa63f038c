from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from rag_agent.errors import StoreBusy, StoreCorrupt, StoreError
from rag_agent.store import Store
from rag_agent.store.faults import translated


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        (apsw.BusyError, StoreBusy, "try again when it is done"),
        (apsw.LockedError, StoreBusy, "try again when it is done"),
        (apsw.FullError, StoreError, "free some space"),
        (apsw.ReadOnlyError, StoreError, "set PI_RAG_DIR"),
        (apsw.CantOpenError, StoreError, "check that its folder exists"),
        (apsw.PermissionsError, StoreError, "who owns the file"),
        (apsw.IOError, StoreError, "check the disk"),
        (apsw.SQLError, StoreError, "SQLite refused: what SQLite says"),
        # Not corrupt: the check of the whole file decides.
        (apsw.CorruptError, StoreError, "passes its integrity check"),
        (apsw.NotADBError, StoreError, "passes its integrity check"),
    ],
)
def test_each_failure_is_told_apart_and_says_what_to_do(
    store: Store, path: Path, error: type[apsw.Error], kind: type[StoreError], hint: str
) -> None:
    with pytest.raises(StoreError, match=hint) as raised, translated(path):
        raise error("what SQLite says")
    assert type(raised.value) is kind
    assert str(path) in str(raised.value)
    assert store.check() == []


def test_a_file_that_cannot_be_checked_is_not_called_damaged(path: Path) -> None:
    with pytest.raises(StoreError) as raised, translated(path):
        raise apsw.CorruptError("what SQLite says")
    assert not isinstance(raised.value, StoreCorrupt)


def test_other_exceptions_pass(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), translated(path):
        raise KeyboardInterrupt
