"""Markdown: title, front matter and links; the text itself stays the file's, line for line."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from rag_agent.extract import text as plain_text
from rag_agent.extract.registry import extractor
from rag_agent.types import Document, Link

_FRONT_MATTER = re.compile(r"(---|\+\+\+) *\n(.*?)^(?:\1|\.\.\.) *$", re.DOTALL | re.MULTILINE)
_FRONT_MATTER_WITHIN = 20_000  # characters; longer ones are text between two rules
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
_HTML_HEADING = re.compile(r"\s*<h1\b[^>]*>([^<]+)</h1>", re.IGNORECASE)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_INLINE_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]*\)")
# Bounds keep these linear: a line may be the whole of a file.
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)(.{1,500}?)(?<!`)\1(?!`)")
_WIKI = re.compile(r"\[\[([^\[\]|\n]{1,500})(?:\|[^\[\]\n]{0,500})?\]\]")
_RELATIVE = re.compile(
    r"\]\([ \t]{0,9}(?:<([^<>\n]{1,500})>|((?:[^\s()<>]|\([^\s()]{0,200}\)){1,500}))"
)
_REFERENCE = re.compile(r" {0,3}\[[^\[\]\n]{1,200}\]:[ \t]{1,9}<?([^\s<>]{1,500})")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#")  # a scheme, a host, this same page


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
    lines = list(_outside_code(document.text, front.lines))
    return replace(
        document,
        title=_text(front.values.get("title")) or _first_heading(lines),
        tags=_tags(front.values),
        date=_day(_text(front.values.get("date"))),
        metadata={key: value for key, raw in front.values.items() if (value := _text(raw))},
        links=_links(lines),
        warnings=(*document.warnings, *([front.warning] if front.warning else [])),
    )


def title_and_links(text: str) -> tuple[str, tuple[Link, ...]]:
    """First heading ("" without one) and links of Markdown that another format became."""
    lines = list(_outside_code(text, 0))
    return _first_heading(lines), _links(lines)


def front_matter(text: str) -> FrontMatter:
    """YAML (``---``) or TOML (``+++``) at the very top; unreadable ones give a warning."""
    match = _FRONT_MATTER.match(text[:_FRONT_MATTER_WITHIN])
    if not match:
        return FrontMatter()
    lines = match[0].count("\n") + 1
    rule, body = match[1], match[2]
    try:
        values = _yaml(body) if rule == "---" else _toml(body)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        return FrontMatter(lines=lines, warning=f"front matter ignored: {reason}")
    if isinstance(values, dict):
        return FrontMatter({str(key): value for key, value in values.items()}, lines)
    # Text between two horizontal rules is not front matter.
    return FrontMatter()


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


def _day(written: str) -> str:
    """ISO date of a date or a time that begins with one, else ""."""
    try:
        return date.fromisoformat(written[:10]).isoformat()
    except ValueError:
        return ""


def _outside_code(text: str, skip: int) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines after the first ``skip`` that are not in a fenced block."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if number <= skip:
            continue
        match = _FENCE.match(line) if "`" in line or "~" in line else None
        if fence:
            closes = match and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            yield number, line


def _first_heading(lines: list[tuple[int, str]]) -> str:
    previous, previous_number = "", 0
    for number, line in lines:
        match = _HEADING.match(line) or _HTML_HEADING.match(line)
        if match and match[1]:
            return _INLINE_LINK.sub(r"\1", match[1]).strip()
        if previous.strip() and number == previous_number + 1 and _UNDERLINE.match(line):
            return _INLINE_LINK.sub(r"\1", previous).strip()
        previous, previous_number = line, number
    return ""


def _links(lines: list[tuple[int, str]]) -> tuple[Link, ...]:
    """Wiki links and links to other files, as written, in order; not those to the web."""
    links: list[Link] = []
    for number, line in lines:
        if "[" not in line:
            continue
        line = _CODE_SPAN.sub("", line)
        links += (Link(m[1].strip(), number, wiki=True) for m in _WIKI.finditer(line))
        found = [m[1] or m[2] for m in _RELATIVE.finditer(line)]
        reference = _REFERENCE.match(line)
        found += [reference[1]] if reference else []
        links += (Link(target, number) for target in found if not _ELSEWHERE.match(target))
    return tuple(links)
