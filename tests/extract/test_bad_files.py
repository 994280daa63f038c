from __future__ import annotations

import errno
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import extract
from rag_agent.extract.archive import open_archive
from rag_agent.extract.registry import guarded
from rag_agent.types import Document

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _zip(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "path", "message"),
    [
        (b"", "a.pdf", "cannot be parsed"),
        (b"%PDF-1.7 and then nothing", "a.pdf", "cannot be parsed"),
        (random.Random(1).randbytes(100_000), "a.pdf", "cannot be parsed"),
        (b"%PDF-1.7\n" + random.Random(2).randbytes(100_000), "a.pdf", "cannot be parsed"),
        (b"", "a.docx", "not a zip archive"),
        (b"plain text", "a.docx", "not a zip archive"),
        (_zip(other=b"x"), "a.docx", "the archive has no word/document"),
        (_zip(word__document_xml=b"<not closed"), "a.docx", "cannot be parsed"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "a.docx", "encrypted or old format"),
        (b'{"cells": [\n{"a": }\n]}', "a.ipynb", "broken JSON (line 2, column 7"),
        (b"[" * 100_000, "a.ipynb", "nested too deeply"),
        (b"[]", "a.ipynb", "not a notebook"),
        (b'{"cells": 3}', "a.ipynb", "not a notebook"),
    ],
)
def test_a_broken_file_is_one_clear_line(data: bytes, path: str, message: str) -> None:
    with pytest.raises(ExtractError) as caught:
        extract(data, path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_an_encrypted_pdf_says_so_and_what_to_do() -> None:
    with pytest.raises(ExtractError, match="it needs a password; save a copy without one"):
        extract((FORMATS / "encrypted.pdf").read_bytes(), "encrypted.pdf")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("file", ["survey.pdf", "tender.docx"])
def test_a_truncated_document_is_mended_or_refused_and_the_next_is_read(
    file: str, share: float
) -> None:
    data = (FORMATS / file).read_bytes()
    try:
        text = extract(data[: int(len(data) * share)], file).text
    except ExtractError as error:
        text = str(error)
    assert text
    assert extract(data, file).text


def _pdf(font: bytes) -> bytes:
    """A PDF of one page, which shows the glyphs 1 to 4 of this font."""
    content = b"BT /F1 12 Tf 20 200 Td <01020304> Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >> stream\n%s\nendstream" % (len(content), content),
        font,
        b"<< /Length 16 >> stream\n10 0 d0 0 0 8 8 re f\nendstream",
    ]
    file = b"%PDF-1.4\n"
    places = []
    for number, item in enumerate(objects, start=1):
        places.append(b"%010d 00000 n \n" % len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"xref\n0 7\n0000000000 65535 f \n" + b"".join(places)
    trailer = b"trailer << /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(file)
    return file + table + trailer


def test_a_page_whose_font_does_not_name_its_characters_is_said_to_need_ocr() -> None:
    drawings = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 10 10] /FontMatrix [.1 0 0 .1 0 0]"
        b" /FirstChar 1 /LastChar 4 /Widths [10 10 10 10] /CharProcs << /g1 6 0 R >>"
        b" /Encoding << /Differences [1 /g1 /g1 /g1 /g1] >> >>"
    )
    document = extract(_pdf(drawings), "a.pdf")
    assert (document.text, document.pages) == ("\n", (1,))
    (warning,) = document.warnings
    assert warning.startswith("1 of 1 pages have no text (scanned; needs OCR")


def test_a_page_whose_font_names_its_characters_is_read() -> None:
    named = (
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Some"
        b" /Encoding << /Differences [1 /T /i /d /e] >> >>"
    )
    document = extract(_pdf(named), "a.pdf")
    assert (document.text, document.warnings) == ("Tide\n", ())


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    bomb = _zip(word__document_xml=bytes(600 * 1024**2))
    assert len(bomb) < 4 * 1024**2
    with pytest.raises(
        TooLarge, match=r"bomb\.docx: unpacks to too much \(600 MB, more than 512\)"
    ):
        extract(bomb, "bomb.docx")


def test_many_small_parts_count_together() -> None:
    archive = _zip(**{f"part{number}": bytes(100) for number in range(11)})
    open_archive(archive, "a.docx", "part0", limit=1100).close()
    with pytest.raises(TooLarge):
        open_archive(archive, "a.docx", "part0", limit=1099)


