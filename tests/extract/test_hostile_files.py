"""Files made to do harm, one kind of harm after the other: each ends in text or in one line."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.errors import ExtractError, TooLarge
from rag_agent.extract import extract, rtf

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# A file of each format that is a zip archive, and the part that is made hostile.
ARCHIVES = {
    "order.docx": "word/document.xml",
    "berthing.xlsx": "xl/worksheets/sheet1.xml",
    "briefing.pptx": "ppt/slides/slide1.xml",
    "order.odt": "content.xml",
    "berthing.ods": "content.xml",
    "briefing.odp": "content.xml",
    "almanac.epub": "OEBPS/book.opf",
}


def _with(file: str, parts: Mapping[str, bytes]) -> bytes:
    """A fixture with other parts in the place of its own."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(FORMATS / file) as source,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        for name in {**dict.fromkeys(source.namelist()), **parts}:
            target.writestr(name, parts[name] if name in parts else source.read(name))
    return result.getvalue()


def _part(file: str) -> str:
    with zipfile.ZipFile(FORMATS / file) as archive:
        return archive.read(ARCHIVES[file]).decode("utf-8")


def _body(source: str) -> str:
    """Without the XML declaration, before which no DTD may stand."""
    return source[source.index("?>") + 2 :] if source.startswith("<?xml") else source


def _bomb() -> str:
    levels = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    return f'<!DOCTYPE d [<!ENTITY l0 "lol">{levels}]>'


def _deep(source: str) -> str:
    """A hundred thousand elements inside of each other, before the end of the root."""
    end = source.rindex("</")
    return source[:end] + "<g>" * 100_000 + "</g>" * 100_000 + source[end:]


@pytest.mark.parametrize("file", ARCHIVES)
def test_entities_that_multiply_are_refused_and_the_next_file_is_read(file: str) -> None:
    source = _body(_part(file))
    end = source.rindex("</")
    hostile = f"{_bomb()}{source[:end]}&l9;{source[end:]}"
    with pytest.raises(ExtractError, match=rf"^x/{file}: [^\n]+$"):
        extract(_with(file, {ARCHIVES[file]: hostile.encode()}), f"x/{file}")
    assert extract((FORMATS / file).read_bytes(), file).text


def _told(data: bytes, file: str, *, warned: bool = False) -> str:
    """The text of a file, with warnings too if ``warned``; else the one line that refuses it."""
    try:
        document = extract(data, file)
    except ExtractError as error:
        told = str(error)
        assert told.startswith(f"{file}: ")
        assert "\n" not in told
        return told
    return document.text + " ".join(document.warnings if warned else ())


@pytest.mark.parametrize("file", ARCHIVES)
def test_xml_nested_without_end_is_one_line_or_the_text_that_it_has(file: str) -> None:
    data = _with(file, {ARCHIVES[file]: _deep(_part(file)).encode()})
    assert _told(data, file).strip()


@pytest.mark.parametrize("file", ARCHIVES)
def test_an_archive_that_unpacks_to_too_much_is_refused(file: str) -> None:
    with pytest.raises(TooLarge, match=r"unpacks to too much \(\d+ MB, more than 512\)"):
        extract(_with(file, {"media/filler.bin": bytes(520 * 1024**2)}), file)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("file", [*ARCHIVES, "order.rtf", "notice.eml", "watch.mbox", "quay.svg"])
def test_a_truncated_file_is_mended_or_refused_in_one_line(file: str, share: float) -> None:
    data = (FORMATS / file).read_bytes()
    assert _told(data[: int(len(data) * share)], file, warned=True).strip()


@pytest.mark.parametrize("file", ARCHIVES)
def test_a_part_that_is_broken_inside_is_one_line(file: str) -> None:
    with pytest.raises(ExtractError, match=rf"^{file}: cannot be parsed \([^\n]+\)$"):
        extract(_with(file, {ARCHIVES[file]: b"<a><b></a>"}), file)


