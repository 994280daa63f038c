"""Links and tags as they are written in Markdown, read from its visible lines."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator

from rag_agent.types import Link

# Bounds keep these linear: a line may be the whole of a file.
# As in Obsidian the first two brackets end one, and a single one does not: [[Notes [old] more]].
_WIKI = re.compile(r"\[\[((?:[^\[\]|\n]|\[(?!\[)|\](?!\])){1,500})(?:\|[^\n]{0,500}?)?\]\]")
_INLINE = re.compile(
    r"\]\([ \t]{0,9}(?:<([^<>\n]{1,500})>|((?:\\[^\s]|[^\s()<>\\]|\([^\s()]{0,200}\)){1,500}))"
)
_REFERENCE = re.compile(r" {0,3}\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]{1,9}<?([^\s<>]{1,500})")
_HTML = re.compile(
    r"<(?:a|img)\s[^<>]{0,200}?\b(?:href|src)[ \t]?=[ \t]?[\"']([^\"'<>\n]{1,500})[\"']",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//|#")  # a scheme, a host, this same page
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")

# Obsidian's tags: what is no space and no punctuation but - _ /, in any script, emoji too.
_TAG = re.compile(r"(?<!\S)#([^\s!\"#$%&'()*+,.:;<=>?@\[\\\]^`{|}~]{1,200})")
_IN_TAGS = frozenset("-_/")


def links_in(lines: Iterable[tuple[int, str]]) -> tuple[Link, ...]:
    """Wiki links and links to other files, as written, in order; not those to the web."""
    links: list[Link] = []
    for number, line in lines:
        if "[[" in line:
            links += (Link(m[1].strip(), number, wiki=True) for m in _WIKI.finditer(line))
        if "]" in line:  # a link's text may begin a line above
            found = [m[1] or m[2] for m in _INLINE.finditer(line)]
            reference = _REFERENCE.match(line)
            found += [reference[1]] if reference else []
            links += (Link(_plain(t), number) for t in found if not _ELSEWHERE.match(t))
        if "<" in line:
            written = (m[1].strip() for m in _HTML.finditer(line))
            links += (Link(_plain(t), number) for t in written if not _ELSEWHERE.match(t))
    return tuple(links)


def _plain(target: str) -> str:
    """Without the escapes of Markdown and HTML; those of URLs stay as written."""
    target = _BACKSLASH.sub(r"\1", target) if "\\" in target else target
    return html.unescape(target) if "&" in target else target


def tags_in(lines: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The ``#tags`` of the text without their sign; one of digits alone is none."""
    for _, line in lines:
        if "#" not in line:
            continue
        # A # in a link is that of a heading.
        for found in _TAG.finditer(_WIKI.sub(" ", line)):
            tag = _letters(found[1]).strip("/")
            if tag and not tag.isdigit():
                yield tag


def _letters(text: str) -> str:
    """The text up to the first punctuation that only Unicode knows, such as a wide full stop."""
    if text.isascii():
        return text
    for place, character in enumerate(text):
        if character not in _IN_TAGS and unicodedata.category(character)[0] in "PZC":
            return text[:place]
    return text
