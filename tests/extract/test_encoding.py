from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_agent.extract import extract
from rag_agent.extract.encoding import decode

GERMAN = "Die Schleuse öffnet täglich um fünf Uhr früh; Gebühr: 3 Mark für jedes größere Boot.\n"
FRENCH = "L’écluse s’ouvre à l’aube — les péages sont réglés d’avance, où que l’on aille…\n"  # noqa: RUF001
JAPANESE = "港の潮位は毎朝六時に記録されます。係船料は無料です。\n"
CHINESE = "港口的潮汐表每天早上更新，泊位费用由船长支付。\n"  # noqa: RUF001
KOREAN = "항구의 조석표는 매일 아침 갱신됩니다.\n"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy\n"
SPANISH = "El niño pequeño comió jamón en la montaña\n"
CODED = f"# -*- coding: cp850 -*-\n{GERMAN}"
RUSSIAN = "Шлюз открывается каждое утро в шесть часов, плата взимается заранее.\n"


@pytest.mark.parametrize(
    ("data", "text", "warning"),
    [
        (GERMAN.encode(), GERMAN, ""),
        (codecs.BOM_UTF8 + GERMAN.encode(), GERMAN, ""),
        (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), GERMAN, ""),
        (codecs.BOM_UTF16_BE + JAPANESE.encode("utf-16-be"), JAPANESE, ""),
        (codecs.BOM_UTF32_LE + GERMAN.encode("utf-32-le"), GERMAN, ""),
        (codecs.BOM_UTF32_BE + CHINESE.encode("utf-32-be"), CHINESE, ""),
        # Without a mark, Western text shows itself by its NULs, the others by their blanks.
        (GERMAN.encode("utf-16-le"), GERMAN, "read as utf-16-le"),
        (GERMAN.encode("utf-16-be"), GERMAN, "read as utf-16-be"),
        (JAPANESE.encode("utf-16-le"), JAPANESE, "read as utf-16-le"),
        (CHINESE.encode("utf-16-be"), CHINESE, "read as utf-16-be"),
        (RUSSIAN.encode("utf-16-le"), RUSSIAN, "read as utf-16-le"),
        (GERMAN.encode("latin-1"), GERMAN, "not UTF-8"),
        (FRENCH.encode("cp1252"), FRENCH, "read as cp1252"),
        (JAPANESE.encode("shift-jis"), JAPANESE, "read as cp932"),
        (JAPANESE.encode("euc-jp"), JAPANESE, "read as euc_jp"),
        (CHINESE.encode("gbk"), CHINESE, "read as gb18030"),
        (RUSSIAN.encode("cp1251"), RUSSIAN, "read as cp1251"),
        # What a file says of itself counts before any guess.
        (
            f'<meta charset="koi8-r">\n{RUSSIAN}'.encode("koi8-r"),
            f'<meta charset="koi8-r">\n{RUSSIAN}',
            "read as koi8-r",
        ),
        (CODED.encode("cp850"), CODED, "read as cp850"),
        # Short ones, where several encodings fit: the likeliest wins.
        (SPANISH.encode("cp1252"), SPANISH, "read as cp1252"),
        ("un café\n".encode("latin-1"), "un café\n", "read as cp1252"),
        (KOREAN.encode("cp949"), KOREAN, "read as cp949"),
        (CZECH.encode("cp1250"), CZECH, "read as cp1250"),
        (RUSSIAN.encode("koi8-r"), RUSSIAN, "read as koi8_r"),
        (b"", "", ""),
    ],
)
def test_text_is_read_in_its_encoding_and_guesses_are_said(
    data: bytes, text: str, warning: str
) -> None:
    found, warnings = decode(data)
    assert found == text
    assert len(warnings) == bool(warning)
    assert warning in " ".join(warnings)


def test_a_long_latin_1_file_with_one_foreign_line_at_its_end_is_read() -> None:
    data = b"plain line\n" * 20_000 + GERMAN.encode("latin-1")
    assert decode(data)[0].endswith(GERMAN)


def test_utf_8_with_broken_bytes_keeps_the_rest_and_counts_the_loss() -> None:
    text, warnings = decode(FRENCH.encode() + b"\xff\n" + JAPANESE.encode()[:-2])
    assert text.startswith(FRENCH)
    assert warnings == ("2 places that are not valid utf-8 replaced by \ufffd",)


def test_a_replacement_character_in_the_file_is_no_loss() -> None:
    assert decode("\ufffd".encode()) == ("\ufffd", ())


def test_nul_characters_are_replaced_and_counted() -> None:
    text, warnings = decode(b"one\0two three\n" * 3)
    assert text == "one\ufffdtwo three\n" * 3
    assert warnings == ("3 NUL characters replaced",)


@pytest.mark.parametrize("declared", ["utf-16", "UTF-16LE", "utf-32", "cp037"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n \n"])  # any number of bytes
def test_what_was_read_of_a_declaration_contradicts_an_encoding_without_ascii(
    declared: str, end: str
) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<name>Un café crème à Orléans</name>{end}'
    assert decode(text.encode("cp1252"))[0] == text


def test_a_lie_about_the_encoding_is_not_believed() -> None:
    text, _ = decode(b"# coding: rot13\n" + GERMAN.encode("latin-1"))
    assert GERMAN in text


# Everything that some reader takes for a line end, beside all the rest. NUL is left out: with it
# a file may be UTF-16.
_TEXT = st.text(
    st.sampled_from("\r\n\f\v\x1c\x85\u2028 aé漢`[#-")
    | st.characters(exclude_characters="\0", exclude_categories=["Cs"])
)


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


@settings(deadline=None)
@given(_TEXT, st.sampled_from(["a.txt", "a.py", "a.json", "a.md", "a.rst", "unknown.zzz"]))
@example("---\r\ntitle: x\r\n---\r\n", "a.md")
@example("+++\rtitle = 1\r+++", "a.md")
def test_text_formats_keep_the_lines_of_the_file(text: str, path: str) -> None:
    document = extract(text.encode("utf-8"), path)
    assert document.text.count("\n") == _line_ends(text)
    assert not document.converted
    without_mark = text.removeprefix("\ufeff")
    assert document.text == without_mark.replace("\r\n", "\n").replace("\r", "\n")


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_become_text_that_can_be_stored(data: bytes) -> None:
    text, _ = decode(data)
    assert text.encode("utf-8").find(b"\0") == -1
    assert "\r" not in text
