"""The card of a file: what it is about in one window of a model, embedded before its chunks.

About half of what the vectors of all chunks are worth, for a twentieth of the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag_agent.tokens import split_identifier

if TYPE_CHECKING:
    from rag_agent.types import Kind

_DESCRIPTION = 350  # characters; three or four sentences


def card_text(path: str, kind: Kind, title: str, text: str, names: Sequence[str]) -> str:
    """Path, the file's name in words, the title, what the file says of itself, its names.

    ``text`` is the beginning of the file, ``names`` are those it defines, as written, or its
    headings. Whoever embeds it cuts it to one window: what comes first says most.
    """
    words = " ".join(split_identifier(PurePosixPath(path).name.partition(".")[0]))
    description = head_comment(text) if kind == "code" else first_prose(text)
    if kind != "code":
        names = [heading.rpartition(" > ")[2] for heading in names]
    lines = [path, words, "" if title in path else title, description, " ".join(names)]
    return "\n".join(line for line in lines if line)


def head_comment(text: str) -> str:
    """The first 350 characters of the first comment that is no licence, without its marks."""
    for comment in _comments(text.splitlines()):
        if not _LICENCE.search(comment):
            return comment[:_DESCRIPTION].strip()
    return ""


def first_prose(text: str) -> str:
    """The first 350 characters of sentences: no headings, rules, badges, tables or markup."""
    plain = (line.strip() for line in text.splitlines())
    return " ".join(line for line in plain if line and not _FURNITURE.match(line))[:_DESCRIPTION]


_FURNITURE = re.compile(r"#|[-=*_~`|]{3}|\||!\[|\[!\[|<|:::")
_LICENCE = re.compile(
    r"copyright|licen[cs]e|©|\(c\) *\d{4}|all rights reserved|SPDX-|permission is hereby",
    re.IGNORECASE,
)

# Of a pair the second pattern ends the comment; it may stand on the line of the first.
_BLOCKS = tuple(
    (re.compile(begin), re.compile(end))
    for begin, end in (
        (r"[rRuUbB]?\"\"\"", r"\"\"\""),
        (r"[rRuUbB]?'''", r"'''"),
        (r"@(?:module)?doc +~?[sS]?\"\"\"", r"\"\"\""),
        (r"/\*", r"\*/"),
        (r"\{-", r"-\}"),
        (r"\(\*", r"\*\)"),
        (r"<!--", r"-->"),
        (r"--\[=*\[", r"\]=*\]"),
        (r"=(?:begin|pod|head)", r"=(?:end|cut)"),
        (r"<#", r"#>"),
    )
)
# "# word", and not "#include", "#[derive]" or "#!/bin/sh".
_LINE = re.compile(r"//+!?|#+(?=\s|$)|--+(?!\[)|;+|%+|\"(?=\s)|'(?=\s)|REM\b|\.\.(?=\s)")
_MARK = re.compile(r"^(?:\*+(?!\w)|//+!?|#+(?=\s|$)|--+|;+|%+|\"(?=\s)|'(?=\s)|REM\b|!)\s?")


def _comments(lines: Sequence[str]) -> Iterator[str]:
    """Each comment as one line of text."""
    place = 0
    while place < len(lines):
        line = lines[place].strip()
        block = next(((b, e) for b, e in _BLOCKS if b.match(line)), None)
        if block:
            begin, end = block
            found = _up_to(end, [begin.sub("", line, count=1), *lines[place + 1 :]])
        elif _LINE.match(line):
            found = [*takewhile(lambda one: _LINE.match(one.strip()), lines[place:])]
        else:
            place += 1
            continue
        place += len(found)
        comment = _joined(found)
        if comment:
            yield comment


def _up_to(end: re.Pattern[str], lines: Sequence[str]) -> list[str]:
    found = [*takewhile(lambda line: not end.search(line), lines)]
    if len(found) < len(lines):
        found.append(end.split(lines[len(found)], maxsplit=1)[0])
    return found


def _joined(lines: Iterable[str]) -> str:
    bare = (_MARK.sub("", line.strip()).strip(" \t*/=-#") for line in lines)
    return " ".join(line for line in bare if line)
