"""Markdown: title, front matter and links; the text itself stays the file's, line for line."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from rag_agent.extract import text as plain_text
from rag_agent.extract.marks import links_in, tags_in
from rag_agent.extract.registry import extractor
from rag_agent.extract.visible import visible_lines
from rag_agent.masking import mask
from rag_agent.types import Document, Link

_FRONT_MATTER = re.compile(r"(---|\+\+\+) *\n(.*?)^(?:\1|\.\.\.) *$", re.DOTALL | re.MULTILINE)
_FRONT_MATTER_WITHIN = 200_000  # characters; longer ones are text between two rules
_OPTS_OUT = re.compile(
    r"""^[ \t]{0,20}["']?rag["']?[ \t]{0,20}[:=][ \t]{0,20}["']?(?:false|no|off)\b""",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
_HTML_HEADING = re.compile(r"\s*<h1\b[^>]*>([^<]+)</h1>", re.IGNORECASE)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_INLINE_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]*\)")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands between the rules at the top; ``lines`` counts them with both rules."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: int = 0
    warning: str = ""


@extractor("markdown")
def read(data: bytes, path: str) -> Document:
    """The file's own lines, with what its front matter and headings say about it."""
    document = plain_text.read(data, path)
    front = front_matter(document.text)
    lines, seen = _lines(document.text, front.lines)
    return replace(
        document,
        title=_text(front.values.get("title")) or _first_heading(lines),
        aliases=_aliases(front.values),
        tags=tuple(dict.fromkeys([*_tags(front.values), *tags_in(seen)])),
        date=_day(_text(front.values.get("date"))),
        metadata={key: value for key, raw in front.values.items() if (value := _text(raw))},
        links=links_in([*_front_lines(document.text, front.lines), *seen]),
        warnings=(*document.warnings, *([front.warning] if front.warning else [])),
    )


def title_and_links(text: str) -> tuple[str, tuple[Link, ...]]:
    """First heading ("" without one) and links of Markdown that another format became."""
    lines, seen = _lines(text, 0)
    return _first_heading(lines), links_in(seen)


def front_matter(text: str) -> FrontMatter:
    """YAML (``---``) or TOML (``+++``) at the very top; unreadable ones give a warning."""
    if not text.startswith(("---", "+++")):
        return FrontMatter()
    match = _FRONT_MATTER.match(text[:_FRONT_MATTER_WITHIN])
    if not match:
        return FrontMatter(_opting_out(text[:_FRONT_MATTER_WITHIN]))
    lines = match[0].count("\n") + 1
    rule, body = match[1], match[2]
    try:
        values = _yaml(body) if rule == "---" else _toml(body)
    except (ValueError, RecursionError) as error:
        reason = mask(" ".join(str(error).split()))[0][:200]  # with lines of it
        warning = f"front matter ignored: {reason}"
        return FrontMatter(_opting_out(body), lines, warning)
    if isinstance(values, dict):
        return FrontMatter({str(key): value for key, value in values.items()}, lines)
    # Text between two horizontal rules is not front matter, but for one thing.
    return FrontMatter(_opting_out(body))


def _opting_out(body: str) -> dict[str, str]:
    """What keeps a document out of the index, read also where nothing else can be."""
    return {"rag": "false"} if _OPTS_OUT.search(body) else {}


def _yaml(body: str) -> Any:
    """Raises ValueError with the place where it stops being YAML."""
    import yaml

    # The base loader leaves every scalar the string that was written: no dates, no octal numbers.
    # The one over libyaml reads a vault of thousands of notes in seconds instead of a minute.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(body, loader)  # constructs strings, lists and dicts: nothing else
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 2}: " if mark else ""  # from 0, below the rule
        raise ValueError(f"{where}{error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _toml(body: str) -> Any:
    """Raises ValueError (tomllib.TOMLDecodeError is one)."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads(body)


def _text(value: Any) -> str:
    """A scalar as written, a list of scalars joined by commas, "" for anything deeper."""
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, (_text(item) for item in value if not _is_nested(item))))
    return "" if value is None or _is_nested(value) else str(value).strip()


def _is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict))


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    written = values.get("tags") or values.get("tag") or ()
    if isinstance(written, str):  # tags: a, b — or, as Obsidian allows, tags: a b
        written = written.split(",") if "," in written else written.split()
    items = written if isinstance(written, (list, tuple)) else ()
    tags = (_text(item).lstrip("#") for item in items)
    return tuple(dict.fromkeys(filter(None, tags)))


def _aliases(values: Mapping[str, Any]) -> tuple[str, ...]:
    written = values.get("aliases") or values.get("alias") or ()
    if isinstance(written, str):
        written = written.split(",")
    items = written if isinstance(written, (list, tuple)) else ()
    return tuple(dict.fromkeys(filter(None, map(_text, items))))


def _day(written: str) -> str:
    """ISO date of a date or a time that begins with one, else ""."""
    try:
        return date.fromisoformat(written[:10]).isoformat()
    except ValueError:
        return ""


Lines = list[tuple[int, str]]


def _lines(text: str, skip: int) -> tuple[Lines, Lines]:
    """(number, line) of the lines that are no code, as written and as they are seen."""
    lines: Lines = []
    seen: Lines = []
    for number, line, visible in visible_lines(text, skip):
        lines.append((number, line))
        seen.append((number, visible))
    return lines, seen


def _front_lines(text: str, count: int) -> Lines:
    """Front matter may link, as ``related: "[[Other note]]"``."""
    if not count:
        return []
    return [(n, line) for n, line in enumerate(text.split("\n", count)[:count], 1) if "[[" in line]


def _first_heading(lines: Sequence[tuple[int, str]]) -> str:
    previous, previous_number = "", 0
    for number, line in lines:
        match = _HEADING.match(line) or _HTML_HEADING.match(line)
        if match and match[1]:
            return _INLINE_LINK.sub(r"\1", match[1]).strip()
        if previous.strip() and number == previous_number + 1 and _UNDERLINE.match(line):
            return _INLINE_LINK.sub(r"\1", previous).strip()
        previous, previous_number = line, number
    return ""
