"""Scans and photos in an index: named without OCR, found with it, read once."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from programs import needs_tesseract

import rag_agent
from rag_agent import extract
from rag_agent.commands.health import status_data
from rag_agent.progress import Progress
from rag_agent.sync.lock import WriteLock
from rag_agent.types import Coverage

PAGES = Path(__file__).parents[2] / "fixtures" / "pages"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(PAGES / "scan.pdf", folder / "minutes.pdf")
    shutil.copy(PAGES / "notice.jpg", folder)
    (folder / "readme.md").write_text("# Harbour\n\nCharts and minutes.\n", encoding="utf-8")
    Image.new("L", (64, 64)).save(folder / "icon.png")
    return folder


@pytest.fixture
def tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bool], None]]:
    """Has the program, or has it not."""
    path = os.environ["PATH"]

    def installed(there: bool) -> None:
        extract.close()
        monkeypatch.setenv("PATH", path if there else str(tmp_path))

    yield installed
    extract.close()


@needs_tesseract
def test_a_scan_and_a_photo_are_named_without_tesseract_and_found_with_it(
    project: Path, tesseract: Callable[[bool], None]
) -> None:
    tesseract(False)
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"])
        index.sync()
        status = index.status()
        assert status.pages == Coverage(text=1, without=2)
        assert status.pages_of == {"minutes.pdf": Coverage(text=1, without=2)}
        assert status.skipped_by_reason["needs OCR"] == 1
        assert [s.path for s in status.skipped if s.reason == "needs OCR"] == ["notice.jpg"]
        assert [s.path for s in status.skipped if s.reason == "small picture"] == ["icon.png"]
        assert any("minutes.pdf: 2 of 3 pages have no text" in note for note in status.warnings)
        assert _found(index, "Where is the spoil dumped?", "Havbukta") is None

        tesseract(True)
        done = index.sync()
        assert (done.added, done.changed, done.pending) == (1, 0, 0)
        status = index.status()
        engine = "eng, 200 pages"
        assert status.pages == Coverage(text=1, ocr=3)
        assert status.pages_of == {
            "minutes.pdf": Coverage(text=1, ocr=2, engine=engine),
            "notice.jpg": Coverage(ocr=1, engine=engine),
        }
        assert "needs OCR" not in status.skipped_by_reason
        assert status.warnings == ()
        assert status_data(status)["pages_of"]["minutes.pdf"]["ocr"] == 2  # type: ignore[index]
        assert _found(index, "Where is the spoil dumped?", "Havbukta") == "minutes.pdf"
        assert (
            _found(index, "which VHF channel opens the swing bridge", "channel 69") == "notice.jpg"
        )


def _found(index: rag_agent.Index, question: str, answer: str) -> str | None:
    """The file whose best passages have the answer, if it is the first."""
    hit = index.search(question).hits[0]
    return hit.path if any(answer in part.text for part in (hit.chunk, *hit.more)) else None


@needs_tesseract
def test_pictures_are_read_once(project: Path, tesseract: Callable[[bool], None]) -> None:
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"])
        index.sync(vectors=False)
        before = _text_times(index)
        # Nothing is asked of the program any more.
        tesseract(False)
        again = index.sync(vectors=False)
        assert (again.added, again.changed, again.removed, again.unchanged) == (0, 0, 0, 3)
        tesseract(True)
        index.sync(vectors=False)
        assert _text_times(index) == before


def _text_times(index: rag_agent.Index) -> dict[str, Coverage]:
    return dict(index.status().pages_of)


@needs_tesseract
def test_no_more_pictures_are_read_than_the_setting_says(
    project: Path, tesseract: Callable[[bool], None]
) -> None:
    notice = Image.open(PAGES / "notice.jpg")
    for number in range(3):
        stream = io.BytesIO()
        notice.crop((80, 80, 1000, 260 + number)).save(stream, "PNG")
        (project / f"sign{number}.png").write_bytes(stream.getvalue())
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"], ocr_pictures=2)
        done = index.sync(vectors=False)
        left = [s for s in done.skipped if s.reason == "too many pictures"]
        assert [s.path for s in left] == ["sign1.png", "sign2.png"]
        assert "ocrPictures" in left[0].detail
        assert set(index.status().pages_of) == {"minutes.pdf", "notice.jpg", "sign0.png"}
        index.configure(ocr_pictures=3)
        assert index.sync(vectors=False).added == 1
        assert "sign1.png" in index.status().pages_of


def test_pictures_can_be_left_out(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.configure(ocr_pictures=0, ocr_pages=0)
        index.sync(vectors=False)
        reasons = {s.path: s.reason for s in index.status().skipped}
        assert reasons["notice.jpg"] == "file type"
        assert index.status().pages_of == {"minutes.pdf": Coverage(text=1, without=2)}


def test_a_question_about_a_paper_is_answered_with_its_page(project: Path) -> None:
    shutil.copy(PAGES / "paper.pdf", project)
    with rag_agent.open(project) as index:
        index.configure(ocr_pages=0)
        index.sync()
        (hit, *_) = index.search("Why did the pressure sensor at the lock gate fail?").hits
        assert hit.path == "paper.pdf"
        assert hit.chunk.heading.startswith("page 6 > ")
        assert hit.chunk.heading.endswith("3.2 Failure of a sensor")
        assert "barnacle" in hit.chunk.text
        # What is found by words only is found, and has no vector to come.
        assert index.status().pending == 0
        assert index.status().unembedded > 0
        (hit, *_) = index.search("Author24 waves of the kind 24").hits
        assert hit.chunk.heading.endswith("References")


@needs_tesseract
def test_ocr_comes_after_the_vectors_of_all_other_files_and_locks_nobody_out(
    project: Path,
) -> None:
    seen: list[tuple[str, str, int]] = []
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"])
        other = rag_agent.open(project)

        def report(progress: Progress) -> None:
            if progress.item in ("minutes.pdf", "notice.jpg") and other.status().vectors:
                with WriteLock(index.folder, wait=5.0):  # another writer has its turn meanwhile
                    seen.append((progress.stage, progress.item, other.status().pending))

        done = index.sync(report=report)
        other.close()
    read = [(item, pending) for stage, item, pending in seen if stage == "extract"]
    assert [item for item, _ in read] == ["minutes.pdf", "notice.jpg"]
    assert read[0][1] == 0  # all that is there so far has its vectors
    assert done.pending == 0


@needs_tesseract
def test_a_stop_in_the_middle_of_ocr_keeps_what_was_read(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"])
        index.sync(pictures=False)

        def report(progress: Progress) -> None:
            if progress.item == "notice.jpg":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            index.read_pictures(report)
        assert index.status().pages_of["minutes.pdf"].ocr == 2
        assert index.status().skipped_by_reason["needs OCR"] == 1
        assert index.read_pictures().added == 1


@needs_tesseract
def test_a_rebuild_without_tesseract_keeps_what_it_has_read(
    project: Path, tesseract: Callable[[bool], None]
) -> None:
    with rag_agent.open(project) as index:
        index.configure(ocr_languages=["eng"])
        index.sync()
        before = index.status().pages_of
        assert before["notice.jpg"].ocr == 1
        tesseract(False)
        done = index.rebuild(force=True)
        assert done.removed == 0
        assert index.status().pages_of == before
        # What the file holds now is another thing, and nobody can read it.
        shutil.copy(PAGES / "notice.jpg", project / "minutes.jpg")
        (project / "notice.jpg").write_bytes((PAGES / "notice.jpg").read_bytes() + b"\0")
        index.sync()
        assert "notice.jpg" not in index.status().pages_of


@needs_tesseract
def test_what_a_sync_learns_while_ocr_reads_is_not_undone_by_it(project: Path) -> None:
    generated = project / "made.js"
    generated.write_text("// Code generated by x. DO NOT EDIT.\nvar a = 1;\n", encoding="utf-8")
    Image.new("L", (900, 700), 255).save(project / "blank.png", compress_level=0)
    (project / "notice.jpg").unlink()
    synced: list[str] = []
    with rag_agent.open(project) as index, rag_agent.open(project) as other:
        index.configure(ocr_languages=["eng"])
        index.sync(vectors=False, pictures=False)

        def edit_and_sync(progress: Progress) -> None:
            if progress.item == "blank.png" and not synced:
                synced.append(progress.item)
                generated.write_text("var a = by_hand();\n", encoding="utf-8")
                other.sync(vectors=False, pictures=False)

        index.read_pictures(edit_and_sync)
        assert synced
        left_out = {one.path: one.reason for one in index.status().skipped}
        assert left_out == {"blank.png": "no text", "icon.png": "small picture"}
        assert [one.path for one in index.find("made.js")] == ["made.js"]