@pytest.mark.parametrize("file", ["a.odt", "a.svg"])
def test_files_that_an_entity_names_are_not_read(file: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the harbour master's password", encoding="utf-8")
    dtd = f'<!DOCTYPE d [<!ENTITY secret SYSTEM "{secret.as_uri()}">]>'
    source = (
        f'{dtd}<office:document-content xmlns:office="{_OFFICE}">&secret;</office:document-content>'
    )
    data = (
        source.encode()
        if file.endswith("svg")
        else _with("order.odt", {"content.xml": source.encode()})
    )
    with pytest.raises(ExtractError, match="undefined entity"):
        extract(data, file)


def _xlsx(rows: str) -> bytes:
    sheet = f'<worksheet xmlns="{_SHEET}"><dimension ref="A1:XFD1048576"/><sheetData>{rows}'
    return _with(
        "berthing.xlsx", {ARCHIVES["berthing.xlsx"]: f"{sheet}</sheetData></worksheet>".encode()}
    )


def _cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_a_sheet_that_declares_every_cell_there_can_be_costs_what_it_holds() -> None:
    rows = f'<row r="1">{_cell("A1", "Berth")}{_cell("B1", "Depth")}</row>'
    rows += f'<row r="1048576">{_cell("A1048576", "A1")}{_cell("XFD1048576", "last")}</row>'
    document = extract(_xlsx(rows), "a.xlsx")
    assert "| Berth | Depth |  |\n| --- | --- | --- |\n| A1 |  | last |" in document.text
    assert document.warnings == ()


def test_rows_that_are_all_sixteen_thousand_cells_wide_end_at_the_limit() -> None:
    rows = "".join(f'<row r="{n}">{_cell(f"XFD{n}", "wide")}</row>' for n in range(1, 3000))
    document = extract(_xlsx(rows), "a.xlsx")
    (warning,) = document.warnings
    assert warning.startswith("cut after row 1,2")
    assert warning.endswith("of sheet 'Arrivals': more cells than is read")


def test_a_large_workbook_is_cut_and_the_cut_is_said() -> None:
    rows = "".join(
        f'<row r="{n}">{_cell(f"A{n}", f"sounding {n} " * 20)}</row>' for n in range(1, 9000)
    )
    rows = f'<row r="0">{_cell("A0", "Text")}{_cell("B0", "Other")}</row>{rows}'
    document = extract(_xlsx(rows), "a.xlsx")
    assert 2_000_000 < len(document.text) < 2_200_000
    (warning,) = document.warnings
    assert warning.startswith("cut after row ")


def _ods(rows: str) -> bytes:
    names = f'xmlns:office="{_OFFICE}" xmlns:table="{_TABLE}" xmlns:text="{_TEXT}"'
    content = (
        f"<office:document-content {names}>"
        f'<office:body><office:spreadsheet><table:table table:name="S">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    return _with("berthing.ods", {"content.xml": content.encode()})


def test_cells_and_rows_that_come_a_million_times_over_are_read_as_often_as_makes_sense() -> None:
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    once = "<table:table-cell><text:p>Depth</text:p></table:table-cell>" + empty
    rows = f"<table:table-row>{once}</table:table-row>"
    rows += f'<table:table-row table:number-rows-repeated="1048576">{empty}</table:table-row>' * 3
    assert extract(_ods(rows), "a.ods").text == "# S\n\nDepth\n"


def test_a_row_full_of_text_that_repeats_itself_ends_at_the_limit() -> None:
    cell = '<table:table-cell table:number-columns-repeated="16384">'
    cells = f"{cell}<text:p>x</text:p></table:table-cell>" * 16
    rows = f'<table:table-row table:number-rows-repeated="1048576">{cells}</table:table-row>' * 9
    document = extract(_ods(rows), "a.ods")
    assert len(document.text) < 2_200_000
    (warning,) = document.warnings
    assert warning.startswith("cut after row ")


@pytest.mark.parametrize("levels", [1_000, 20_000])
def test_a_mail_of_parts_inside_of_parts_is_one_line(levels: int) -> None:
    heads = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(levels)
    )
    with pytest.raises(ExtractError, match=r"^a\.eml: nested too deeply$"):
        extract(f"Subject: deep\n{heads}Content-Type: text/plain\n\nword\n".encode(), "a.eml")


def test_forwarded_mails_inside_of_each_other_are_one_line() -> None:
    heads = "Content-Type: message/rfc822\n\nSubject: again\n" * 5_000
    with pytest.raises(ExtractError, match=r"^a\.eml: nested too deeply$"):
        extract(f"Subject: deep\n{heads}\nword\n".encode(), "a.eml")


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.rtf", b"{\\rtf1 " + b"{" * 200_000 + b"words" + b"}" * 200_000 + b"}", "words\n"),
        ("a.rtf", b"{\\rtf1 words" + b"{\\footnote" * 20_000, "words"),
        ("a.rtf", b"{\\rtf1 words " + b"{\\field{\\*\\fldinst{HYPERLINK " * 20_000, "words"),
    ],
)
def test_rich_text_made_of_groups_alone_is_read_in_time(name: str, data: bytes, text: str) -> None:
    assert extract(data, name, seconds=20).text.startswith(text)


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (r"\u99999999999?", "�"),
        (r"\u1114112?", "�"),
        (r"\u-9999999999?", "�"),
        (r"\u-70000?", "�"),
        (r"\u-4051?", "\uf02d"),
        (r"\u128512?", "\U0001f600"),
        (r"\u00000000000000233?", "é"),
        (r"\uc \u233?", "é"),
        (rf"\fs{'9' * 5_000} ", ""),
        (rf"{{\info{{\title Tides}}{{\creatim\yr{'9' * 5_000}\mo1\dy1}}}}", ""),
        (rf"{{\fonttbl{{\f0\fcharset{'9' * 5_000} Arial;}}}}", ""),
        (r"\\u99999999999 ", r"\u99999999999 "),
    ],
)
def test_a_number_in_rich_text_that_means_nothing_costs_no_other_word(
    control: str, text: str
) -> None:
    source = rf"{{\rtf1\ansi before {control}after\par}}"
    assert extract(source.encode(), "a.rtf").text == f"before {text}after\n"


