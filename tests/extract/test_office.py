"""What lies in office files beside their plain text, made part by part."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from pathlib import Path

import pytest
import tomlkit

from rag_agent.errors import ExtractError, MissingDependency, UnsupportedFormat
from rag_agent.extract import docx, extract, pptx, word_xml
from rag_agent.extract.registry import EXTRAS, guarded

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
_STRICT = {
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "spreadsheetml/main",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "presentationml/main",
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "wordprocessingml/main",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "drawingml/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
        "officeDocument/relationships"
    ),
}


def _changed(file: str, *changes: tuple[str, str], **parts: str) -> bytes:
    """A fixture with texts replaced in all of its XML, and with more parts."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(FORMATS / file) as source,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            data = source.read(name)
            for old, new in changes if name.endswith((".xml", ".rels")) else ():
                data = data.replace(old.encode(), new.encode())
            target.writestr(name, data)
        for name, text in parts.items():
            target.writestr(name, text)
    return result.getvalue()


def test_formulas_and_the_text_below_ruby_of_a_word_document_are_found() -> None:
    math = (
        '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
        "<m:f><m:fPr><m:ctrlPr/></m:fPr><m:num><m:r><m:t>surge</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>height</m:t></m:r></m:den></m:f></m:oMath>"
    )
    ruby = (
        "<w:r><w:ruby><w:rubyPr><w:hps w:val='10'/></w:rubyPr><w:rt><w:r><w:t>みなと</w:t></w:r>"
        "</w:rt><w:rubyBase><w:r><w:t>港</w:t></w:r></w:rubyBase></w:ruby></w:r>"
    )
    data = _changed("tender.docx", ("<w:t>Prices</w:t></w:r>", f"<w:t>P</w:t></w:r>{math}{ruby}"))
    text = extract(data, "a.docx").text
    assert "## Psurgeheight港\n" in text


