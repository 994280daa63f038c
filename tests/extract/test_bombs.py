"""Small files that would become huge, or never end; each costs a line and leaves the next alone."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import extract
from rag_agent.extract.archive import open_archive

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
# Formats that are zip archives, and a part that each must have.
ARCHIVES = {
    "order.docx": "word/document.xml",
    "berthing.xlsx": "xl/workbook.xml",
    "briefing.pptx": "ppt/presentation.xml",
    "order.odt": "content.xml",
    "berthing.ods": "content.xml",
    "briefing.odp": "content.xml",
    "almanac.epub": "META-INF/container.xml",
}
_SECONDS = 8.0  # most end in less; what would go on for minutes is stopped


def _one_line(data: bytes, path: str) -> str:
    """The text of a file, or the one line that says why there is none."""
    try:
        return extract(data, path, seconds=_SECONDS).text
    except ExtractError as error:
        line = str(error)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    return line


def _overlapping(names: list[str], kernel: bytes, *, quoted: bool) -> bytes:
    """A zip whose entries all give out the same bytes (D. Fifield, WOOT 2019).

    ``quoted`` makes each entry begin with the header of the next one, as stored data.
    """
    deflated = zlib.compress(kernel, 9)[2:-4]
    sums = zlib.crc32(kernel), len(deflated), len(kernel)

    def local(name: bytes, method: int, crc: int, packed: int, size: int) -> bytes:
        return struct.pack(
            "<4sHHHHHIIIHH", b"PK\3\4", 20, 0, method, 0, 0, crc, packed, size, len(name), 0
        ) + name  # fmt: skip

    last = local(names[-1].encode(), 8, *sums)
    file, places = b"", []
    if quoted:
        headers = [last]
        for name in reversed(names[:-1]):
            stored = b"".join(headers) + deflated
            crc = zlib.crc32(stored)
            headers.insert(0, local(name.encode(), 0, crc, len(stored), len(stored)))
            places.insert(0, (name, 0, crc, len(stored), len(stored)))
        offset = 0
        entries = []
        for header, (name, *rest) in zip(headers, [*places, (names[-1], 8, *sums)], strict=True):
            entries.append((name, offset, *rest))
            offset += len(header)
        file = b"".join(headers) + deflated
    else:
        file = last + deflated
        entries = [(name, 0, 8, *sums) for name in names]
    directory = b"".join(
        struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, method, 0, 0, crc, packed, size,
            len(name.encode()), 0, 0, 0, 0, 0, offset,
        ) + name.encode()
        for name, offset, method, crc, packed, size in entries
    )  # fmt: skip
    end = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, len(names), len(names), len(directory), len(file), 0
    )
    return file + directory + end


def _again() -> None:
    """The next file is read as if nothing had been."""
    assert "pilot" in extract((FORMATS / "order.docx").read_bytes(), "order.docx").text


@pytest.mark.parametrize("file", ARCHIVES)
def test_entries_that_share_their_bytes_count_each(file: str) -> None:
    names = [ARCHIVES[file], *(f"part{number}" for number in range(600))]
    bomb = _overlapping(names, bytes(1024**2), quoted=False)
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge, match="unpacks to too much"):
        extract(bomb, file)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("file", ARCHIVES)
def test_entries_that_overlap_below_the_limit_are_one_line(file: str, quoted: bool) -> None:
    names = [ARCHIVES[file], *(f"part{number}" for number in range(50))]
    assert _one_line(_overlapping(names, b"<a>" * 300_000, quoted=quoted), file)
    _again()


def test_a_part_unpacks_to_no_more_than_it_declares() -> None:
    archive = bytearray(_overlapping(["word/document.xml"], bytes(64 * 1024**2), quoted=False))
    for size in (archive.find(b"PK\3\4") + 22, archive.find(b"PK\1\2") + 24):
        archive[size : size + 4] = struct.pack("<I", 1000)
    opened = open_archive(bytes(archive), "a.docx", "word/document.xml")
    with opened, pytest.raises(zipfile.BadZipFile, match="CRC"):
        opened.read("word/document.xml")
    assert "cannot be parsed" in _one_line(bytes(archive), "a.docx")


@pytest.mark.parametrize("file", ["order.docx", "briefing.pptx", "order.odt", "almanac.epub"])
def test_archives_inside_of_each_other_are_not_opened(file: str) -> None:
    inner = bytes(20 * 1024**2)
    for level in range(4):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for copy in range(16):
                archive.writestr(f"{level}-{copy}.zip", inner)
        inner = packed.getvalue()
    hostile = io.BytesIO((FORMATS / file).read_bytes())
    with zipfile.ZipFile(hostile, "a") as archive:
        archive.writestr("embeddings/bomb.zip", inner)
    plain = extract((FORMATS / file).read_bytes(), file).text
    assert extract(hostile.getvalue(), file).text == plain


@pytest.mark.parametrize("file", ["order.docx", "order.odt"])
def test_an_archive_of_a_hundred_thousand_empty_parts_is_read(file: str) -> None:
    hostile = io.BytesIO((FORMATS / file).read_bytes())
    with zipfile.ZipFile(hostile, "a") as archive:
        for number in range(100_000):
            archive.writestr(zipfile.ZipInfo(f"x/{number}"), b"")
    assert _one_line(hostile.getvalue(), file)


def _pdf(*objects: bytes) -> bytes:
    """A PDF of these objects, numbered from 1, of which the first is the catalogue."""
    file = b"%PDF-1.7\n"
    places = []
    for number, item in enumerate(objects, start=1):
        places.append(b"%010d 00000 n \n" % len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(places)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(file))
    return file + table + trailer


_CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R"
    b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >> >> >> >>"
)


def _stream(data: bytes, filters: bytes) -> bytes:
    return b"<< /Length %d /Filter %s >> stream\n%s\nendstream" % (len(data), filters, data)


def _deflated_zeros(size: int, times: int) -> bytes:
    packer = zlib.compressobj(9)
    block = b" " * 1024**2
    data = b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return data


@pytest.mark.parametrize(
    ("times", "filters"), [(1, b"/FlateDecode"), (2, b"[/FlateDecode /FlateDecode]")]
)
def test_a_page_that_inflates_to_gigabytes_is_one_line(times: int, filters: bytes) -> None:
    content = _stream(_deflated_zeros(1024**3, times), filters)
    assert len(content) < 4 * 1024**2
    assert _one_line(_pdf(_CATALOGUE, _PAGES, _PAGE, content), "bomb.pdf")
    _again()


@pytest.mark.parametrize(
    "pages",
    [
        b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>",
        b"<< /Type /Pages /Kids [" + b"3 0 R " * 20_000 + b"] /Count 20000 >>",
    ],
    ids=["a tree that contains itself", "two billion pages", "one page over and over"],
)
def test_a_tree_of_pages_that_does_not_end_is_one_line(pages: bytes) -> None:
    assert _one_line(_pdf(_CATALOGUE, pages, _PAGE, _stream(b"", b"[]")), "tree.pdf")
    _again()


def test_operators_nested_without_end_are_one_line() -> None:
    content = _stream(zlib.compress(b"[" * 2_000_000 + b"q " * 1_000_000), b"/FlateDecode")
    assert _one_line(_pdf(_CATALOGUE, _PAGES, _PAGE, content), "deep.pdf")
    _again()


def test_drawings_that_draw_themselves_are_one_line() -> None:
    form = b"/Resources << /XObject << /X 4 0 R /Y 5 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R %s >>" % form
    draw = b"/X Do /Y Do " * 8
    item = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] %s /Length %d >> stream\n%s\nendstream"
    )
    assert _one_line(
        _pdf(
            _CATALOGUE, _PAGES, page, item % (form, len(draw), draw), item % (form, len(draw), draw)
        ),
        "self.pdf",
    )
    _again()


def test_a_notebook_that_would_take_gigabytes_as_objects_is_one_line() -> None:
    data = b'{"cells": [' + b"[[[[[[[[]]]]]]]]," * 3_700_000 + b"{}]}"
    assert _one_line(data, "a.ipynb")
    _again()
