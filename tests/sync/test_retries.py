"""What failed for a passing reason is found once that is gone, and costs little until then."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from programs import needs_tesseract

import rag_agent
from rag_agent import extract
from rag_agent.extract import ocr
from rag_agent.extract.passing import PASSING
from rag_agent.progress import silent
from rag_agent.store import Store
from rag_agent.sync import retries
from rag_agent.sync.retries import Retries
from rag_agent.sync.sync import note_pipeline, sync_documents
from rag_agent.sync.walk import rules_from
from rag_agent.types import Coverage, Skipped

PAGES = Path(__file__).parents[2] / "fixtures" / "pages"
ENGINE = "eng, 200 pages"
DAY = 86_400.0

# Says what languages there are as the real one does, which it is unless a file says otherwise.
_SCRIPT = """#!/bin/sh
if [ "$1" = --list-langs ]; then exec "{real}" "$@"; fi
echo >> "{folder}/calls"
if [ -e "{folder}/once" ]; then rm "{folder}/once"; kill -SEGV $$; fi
if [ -e "{folder}/crashing" ]; then kill -SEGV $$; fi
if [ -e "{folder}/silent" ]; then exit 0; fi
if [ -e "{folder}/murderous" ]; then kill -KILL $PPID; exit 1; fi
exec "{real}" "$@"
"""

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="the failing tesseract is a shell script"
)


@dataclass
class Tesseract:
    """A tesseract that fails as long as a file in its folder says how."""

    folder: Path

    def set(self, *states: str) -> None:
        for state in ("once", "crashing", "silent", "murderous"):
            (self.folder / state).unlink(missing_ok=True)
        for state in states:
            (self.folder / state).touch()

    def calls(self) -> int:
        """How many pictures it was given since the last time."""
        counted = self.folder / "calls"
        count = len(counted.read_text(encoding="utf-8").splitlines()) if counted.exists() else 0
        counted.unlink(missing_ok=True)
        return count


@pytest.fixture
def tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Tesseract]:
    """First on the path of this process and of the worker; nothing is cached by other tests."""
    extract.close()
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "tesseract"
    script.write_text(_SCRIPT.format(real=ocr.find(), folder=folder), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    yield Tesseract(folder)
    extract.close()


@dataclass
class Clock:
    """The time by which is decided what is tried again."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    here = Clock()
    monkeypatch.setattr(retries, "_now", here)
    return here


def _project(folder: Path, *files: str) -> rag_agent.Index:
    folder.mkdir()
    for file in files:
        shutil.copy(PAGES / file, folder)
    index = rag_agent.open(folder)
    index.configure(ocr_languages=["eng"])
    return index


def _notes(index: rag_agent.Index, path: str) -> list[str]:
    return [note for note in index.status().warnings if note.startswith(f"{path}: ")]


@posix
@needs_tesseract
@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("crashing", "OCR failed on 2, tried again at a later sync: tesseract ended by SIGSEGV"),
        ("silent", "OCR failed on 2, tried again at a later sync: tesseract gave no table"),
        ("murderous", "OCR failed, tried again at a later sync: parser crashed SIGKILL"),
    ],
)
def test_a_scan_on_which_ocr_failed_is_told_apart_and_found_later(
    tmp_path: Path, tesseract: Tesseract, state: str, why: str
) -> None:
    tesseract.set(state)
    with _project(tmp_path / "one", "scan.pdf") as index:
        index.sync(vectors=False)
        failed = Coverage(text=1, without=2, engine=ENGINE, failed=2)
        assert index.status().pages_of == {"scan.pdf": failed}
        assert index.status().pages == Coverage(text=1, without=2, failed=2)
        (note,) = _notes(index, "scan.pdf")
        assert why in note
        tesseract.set()
        read = {"scan.pdf": Coverage(text=1, ocr=2, engine=ENGINE)}
        # Another index of the same file is not told that there is nothing to be found.
        with _project(tmp_path / "two", "scan.pdf") as other:
            other.sync(vectors=False)
            assert other.status().pages_of == read
        index.sync(vectors=False)
        assert index.status().pages_of == read
        assert _notes(index, "scan.pdf") == []
        assert index.search("Havbukta").hits[0].path == "scan.pdf"


@posix
@needs_tesseract
def test_one_page_that_failed_costs_no_other_and_is_read_later(
    tmp_path: Path, tesseract: Tesseract
) -> None:
    tesseract.set("once")
    with _project(tmp_path / "one", "scan.pdf") as index:
        index.sync(vectors=False)
        (found,) = index.status().pages_of.values()
        assert found == Coverage(text=1, ocr=1, without=1, engine=ENGINE, failed=1)
        index.sync(vectors=False)
        (found,) = index.status().pages_of.values()
        assert found == Coverage(text=1, ocr=2, engine=ENGINE)


@posix
@needs_tesseract
@pytest.mark.parametrize("state", ["crashing", "silent", "murderous"])
def test_a_picture_on_which_ocr_failed_is_found_later(
    tmp_path: Path, tesseract: Tesseract, state: str
) -> None:
    tesseract.set(state)
    with _project(tmp_path / "one", "notice.jpg") as index:
        (left,) = index.sync(vectors=False).skipped
        assert left.reason in ("OCR failed", "parser crashed")
        tesseract.set()
        done = index.sync(vectors=False)
        assert (done.added, done.skipped) == (1, ())
        assert index.search("channel 69").hits[0].path == "notice.jpg"