def test_entities_that_multiply_are_refused() -> None:
    levels = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    source = (
        f'<!DOCTYPE d [<!ENTITY l0 "lol">{levels}]>'
        f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>&l9;</w:t></w:r></w:p></w:body>'
        "</w:document>"
    )
    with pytest.raises(ExtractError, match=r"a\.docx: "):
        extract(_zip(word__document_xml=source.encode()), "a.docx")


def test_html_nested_too_deeply_for_its_structure_keeps_its_words() -> None:
    document = extract(b"<div>" * 20_000 + b"the only words", "deep.html")
    assert document.text == "the only words\n"
    assert document.warnings == (
        "nested too deeply for headings and tables: only the words were kept",
    )


def test_a_page_whose_main_element_is_empty_keeps_what_is_around_it() -> None:
    document = extract(b"<h1>Head</h1><main></main><p>words</p>", "a.html")
    assert document.text == "# Head\n\nwords\n"


def test_json_nested_deeply_is_text_like_any_other() -> None:
    data = b"[" * 100_000 + b"\n" + b"]" * 100_000
    assert extract(data, "deep.json").text.encode() == data


def test_random_bytes_in_a_text_file_become_text_with_a_warning() -> None:
    document = extract(random.Random(3).randbytes(1_000_000), "noise.md")
    assert document.text.encode("utf-8")
    assert any("replaced" in warning for warning in document.warnings)


def test_an_empty_file_is_an_empty_document() -> None:
    assert [extract(b"", path).text for path in ("a.py", "a.md", "a.csv", "a.ipynb")] == [""] * 4
    assert extract(b"", "a.ipynb").warnings == ()


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"<script>only()</script>", "a.html"),
        (b'{"cells": []}', "a.ipynb"),
        (
            _zip(
                word__document_xml=f'<w:document xmlns:w="{_WORD}"><w:body/></w:document>'.encode()
            ),
            "a.docx",
        ),
    ],
)
def test_a_document_without_any_text_says_so(data: bytes, path: str) -> None:
    document = extract(data, path)
    assert document.text.strip() == ""
    assert document.warnings == ("no text in it",)


def test_a_drawing_without_any_text_is_as_drawings_are() -> None:
    icon = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h24v24"/></svg>'
    assert extract(icon, "icon.svg").warnings == ()


def test_a_page_in_another_encoding_is_read_as_it_declares() -> None:
    page = '<meta charset="shift_jis"><title>潮位表</title><p>港の潮位</p>'
    document = extract(page.encode("shift_jis"), "a.html")
    assert (document.title, document.text) == ("潮位表", "港の潮位\n")
    assert document.warnings == ("read as shift_jis, because it is not UTF-8",)


def test_a_long_output_of_a_notebook_is_cut_and_the_cut_is_said() -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "loss 0.1\n" * 10_000}
    cell = {"cell_type": "code", "source": "train()", "outputs": [output]}
    document = extract(json.dumps({"cells": [cell]}).encode(), "a.ipynb")
    assert len(document.text) < 11_000
    assert document.warnings == ("outputs cut after 10,000 characters: 1",)


def test_progress_bars_of_a_notebook_leave_only_their_last_state() -> None:
    output = {"output_type": "stream", "name": "stderr", "text": ["10%|#\r", "99%|####\r\ndone\n"]}
    cell = {"cell_type": "code", "source": "a", "outputs": [output]}
    document = extract(json.dumps({"cells": [cell]}).encode(), "a.ipynb")
    assert "```output\n99%|####\ndone\n```" in document.text
    assert "10%" not in document.text


def test_a_notebook_of_version_3_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Old heading"]},
        {"cell_type": "code", "input": ["print 1"], "outputs": []},
    ]
    notebook = {"nbformat": 3, "worksheets": [{"cells": cells}]}
    document = extract(json.dumps(notebook).encode(), "a.ipynb")
    assert document.text == "## Old heading\n\n```python\nprint 1\n```\n"


def test_code_in_a_notebook_cannot_end_its_own_fence() -> None:
    cell = {"cell_type": "code", "source": 'text = """\n```\n# no heading\n```\n"""'}
    document = extract(json.dumps({"cells": [cell]}).encode(), "a.ipynb")
    assert document.text.startswith("````python\n")
    assert document.title == ""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "refused by the system"),
        (OSError("image file is truncated"), "cannot be parsed"),
    ],
)
def test_what_the_system_refuses_is_told_from_what_no_parser_can_read(
    error: OSError, reason: str
) -> None:
    def read(data: bytes, path: str) -> Document:
        raise error

    with pytest.raises(ExtractError) as raised:
        guarded(read, b"", "a.pdf")
    assert raised.value.reason == reason
