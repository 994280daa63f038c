from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path, PureWindowsPath
from typing import Any

import apsw
import pytest
from matching import matching

from rag_agent import paths
from rag_agent.errors import SchemaTooNew, StoreBusy, StoreCorrupt, StoreError
from rag_agent.store import Store
from rag_agent.store.connection import engine
from rag_agent.store.migrations import VERSION
from rag_agent.store.opening import open_database
from rag_agent.store.readonly import uri
from rag_agent.types import Root


def _execute(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def test_a_reader_finds_no_index_where_none_is(path: Path) -> None:
    with pytest.raises(StoreError, match="rag-agent index"):
        Store.open(path, readonly=True)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="rag-agent index"):
        Store.open(path, readonly=True)


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    _execute(path, "CREATE TABLE files (path TEXT)", "INSERT INTO files VALUES ('a')")
    before = path.read_bytes()
    for readonly in (True, False):
        with pytest.raises(StoreError, match="another program"):
            Store.open(path, readonly=readonly)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_database_from_the_future_names_both_formats(store: Store, path: Path) -> None:
    store.close()
    _execute(path, f"PRAGMA user_version = {VERSION + 1}")
    for readonly in (True, False):
        with pytest.raises(SchemaTooNew, match=f"format {VERSION + 1}, .*up to {VERSION}; upgrade"):
            Store.open(path, readonly=readonly)


def test_a_reader_asks_for_the_update_that_it_may_not_make(store: Store, path: Path) -> None:
    store.close()
    _execute(path, "PRAGMA user_version = 0")
    with pytest.raises(StoreError, match="rag-agent refresh"):
        Store.open(path, readonly=True)


def test_opening_again_writes_nothing(store: Store, root: Root, put: Any, path: Path) -> None:
    put(store, root, "a.md", "apple")
    store.close()
    before = path.read_bytes()
    with Store.open(path) as again:
        assert again.roots() == [root]
        wal = path.with_name("rag.db-wal")
        assert not wal.exists() or wal.stat().st_size == 0
    assert path.read_bytes() == before


def test_opening_while_another_process_writes_does_not_wait_for_it(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    put(store, root, "a.md", "apple")
    with store._database.transaction(), Store.open(path) as other:
        assert other.counts().documents == 1


def test_reading_changes_no_byte(store: Store, root: Root, put: Any, path: Path) -> None:
    put(store, root, "a.md", "apple")
    store.close()
    before = path.read_bytes()
    with Store.open(path, readonly=True) as reader:
        assert [match.chunk.path for match in matching(reader, ["appl"], 5)] == ["a.md"]
        assert reader.check() == []
        for write in (
            lambda: reader.add_root("/elsewhere"),
            lambda: put(reader, root, "b.md", "banana"),
            lambda: reader.forget([1]),
            reader.clear,
            lambda: reader.set_meta("key", "value"),
        ):
            with pytest.raises(StoreError, match="cannot be written"):
                write()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"\\server\share\my project\rag.db", "file:////server/share/my%20project/rag.db"),
        (r"C:\projects\100%\rag.db", "file:///C:/projects/100%25/rag.db"),
    ],
)
def test_an_index_on_a_share_of_windows_is_named_as_sqlite_wants_it(
    path: str, expected: str
) -> None:
    assert uri(PureWindowsPath(path)) == expected