@given(
    st.sampled_from(["u", "uc", "fs", "f", "bin", "ansicpg", "fcharset", "outlinelevel", "yr"]),
    st.integers(min_value=-(10**12), max_value=10**12),
)
def test_no_number_of_rich_text_loses_the_file(word: str, number: int) -> None:
    source = rf"{{\rtf1\ansi before\par {{\{word}{number} }}after\par}}"
    assert "before" in rtf.read(source.encode(), "a.rtf").text


def test_a_workbook_whose_styles_cannot_be_read_keeps_its_cells() -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    styles = f'<styleSheet xmlns="{main}"><fills count="1"><fill/></fills><cellXfs><xf a="b"/>'
    document = extract(
        _with("berthing.xlsx", {"xl/styles.xml": f"{styles}</cellXfs></styleSheet>".encode()}),
        "a.xlsx",
    )
    assert "| Marlin | A1 | 46097.2604166667 | 4.2 | TRUE |" in document.text
    (warning,) = document.warnings
    assert warning.startswith("dates stay numbers, as the styles cannot be read: ")


def test_cells_that_do_not_say_where_they_are_follow_each_other() -> None:
    cells = ("Berth", "", "Fee", "")
    row = "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in cells)
    values = f'<row>{_cell("C2", "21")}{_cell("A2", "A1")}<c/><c t="n"><v>7</v></c></row>'
    text = extract(_xlsx(f"<row>{row}</row>{values}"), "a.xlsx").text
    assert "| Berth | Fee |\n| --- | --- |\n| A1 | 7 |" in text
