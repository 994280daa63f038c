"""Scans and photos, read by the real tesseract."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image
from programs import needs_tesseract
from pypdfium2 import raw

from rag_agent import extract as extraction
from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import OcrRules, extract, ocr
from rag_agent.types import Coverage

PAGES = Path(__file__).parents[2] / "fixtures" / "pages"
SCAN = (PAGES / "scan.pdf").read_bytes()
NOTICE = (PAGES / "notice.jpg").read_bytes()
RULES = OcrRules(languages=("eng",))


@pytest.fixture
def without_tesseract(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A search path without the program, for this process and for the worker."""
    extraction.close()
    monkeypatch.setenv("PATH", str(tmp_path))
    yield
    extraction.close()


def _picture(width: int, height: int, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("L", (width, height), 255).save(stream, kind)
    return stream.getvalue()


@needs_tesseract
def test_the_pages_of_a_scan_are_read_each_in_its_place() -> None:
    document = extract(SCAN, "scan.pdf", ocr=RULES)
    lines = ["", *document.text.split("\n")]
    pages = [" ".join(lines[start:end]) for start, end in _spans(document.pages, len(lines))]
    assert "deepen the western fairway to eleven metres" in pages[0]
    assert "dumped at the Havbukta site" in pages[1]
    assert "approved in May" in pages[2]
    assert document.coverage == Coverage(text=1, ocr=2, engine="eng, 200 pages")
    assert document.warnings == ()


def _spans(starts: tuple[int, ...], end: int) -> list[tuple[int, int]]:
    return list(zip(starts, [*starts[1:], end], strict=True))


def _stamped(data: bytes, stamp: str) -> bytes:
    """The file with a line of text on its first page."""
    pdf = pypdfium2.PdfDocument(data)
    page = pdf[0]
    line = raw.FPDFPageObj_NewTextObj(pdf, b"Helvetica", 9.0)
    written = (stamp + "\0").encode("utf-16-le")
    raw.FPDFText_SetText(line, ctypes.cast(written, raw.FPDF_WIDESTRING))
    raw.FPDFPageObj_Transform(line, 1, 0, 0, 1, 40, 20)
    raw.FPDFPage_InsertObject(page, line)
    page.gen_content()
    stream = io.BytesIO()
    pdf.save(stream)
    return stream.getvalue()


@needs_tesseract
def test_a_scanned_page_with_a_stamp_on_it_is_still_a_scan() -> None:
    stamped = _stamped(SCAN, "Received 14 March")
    assert extract(stamped, "a.pdf").coverage == Coverage(text=1, without=2)
    assert "Received 14 March" in extract(stamped, "a.pdf").text
    document = extract(stamped, "a.pdf", ocr=RULES)
    assert document.coverage == Coverage(text=1, ocr=2, engine="eng, 200 pages")
    assert "deepen the western fairway" in " ".join(document.text.split())
    assert document.text.count("Received 14 March") == 1


@needs_tesseract
def test_a_photo_of_a_notice_is_text() -> None:
    document = extract(NOTICE, "quay/notice.jpg", ocr=RULES)
    text = " ".join(document.text.split())
    assert "swing bridge opens on request" in text
    assert "Call VHF channel 69" in text
    assert (document.language, document.kind, document.converted) == ("image", "prose", True)
    assert document.coverage == Coverage(ocr=1, engine="eng, 200 pages")


@needs_tesseract
def test_a_photo_says_when_and_by_whom_it_was_taken() -> None:
    photo = Image.open(io.BytesIO(NOTICE)).crop((80, 80, 1000, 260))
    tags = Image.Exif()
    tags[0x013B], tags[0x0132] = "Ines Okafor", "2026:03:15 08:00:00"
    tags.get_ifd(0x8769)[0x9003] = "2026:03:14 10:00:00"
    stream = io.BytesIO()
    photo.save(stream, "JPEG", exif=tags)
    document = extract(stream.getvalue(), "a.jpg", ocr=RULES)
    assert document.date == "2026-03-14"
    assert document.metadata == {"author": "Ines Okafor", "created": "2026-03-14T10:00:00"}


@needs_tesseract
@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_picture_that_lies_on_its_side_is_read(angle: int) -> None:
    if "osd" not in ocr.installed(ocr.find() or ""):
        pytest.skip("tesseract has no osd.traineddata: apt-get install tesseract-ocr")
    stream = io.BytesIO()
    Image.open(io.BytesIO(NOTICE)).rotate(angle, expand=True).save(stream, "PNG")
    text = " ".join(extract(stream.getvalue(), "a.png", ocr=RULES).text.split())
    assert text.index("NOTICE") < text.index("swing bridge") < text.index("yellow buoy")


@needs_tesseract
@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_every_kind_of_picture_is_read(kind: str) -> None:
    stream = io.BytesIO()
    Image.open(io.BytesIO(NOTICE)).crop((80, 80, 1000, 260)).save(stream, kind)
    assert "NOTICE TO MARINERS" in extract(stream.getvalue(), f"a.{kind.lower()}", ocr=RULES).text


@needs_tesseract
def test_the_pages_of_a_tiff_are_pages() -> None:
    notice = Image.open(io.BytesIO(NOTICE))
    top, bottom = notice.crop((80, 80, 1000, 260)), notice.crop((80, 350, 1000, 560))
    stream = io.BytesIO()
    top.save(stream, "TIFF", save_all=True, append_images=[bottom])
    document = extract(stream.getvalue(), "a.tiff", ocr=RULES)
    assert len(document.pages) == 2
    assert "channel 69" not in document.text[: document.text.index("VHF")]


@needs_tesseract
def test_pages_beyond_the_limit_are_said_to_have_no_text() -> None:
    document = extract(SCAN, "scan.pdf", ocr=OcrRules(pages=1, languages=("eng",)))
    assert document.coverage == Coverage(text=1, ocr=1, without=1, engine="eng, 1 pages")
    assert "western fairway" in document.text
    (warning,) = document.warnings
    assert warning.startswith("1 of 3 pages have no text (1 beyond the limit; raise ocrPages")


@needs_tesseract
def test_pages_that_the_time_for_a_file_does_not_reach_count_as_failed() -> None:
    late = OcrRules(seconds=0, languages=("eng",))
    document = extract(SCAN, "scan.pdf", ocr=late)
    assert document.coverage == Coverage(text=1, without=2, engine="eng, 200 pages", failed=2)
    assert document.warnings == (
        "2 of 3 pages have no text "
        "(OCR failed on 2, tried again at a later sync: over 0 s for the file)",
    )
    with pytest.raises(ExtractError, match=r"OCR failed \(.*: over 0 s for the file\)$"):
        extract(NOTICE, "notice.jpg", ocr=late)


@needs_tesseract
@pytest.mark.skipif(sys.platform == "win32", reason="the failing tesseract is a shell script")
def test_a_page_of_a_tiff_on_which_ocr_fails_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "tesseract"
    script.write_text(
        f"""#!/bin/sh
if [ "$1" != --list-langs ] && [ ! -e "{tmp_path}/failed" ]
then touch "{tmp_path}/failed"; echo "no space" >&2; exit 3; fi
exec "{ocr.find()}" "$@"
""",
        encoding="utf-8",
    )
    script.chmod(0o755)
    stream = io.BytesIO()
    notice = Image.open(io.BytesIO(NOTICE))
    notice.save(stream, "TIFF", save_all=True, append_images=[notice])
    extraction.close()
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    document = extract(stream.getvalue(), "notice.tif", ocr=RULES)
    extraction.close()
    assert document.coverage == Coverage(ocr=1, without=1, engine="eng, 200 pages", failed=1)
    (warning,) = document.warnings
    assert warning.startswith("OCR failed on 1 of 2 pages, tried again at a later sync: ")
    assert warning.endswith("tesseract ended with code 3: no space")
    assert "channel 69" in document.text


@needs_tesseract
def test_a_picture_without_text_is_refused_as_such() -> None:
    with pytest.raises(ExtractError, match=r"a\.png: no text"):
        extract(_picture(800, 600), "a.png", ocr=RULES)


@needs_tesseract
def test_a_language_that_is_not_installed_is_as_no_ocr() -> None:
    rules = OcrRules(languages=("tlh",))
    assert ocr.state(rules) == ""
    with pytest.raises(ExtractError, match="needs OCR"):
        extract(NOTICE, "a.jpg", ocr=rules)


def test_english_comes_first_and_scripts_not_at_all() -> None:
    known = ["chi_sim", "deu", "eng", "equ", "fra", "jpn_vert", "nor", "osd", "script/Latin"]
    assert ocr.languages(known) == ("eng", "chi_sim", "deu", "fra")
    assert ocr.languages(known, ["nor", "tlh"]) == ("nor",)
    assert ocr.languages([]) == ()


@pytest.mark.usefixtures("without_tesseract")
def test_without_tesseract_a_scan_says_what_it_needs() -> None:
    assert ocr.state(OcrRules()) == ""
    document = extract(SCAN, "scan.pdf")
    assert document.coverage == Coverage(text=1, without=2)
    assert "approved in May" in document.text
    (warning,) = document.warnings
    assert warning.startswith("2 of 3 pages have no text (scanned; needs OCR: install tesseract")


@pytest.mark.usefixtures("without_tesseract")
@pytest.mark.parametrize("rules", [None, RULES])
def test_without_tesseract_a_picture_says_what_it_needs(rules: OcrRules | None) -> None:
    with pytest.raises(ExtractError, match=r"needs OCR.*install tesseract"):
        extract(NOTICE, "a.jpg", ocr=rules)


def test_icons_are_told_by_their_size() -> None:
    with pytest.raises(ExtractError, match=r"small picture.*64 by 64 pixels"):
        extract(_picture(64, 64), "icon.png")
    with pytest.raises(ExtractError, match="small picture"):
        extract(_picture(2000, 20), "rule.gif")


def test_a_picture_that_unpacks_to_too_much_is_refused_by_its_header() -> None:
    Image.MAX_IMAGE_PIXELS = None  # of this process, which makes it
    with pytest.raises(TooLarge):
        extract(_picture(30_000, 10_000), "bomb.png")


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", NOTICE[:40]])
def test_a_broken_picture_is_one_reported_file(data: bytes) -> None:
    with pytest.raises(ExtractError, match=r"a\.png: "):
        extract(data, "a.png")


@needs_tesseract
def test_a_truncated_photo_is_read_or_refused_and_the_next_one_is_read() -> None:
    with pytest.raises(ExtractError, match=r"a\.jpg: "):
        extract(NOTICE[:9_000], "a.jpg", ocr=RULES)
    assert "MARINERS" in extract(NOTICE, "a.jpg", ocr=RULES).text


@needs_tesseract
@pytest.mark.skipif(sys.platform == "win32", reason="finds processes by /bin/ps")
def test_tesseract_ends_with_the_worker_that_runs_it() -> None:
    extraction.close()
    failed: list[ExtractError] = []

    def read() -> None:
        try:
            # Large enough to take seconds.
            big = io.BytesIO()
            Image.open(io.BytesIO(NOTICE)).resize((6_000, 4_000)).save(big, "PNG")
            extract(big.getvalue(), "a.png", ocr=RULES)
        except ExtractError as error:
            failed.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    process = _wait_for_tesseract()
    extraction.SHARED.kill()
    reading.join()
    assert [error.reason for error in failed] in (["parser crashed"], [])
    assert _ended(process)


def _wait_for_tesseract() -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for pid, parents in _tesseracts():
            if os.getpid() in parents:
                return pid
    raise AssertionError("tesseract was never started")


def _tesseracts() -> Iterator[tuple[int, list[int]]]:
    """(process, its parents upwards) of each that runs."""
    table = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, check=True, encoding="utf-8"
    ).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    parent = {int(pid): int(above) for pid, above, _ in rows}
    for pid, _, name in rows:
        if "tesseract" in name:
            chain, at = [], int(pid)
            while at in parent:
                at = parent[at]
                chain.append(at)
            yield int(pid), chain


def _ended(pid: int) -> bool:
    """Whether a process is gone, or ended and not yet asked about by whoever adopted it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)],
            capture_output=True,
            check=False,
            encoding="utf-8",
        ).stdout.strip()
        if not shown or shown.startswith("Z"):
            return True
    os.kill(pid, signal.SIGKILL)
    return False