@pytest.mark.skipif(os.name == "nt", reason="there two slashes are a server, which is not there")
def test_sqlite_opens_what_is_named_like_a_share(store: Store, path: Path) -> None:
    store.close()
    share = uri(PureWindowsPath(f"/{path}"))
    connection = apsw.Connection(share, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    assert connection.execute("PRAGMA application_id").get == paths.APPLICATION_ID
    connection.close()


def _obstruct(path: Path) -> None:
    """Nothing can be made here: stands for a medium that cannot be written, also for root."""
    if os.name == "nt":
        path.mkdir()
    else:
        path.symlink_to(path.parent / "nowhere" / "file")


def test_an_index_is_read_where_no_file_can_be_made_beside_it(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    put(store, root, "a.md", "apple")
    store.close()
    _obstruct(path.with_name("rag.db-shm"))
    with Store.open(path, readonly=True) as reader:
        assert [match.chunk.path for match in matching(reader, ["appl"], 5)] == ["a.md"]


def test_newer_pages_in_the_wal_are_never_ignored(
    store: Store, root: Root, put: Any, path: Path, tmp_path: Path
) -> None:
    put(store, root, "a.md", "apple")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("rag.db", "rag.db-wal"):
        shutil.copy(path.with_name(name), copy / name)
    _obstruct(copy / "rag.db-shm")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(copy / "rag.db", readonly=True)


@pytest.mark.parametrize(
    "content",
    [b"hello", b"no database at all " * 500, b"\0" * 9000, b"SQLite format 3\0" + b"\x7f" * 9000],
)
def test_a_file_that_is_no_database_is_called_damaged_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for readonly in (True, False):
        with pytest.raises(StoreCorrupt, match=r"Nothing was deleted.*rebuild --force"):
            Store.open(path, readonly=readonly)
    assert path.read_bytes() == content


def _read_all(path: Path) -> None:
    with Store.open(path) as damaged:
        for document in damaged.documents(damaged.roots()[0]).values():
            damaged.chunks_of(document.id)
        damaged.match(["appl"], 100)


def test_damaged_pages_are_verified_and_reported(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    for number in range(60):
        put(store, root, f"{number}.md", f"apple {number} " * 200)
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(size // 4 // 8192 * 8192)
        stream.write(b"\x5a" * (size // 2))
    with pytest.raises(StoreCorrupt, match="rebuild --force"):
        _read_all(path)


def test_a_short_file_is_called_damaged(store: Store, root: Root, put: Any, path: Path) -> None:
    for number in range(30):
        put(store, root, f"{number}.md", f"apple {number} " * 200)
    store.close()
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreCorrupt):
        _read_all(path)


def test_check_says_what_is_wrong(store: Store, root: Root, put: Any, path: Path) -> None:
    put(store, root, "a.md", "apple", "banana")
    store.close()
    _execute(path, "PRAGMA foreign_keys = OFF", "DELETE FROM passages_fts WHERE rowid = 1")
    with Store.open(path) as damaged:
        assert damaged.check() == ["the word index does not cover the passages"]
    _execute(path, "PRAGMA foreign_keys = OFF", "DELETE FROM document_chunks WHERE id = 2")
    with Store.open(path) as damaged:
        problems = damaged.check()
        assert "1 documents lack chunks" in problems
        assert any("are gone" in problem for problem in problems)


def test_a_busy_index_is_busy_and_not_corrupt(store: Store, path: Path) -> None:
    other = open_database(path)
    other.rows("PRAGMA busy_timeout = 20")
    with store._database.transaction():
        with pytest.raises(StoreBusy, match="another process is writing"), other.transaction():
            pytest.fail("two writers at once")
        # Locked by and by; reading goes on.
        assert other.value("SELECT count(*) FROM documents") == 0
    with other.transaction():
        other.rows("INSERT INTO meta VALUES ('key', 'value')")
    other.close()


def test_a_full_disk_costs_only_the_document_at_hand(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", "apple")
    pages = store._database.value("PRAGMA page_count")
    store._database.rows(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full; free some space"):
        put(store, root, "big.md", *[f"banana {number} " * 300 for number in range(30)])
    assert [match.chunk.path for match in matching(store, ["appl"], 5)] == ["a.md"]
    assert store.check() == []
    store._database.rows("PRAGMA max_page_count = 1000000")
    put(store, root, "big.md", "banana")
    assert [match.chunk.path for match in matching(store, ["banana"], 5)] == ["big.md"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="folder exists"):
        Store.open(tmp_path / "nowhere" / "rag.db")


def test_a_folder_in_the_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir()
    for readonly in (True, False):
        with pytest.raises(StoreError):
            Store.open(path, readonly=readonly)


def test_many_processes_may_create_the_index_at_once(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from rag_agent.store import Store\n"
        "sys.stdin.readline()\n"
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.add_root(sys.argv[2])\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), str(path.parent / f"root{number}")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=Path(paths.__file__).parent.parent,
        )
        for number in range(4)
    ]
    errors = [process.communicate("go\n")[1] for process in processes]
    assert errors == [""] * 4
    with Store.open(path) as store:
        assert len(store.roots()) == 4
        assert store.check() == []


def test_a_reader_sees_the_old_state_during_a_write_and_is_never_locked_out(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    put(store, root, "a.md", "apple")
    done = threading.Event()
    failures: list[BaseException] = []
    histories: list[list[int]] = [[], []]

    def read(seen: list[int]) -> None:
        try:
            with Store.open(path, readonly=True) as reader:
                while not done.is_set() or not seen:
                    with reader.snapshot():
                        found = len(matching(reader, ["appl"], 1000))
                        # Words and documents are of one moment.
                        assert found == reader.counts().documents
                    seen.append(found)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    readers = [threading.Thread(target=read, args=(seen,)) for seen in histories]
    for reader in readers:
        reader.start()
    for number in range(150):
        put(store, root, f"{number}.md", "apple")
        if number % 50 == 49:
            store.refresh_statistics()
    with store._database.transaction():
        store._database.rows("DELETE FROM documents")
        with Store.open(path, readonly=True) as other:
            assert len(matching(other, ["appl"], 1000)) == 151
        store._database.rows("ROLLBACK")
        store._database.rows("BEGIN")
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    for seen in histories:
        assert seen == sorted(seen)
        assert seen[-1] <= 151


def test_a_process_that_dies_in_a_transaction_leaves_a_sound_index(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    put(store, root, "a.md", "apple")
    store.close()
    program = (
        "import os, sys; from pathlib import Path; from rag_agent.store import Store\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "with store._database.transaction():\n"
        "    store._database.rows('DELETE FROM documents')\n"
        "    os._exit(9)\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        cwd=Path(paths.__file__).parent.parent,
        check=False,
    )
    assert died.returncode == 9
    with Store.open(path) as again:
        assert again.check() == []
        assert [match.chunk.path for match in matching(again, ["appl"], 5)] == ["a.md"]
        put(again, root, "b.md", "apple")


def test_what_went_wrong_while_reading_is_told_where_sqlite_ended_the_snapshot_by_itself(
    store: Store,
) -> None:
    # As it does when the disk fails.
    ending = "INSERT OR ROLLBACK INTO meta VALUES ('key', NULL)"
    with pytest.raises(StoreError, match="NOT NULL constraint"), store.snapshot():
        store._database.rows(ending)
    with store.snapshot():
        assert store.check() == []


def test_a_store_that_is_closed_once_or_twice_says_so(store: Store) -> None:
    for _ in range(2):
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.counts()


def test_the_engine_says_what_it_runs_on() -> None:
    assert engine().startswith(f"SQLite {apsw.sqlite_lib_version()}, apsw ")


def test_our_mark_stands_in_the_file_from_the_beginning(store: Store, path: Path) -> None:
    # While a writer has it open everything else is in the -wal file.
    assert not paths.is_foreign(path)
    assert paths.database(path.parent) == path


def test_pi_local_rag_may_make_its_tables_in_our_file(
    store: Store, root: Root, put: Any, path: Path
) -> None:
    put(store, root, "a.md", "apple")
    # Its schema, as far as names could clash.
    _execute(
        path,
        "CREATE TABLE IF NOT EXISTS metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS chunks (id TEXT PRIMARY KEY, file_path TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY)",
        "CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(file_path)",
        "CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN "
        "INSERT INTO chunks_fts (rowid, file_path) VALUES (new.rowid, new.file_path); END",
        "CREATE INDEX idx_chunks_file_path ON chunks (file_path)",
    )
    put(store, root, "b.md", "apple")
    assert len(matching(store, ["appl"], 5)) == 2
    assert store.check() == []
