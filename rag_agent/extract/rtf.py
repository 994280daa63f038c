"""Rich Text Format → Markdown, through striprtf, which knows encodings and keeps the plain text.

What it would drop is marked beforehand by characters that it keeps: where rows, cells and headings
are. Footnotes, comments and text boxes are moved to the end, where they are text like any other.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rag_agent.errors import ExtractError
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import Properties, properties
from rag_agent.extract.plain import literal, one_line
from rag_agent.extract.registry import extractor
from rag_agent.extract.tables import table
from rag_agent.types import Document

_BEGINNING = re.compile(rb"\s*\{\\rtf")
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{2,5})")
_BRACE = re.compile(r"\\[\\{}]|[{}]")

# Private characters of Unicode, which no text has a use for.
_CELL, _ROW, _ROW_BEGINS, _HEADING, _ITEM = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
_MARKED = re.compile(
    r"\\[\\{}]|\\(cell|row|trowd|outlinelevel|listtext|pntext|field)(\d*)(?![a-z])"
)
_MARKS: Mapping[str, str] = {
    "cell": f"{{{_CELL}}}",
    "row": f"{{{_ROW}}}",
    "listtext": f"\\listtext{{{_ITEM}}}",
    "pntext": f"\\listtext{{{_ITEM}}}",  # as Word wrote it before 97
    "trowd": f"\\trowd{{{_ROW_BEGINS}}}",
    # striprtf looks for links by a pattern that takes time without end where there are many.
    "field": r"\fieldx",
}
_HEADING_LINE = re.compile(rf"^[ \t{_ITEM}]*({_HEADING}+)[ \t{_ITEM}]*(?=\S)", re.MULTILINE)
_LIST_LINE = re.compile(rf"^\s*{_ITEM}\s*(\w{{1,5}}[.)])?[^\w\t]*\t?\s*")

# Numbers that no reader can mean; striprtf loses the whole file to one. What stands for a character
# that there is none of is U+FFFD; a number of any other control has nine digits at most (RTF 1.9.1:
# 32 bits).
_NUMBERED = re.compile(r"\\[\\{}]|\\uc(?![a-z\d-])|\\([a-z]{1,32})(-?)(\d{5,})")
_MOST_DIGITS = 9
_NO_CHARACTER = r"\u65533"

# OpenOffice marks styles inside of groups as what may be skipped; striprtf then skips the group.
_STYLE_INSIDE = re.compile(r"(?<![{\s])\\\*\\cs(?=\d)")
_PICTURE = re.compile(r"\{(?:\\\*)?\\(?:pict|shppict|objdata|themedata|datastore)(?![a-z])")
_BOX = re.compile(r"\{\\shptxt(?![a-z])")
_NOTE = re.compile(r"\{(?:\\\*)?\\footnote(?![a-z])(?:\\ftnalt)?")
_COMMENT = re.compile(r"\{\\\*\\annotation(?![a-z])")
_INFO = re.compile(r"\{\\info(?![a-z])")
_FIELDS = re.compile(r"\{(?:\\\*)?\\(title|author|subject|keywords|doccomm|company)(?![a-z]) ?")
_TIMES = re.compile(r"\\(creatim|revtim)\\yr(\d+)\\mo(\d+)\\dy(\d+)(?:\\hr(\d+))?(?:\\min(\d+))?")
_KEYS = {
    "doccomm": "description",
    "company": "publisher",
    "creatim": "created",
    "revtim": "modified",
}


@extractor("rtf", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Headings by their outline level, tables, then text boxes, notes and comments."""
    if not _BEGINNING.match(data):
        raise ExtractError(path, "cannot be parsed", r"it does not begin with {\rtf")
    encoding = _encoding(data)
    source = _NUMBERED.sub(_sane, data.decode(encoding, "replace"))
    if "\\bin" not in source:  # bytes may hold any brace; striprtf knows how many to skip
        source, _ = _without(source, _PICTURE)
    source = _STYLE_INSIDE.sub(r"\\cs", source)
    source, boxes = _without(source, _BOX)
    source, notes = _without(source, _NOTE)
    source, comments = _without(source, _COMMENT)
    end = _group_end(source, source.find("{") + 1)
    cut_off = end == len(source)
    for heading, texts in (("", boxes), ("Notes", notes), ("Comments", comments)):
        source = source[:end] + "".join(_appended(heading, texts)) + source[end:]
        end = _group_end(source, source.find("{") + 1)
    text = _markdown(_plain(_MARKED.sub(_mark, source), encoding))
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="rtf",
        links=links,
        converted=True,
        warnings=("cut off before its end",) if cut_off else (),
        **_properties(source, encoding).fields(heading),
    )