@posix
@needs_tesseract
@pytest.mark.parametrize(("file", "pages"), [("scan.pdf", 2), ("notice.jpg", 1)])
def test_what_never_works_is_tried_less_and_less_often(
    tmp_path: Path, tesseract: Tesseract, clock: Clock, file: str, pages: int
) -> None:
    tesseract.set("crashing")
    calls = []
    with _project(tmp_path / "one", file) as index:
        for passed in (0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 3.0, 1.0):  # days since the last sync
            clock.now += passed * DAY
            index.sync(vectors=False)
            calls.append(tesseract.calls())
        assert calls == [pages, pages, 0, 0, pages, 0, pages, 0, pages]
        # Who asks for it does not wait.
        index.rebuild()
        assert tesseract.calls() == pages
        index.configure(ocr_pages=100)
        index.sync(vectors=False)
        assert tesseract.calls() == pages
        index.sync(vectors=False)
        assert tesseract.calls() == 0


@posix
@needs_tesseract
@pytest.mark.parametrize(("file", "word"), [("scan.pdf", "Havbukta"), ("notice.jpg", "channel")])
def test_what_was_read_stays_when_another_ocr_fails(
    tmp_path: Path, tesseract: Tesseract, file: str, word: str
) -> None:
    with _project(tmp_path / "one", file) as index:
        index.sync(vectors=False)
        tesseract.set("crashing")
        index.configure(ocr_pages=100)
        done = index.sync(vectors=False)
        assert done.warnings == (f"{file}: OCR failed; what was read of it before stays",)
        assert done.skipped == ()
        assert index.search(word).hits[0].path == file
        tesseract.set()
        index.sync(vectors=False)
        assert index.status().pages_of[file].engine == "eng, 100 pages"


@pytest.mark.parametrize("reason", sorted(PASSING))
def test_a_parser_that_failed_on_a_busy_machine_is_tried_again(
    tmp_path: Path, clock: Clock, reason: str
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    page = folder / "tide.html"
    page.write_text("<p>the tide turns", encoding="utf-8")
    os.utime(page, ns=(1_700_000_000_123_456_789,) * 2)
    rules = rules_from((), (), (), 2_000_000, 64_000_000)
    with Store.open(tmp_path / "rag.db") as store:
        root = store.add_root(str(folder))
        found = page.stat()
        note_pipeline(store)
        store.set_skipped(
            root, [Skipped("tide.html", reason, "", found.st_size, found.st_mtime_ns)]
        )
        for _ in range(2):
            Retries(store, root).failed("tide.html")
        assert sync_documents(store, root, rules, silent).added == 0
        clock.now += DAY
        assert sync_documents(store, root, rules, silent).added == 1
        assert store.skipped(root) == []
        assert store.meta("retries") == f'{{"{root.id}": {{}}}}'


def test_a_clock_that_was_put_back_stops_no_retry(tmp_path: Path, clock: Clock) -> None:
    with Store.open(tmp_path / "rag.db") as store:
        root = store.add_root(str(tmp_path))
        for _ in range(3):
            Retries(store, root).failed("a.pdf", ENGINE)
        assert not Retries(store, root).due("a.pdf", ENGINE)
        clock.now -= 400 * DAY
        assert Retries(store, root).due("a.pdf", ENGINE)


def test_nothing_is_given_up_for_good(tmp_path: Path, clock: Clock) -> None:
    with Store.open(tmp_path / "rag.db") as store:
        root = store.add_root(str(tmp_path))
        for _ in range(100):
            Retries(store, root).failed("a.pdf", ENGINE)
        assert not Retries(store, root).due("a.pdf")
        assert Retries(store, root).due("a.pdf", "deu, 200 pages")
        clock.now += 32 * DAY
        assert Retries(store, root).due("a.pdf")


def test_what_is_gone_leaves_no_trace(tmp_path: Path) -> None:
    with Store.open(tmp_path / "rag.db") as store:
        one, two = (store.add_root(str(tmp_path / name)) for name in ("one", "two"))
        Retries(store, one).failed("a.pdf")
        Retries(store, two).failed("b.pdf")
        store.remove_root(one)
        here = Retries(store, two)
        for path in ("docs/c.pdf", "docs/d.pdf"):
            here.failed(path)
        here.keep(["docs/d.pdf"], "docs")
        kept = json.loads(store.meta("retries") or "")
        assert list(kept) == [str(two.id)]
        assert list(kept[str(two.id)]) == ["b.pdf", "docs/d.pdf"]
        here.keep(["docs/d.pdf"])
        assert list(json.loads(store.meta("retries") or "")[str(two.id)]) == ["docs/d.pdf"]


def test_what_two_processes_note_side_by_side_is_all_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "rag.db") as store:
        root = store.add_root(str(tmp_path))
        reading, syncing = Retries(store, root), Retries(store, root)
        syncing.failed("slow.pdf")
        reading.failed("scan.png", "eng")
        reading.failed("gone.png", "eng")
        syncing.keep(["slow.pdf", "scan.png", "new.pdf"])
        syncing.failed("new.pdf")
        reading.settled("scan.png")
        both = Retries(store, root)
        for path in ("slow.pdf", "new.pdf"):
            both.failed(path)
            assert not both.due(path)
        for path in ("scan.png", "gone.png"):
            both.failed(path)
            assert both.due(path)