@pytest.mark.parametrize("file", ["tender.docx", "order.docx"])
def test_a_large_word_document_is_read_like_a_small_one(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (FORMATS / file).read_bytes()
    small = guarded(docx.read, data, file)
    monkeypatch.setattr(word_xml, "_LARGE", 0)
    with zipfile.ZipFile(FORMATS / file) as archive:
        assert len(word_xml.readable(archive, data).getvalue()) != len(data)
    assert guarded(docx.read, data, file) == small


@pytest.mark.parametrize(
    "element",
    ["w:fldSimple w:instr='AUTHOR'", "w:moveTo w:id='1'", "w:customXml", "w:bdo w:val='rtl'"],
)
def test_runs_inside_of_fields_and_other_elements_of_a_word_document_are_found(
    element: str,
) -> None:
    run = f"<{element}><w:r><w:t> moved</w:t></w:r></{element.partition(' ')[0]}>"
    data = _changed("tender.docx", ("<w:t>Prices</w:t></w:r>", f"<w:t>P</w:t></w:r>{run}"))
    assert "## P moved\n" in extract(data, "a.docx").text


def test_a_chart_of_a_kind_that_the_library_does_not_know_is_read() -> None:
    data = _changed("briefing.pptx", ("c:barChart>", "c:bar3DChart>"))
    assert "|  | Gales |\n| --- | --- |\n| January | 7 |" in extract(data, "a.pptx").text


def test_a_chart_in_a_word_document_is_found() -> None:
    with zipfile.ZipFile(FORMATS / "briefing.pptx") as archive:
        (name,) = (name for name in archive.namelist() if name.startswith("ppt/charts/chart"))
        chart = archive.read(name).decode()
    data = _changed("tender.docx", **{"word/charts/chart1.xml": chart})
    assert "| January | 7 |" in extract(data, "a.docx").text


def test_a_slide_whose_title_is_a_picture_has_a_number_for_a_heading() -> None:
    picture = (
        '<p:pic><p:nvPicPr><p:cNvPr id="99" name="t" descr="The bay"/><p:cNvPicPr/><p:nvPr>'
        '<p:ph type="title"/></p:nvPr></p:nvPicPr><p:blipFill/><p:spPr/></p:pic>'
    )
    end = "</p:graphicFrame></p:spTree>"  # of the slide with the chart alone
    data = _changed("briefing.pptx", (end, f"</p:graphicFrame>{picture}</p:spTree>"))
    text = extract(data, "a.pptx").text
    assert text.endswith("| February | 4 |\n\nThe bay\n")
    assert "\n# Slide 3\n" in text


@pytest.mark.parametrize("file", ["briefing.pptx", "regatta.pptx", "briefing.odp"])
def test_slides_are_pages(file: str) -> None:
    document = extract((FORMATS / file).read_bytes(), file)
    lines = ["", *document.text.split("\n")]
    assert [lines[number] for number in document.pages] == [
        "# Before the storm",
        "# Wind limits",
        "# Slide 3",
    ]


def test_a_formula_in_an_open_document_is_found_as_it_was_typed() -> None:
    formula = (
        "<math xmlns='http://www.w3.org/1998/Math/MathML'><semantics><mi>v</mi>"
        "<annotation encoding='StarMath 5.0'>v = sqrt{g h}</annotation></semantics></math>"
    )
    shown = '<draw:object xlink:href="./Object 1"/>'
    data = _changed(
        "order.odt",
        ("<text:p text:style-name", f"<text:p>{shown}</text:p><text:p text:style-name"),
        **{"Object 1/content.xml": formula},
    )
    assert "v = sqrt{g h}" in extract(data, "a.odt").text


def test_what_a_word_document_takes_in_as_it_is_opened_is_found() -> None:
    data = _changed("tender.docx", **{"word/afchunk.html": "<h1>Annex</h1><p>Bollards</p>"})
    assert extract(data, "a.docx").text.endswith("# Annex\n\nBollards\n")


@pytest.mark.parametrize(
    ("file", "found"),
    [("berthing.xlsx", "| Marlin |"), ("briefing.pptx", "STS 4"), ("order.docx", "410")],
)
def test_the_strict_dialect_is_read_like_the_other(file: str, found: str) -> None:
    changes = ((old, f"http://purl.oclc.org/ooxml/{new}") for old, new in _STRICT.items())
    data = _changed(file, *changes)
    text = extract(data, file).text
    assert found in text
    assert text == extract((FORMATS / file).read_bytes(), file).text


def test_texts_of_drawings_on_a_sheet_are_found() -> None:
    drawing = (
        '<xdr xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        "<a:p><a:r><a:t>Low </a:t></a:r><a:r><a:t>water</a:t></a:r></a:p></xdr>"
    )
    data = _changed("berthing.xlsx", **{"xl/drawings/drawing1.xml": drawing})
    assert "\n# Drawings\n\nLow water\n\n# Comments\n" in extract(data, "a.xlsx").text


@pytest.mark.parametrize("kind", ["slideshow", "template"])
def test_shows_and_templates_with_macros_are_read_as_well(kind: str) -> None:
    plain = "vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
    data = _changed("briefing.pptx", (plain, f"vnd.ms-powerpoint.{kind}.macroEnabled.main+xml"))
    assert "STS 4" in extract(data, "a.ppsm").text


@pytest.mark.parametrize("kind", ["slideshow", "template"])
def test_slide_shows_and_templates_are_read_like_presentations(kind: str) -> None:
    data = _changed(
        "briefing.pptx", ("presentationml.presentation.main", f"presentationml.{kind}.main")
    )
    assert "STS 4" in extract(data, "a.ppsx").text


@pytest.mark.parametrize(
    ("file", "name", "error", "message"),
    [
        ("order.doc", "order.doc", UnsupportedFormat, "old Word format (save it as .docx)"),
        ("order.doc", "order.docx", UnsupportedFormat, "old Word format (save it as .docx)"),
        ("order.doc", "figures.xls", UnsupportedFormat, "old Excel format (save it as .xlsx)"),
        ("order.doc", "TALK.PPT", UnsupportedFormat, "old PowerPoint format (save it as .pptx)"),
        ("locked.xlsx", "locked.xlsx", ExtractError, "encrypted (it needs a password; save a copy"),
        ("locked.xlsx", "locked.xls", ExtractError, "encrypted (it needs a password; save a copy"),
    ],
)
def test_old_and_locked_files_say_what_they_are_and_what_to_do(
    file: str, name: str, error: type[ExtractError], message: str
) -> None:
    with pytest.raises(error) as caught:
        extract((FORMATS / file).read_bytes(), name)
    assert str(caught.value).startswith(f"{name}: {message}")


def test_formats_that_are_not_read_say_what_to_do() -> None:
    message = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "__substg1.0_0037001F".encode("utf-16-le")
    with pytest.raises(UnsupportedFormat, match=r"a\.msg: Outlook message \(save it as \.eml\)"):
        extract(message, "a.msg")
    binary = _changed("berthing.xlsx", **{"xl/workbook.bin": ""})
    with pytest.raises(UnsupportedFormat, match=r"a\.xlsb: binary Excel format \(save it as"):
        extract(binary, "a.xlsb")


def test_a_locked_open_document_says_so() -> None:
    manifest = (
        "<m:manifest xmlns:m='x'><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    )
    data = _changed("almanac.epub", **{"META-INF/manifest.xml": manifest, "content.xml": "?"})
    with pytest.raises(ExtractError, match=r"a\.odt: encrypted \(it needs a password"):
        extract(data, "a.odt")


def test_a_book_under_digital_rights_management_says_so_and_one_with_locked_fonts_is_read() -> None:
    locked = (
        "<encryption><e:CipherReference xmlns:e='http://www.w3.org/2001/04/xmlenc#' URI='{}'/>"
        "</encryption>"
    )
    chapter = locked.format("OEBPS/text/moon.xhtml")
    with pytest.raises(ExtractError, match=r"a\.epub: encrypted \(the book is under digital"):
        extract(_changed("almanac.epub", **{"META-INF/encryption.xml": chapter}), "a.epub")
    font = locked.format("OEBPS/font.otf")
    data = _changed("almanac.epub", **{"META-INF/encryption.xml": font})
    assert (
        extract(data, "a.epub").text
        == extract((FORMATS / "almanac.epub").read_bytes(), "b.epub").text
    )


@pytest.mark.parametrize(
    ("name", "data", "language", "text"),
    [
        ("a.doc", rb"{\rtf1 Tide table}", "rtf", "Tide table\n"),
        ("a.xls", b"<table><tr><td>a</td></tr></table>", "html", "| a |\n| --- |\n"),
        ("a.xls", b"Berth\tFee\nA1\t21\n", "office97", "Berth\tFee\nA1\t21\n"),
    ],
)
def test_what_is_something_else_under_an_old_name_is_read_as_that(
    name: str, data: bytes, language: str, text: str
) -> None:
    document = extract(data, name)
    assert (document.language, document.text) == (language, text)


def test_a_new_file_under_an_old_name_is_read() -> None:
    for file, name in (
        ("order.docx", "a.doc"),
        ("berthing.xlsx", "a.xls"),
        ("briefing.pptx", "a.ppt"),
    ):
        data = (FORMATS / file).read_bytes()
        assert extract(data, name).text == extract(data, file).text


def test_a_library_that_is_not_installed_is_named_by_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pptx", None)
    data = (FORMATS / "briefing.pptx").read_bytes()
    with pytest.raises(MissingDependency, match=r'pip install "rag_agent\[office\]"'):
        guarded(pptx.read, data, "a.pptx")


def test_every_extra_that_an_error_names_is_one_of_the_package() -> None:
    project = tomlkit.parse((FORMATS.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) <= set(extras)
    assert set(EXTRAS.values()) <= set(re.findall(r"\w+", extras["all"][0]))