def _plain(source: str, encoding: str) -> str:
    from striprtf import striprtf

    convert: Any = striprtf.rtf_to_text
    return str(convert(source, encoding=encoding, errors="replace"))


def _encoding(data: bytes) -> str:
    """The code page that the file names, where Python has it; Windows' Western one otherwise."""
    named = _CODE_PAGE.search(data[:4096])
    try:
        name = f"cp{int(named[1])}" if named else "cp1252"
        codecs.lookup(name)  # to decode nothing asks for no codec
    except LookupError:
        return "cp1252"
    return name


def _without(source: str, beginning: re.Pattern[str]) -> tuple[str, list[str]]:
    """The source without the groups that begin so, and what was inside of them."""
    kept, groups = [], []
    position = 0
    while match := beginning.search(source, position):
        end = _group_end(source, match.end())
        kept.append(source[position : match.start()])
        groups.append(source[match.end() : end])
        position = end + 1
    return "".join((*kept, source[position:])), groups


def _group_end(source: str, start: int) -> int:
    """Where the group ends that is open at ``start``; the end of the file if it never does."""
    depth = 1
    for brace in _BRACE.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            return brace.start()
    return len(source)


def _appended(heading: str, texts: list[str]) -> Iterator[str]:
    if texts and heading:
        yield rf"\pard\par{{{_HEADING}{heading}}}\par "
    for text in texts:
        yield rf"{{\pard {text}}}\par "


def _sane(match: re.Match[str]) -> str:
    word, sign, digits = match.groups()
    if word is None:
        return r"\uc1" if match[0] == r"\uc" else match[0]
    number = int(f"{sign}0{digits.lstrip('0')[:_MOST_DIGITS]}")
    # Below zero it is that of a signed 16-bit number.
    if word == "u" and not -0x10000 <= number <= sys.maxunicode:
        return _NO_CHARACTER
    return f"\\{word}{number}"


def _mark(match: re.Match[str]) -> str:
    word, argument = match[1], match[2]
    if word == "outlinelevel" and len(argument) == 1 and argument < "6":  # 9 is text
        return match[0] + "{" + _HEADING * (int(argument) + 1) + "}"
    return _MARKS.get(word, match[0])


def _markdown(text: str) -> str:
    text = literal(text.replace("\0", ""))
    blocks: list[str] = []
    rows: list[list[str]] = []
    *with_rows, rest = text.split(_ROW)
    for segment in with_rows:
        before, begins, row = segment.partition(_ROW_BEGINS)
        if not begins or _CELL in before:  # its definition is that of the row above, or comes last
            before, row = "", segment
        if before.strip():
            blocks += [table(rows), _paragraphs(before)]
            rows = []
        rows.append([one_line(_unmarked(cell)) for cell in row.split(_CELL)[:-1]])
    blocks += [table(rows), _paragraphs(rest)]
    text = "\n\n".join(filter(None, blocks))
    return text + "\n" if text else ""


def _paragraphs(text: str) -> str:
    """Lines as paragraphs; those of a list stay together."""
    text = _HEADING_LINE.sub(lambda match: "#" * len(match[1]) + " ", text)
    result, in_list = "", False
    for line in text.split("\n"):
        item = _LIST_LINE.match(line)
        words = _unmarked(line[item.end() :] if item else line).strip()
        if words:
            result += "\n" if item and in_list else "\n\n"
            result += f"{item[1] or '-'} {words}" if item else words
            in_list = bool(item)
    return result.strip()


def _unmarked(text: str) -> str:
    return re.sub(f"[{_CELL}-{_ITEM}]", "", text)


def _properties(source: str, encoding: str) -> Properties:
    _, groups = _without(source, _INFO)
    info = groups[0] if groups else ""
    _, found = _without(info, _FIELDS)
    names = [match[1] for match in _FIELDS.finditer(info)]
    texts = [
        (name, _plain(rf"{{\rtf1 {text}}}", encoding))
        for name, text in zip(names, found, strict=True)
    ]
    times = [
        (match[1], _time(*(int(part or 0) for part in match.groups()[1:])))
        for match in _TIMES.finditer(info)
    ]
    return properties((_KEYS.get(name, name), text) for name, text in (*texts, *times))


def _time(year: int, month: int, day: int, hour: int, minute: int) -> str:
    """ISO 8601, "" for the zeros that some programs write."""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00" if year and month else ""
