"""OpenDocument texts and presentations → HTML → Markdown; spreadsheets are read by ``ods.py``.

Read here rather than by odfpy (no release since 2020; a tree of Python objects, hundreds of
megabytes for a sheet) or odfdo (spells out the empty cells that a file declares by the million).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import IO
from xml.etree.ElementTree import Element

from rag_agent.errors import ExtractError
from rag_agent.extract.archive import ENCRYPTED, WITHOUT_PASSWORD, open_archive
from rag_agent.extract.html import to_markdown
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import Properties, of_odf
from rag_agent.extract.plain import one_line
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.types import Document

_NAMESPACE = re.compile(r"\{urn:oasis:names:tc:opendocument:xmlns:(\w+):1\.0\}")
_PREFIXES = {"drawing": "draw"}
_OTHERS = {
    "{http://purl.org/dc/elements/1.1/}": "dc:",
    "{http://www.w3.org/1999/xlink}": "xlink:",
    "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}": "svg:",
    "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}": "fo:",
}
_MATH = "{http://www.w3.org/1998/Math/MathML}"
_MOST_SPACES = 8  # a file may declare any number of them in one element
# What is not read: text that was deleted, lists of headings that come again, numbers of lines.
_LEFT_OUT = frozenset(
    """text:tracked-changes text:table-of-content text:sequence-decls text:note-citation
    text:ruby-text text:linenumbering-configuration office:forms office:scripts office:settings
    presentation:footer presentation:date-time presentation:header text:page-number
    presentation:footer-decl presentation:date-time-decl presentation:header-decl
    text:bibliography-source text:illustration-index-source text:table-index-source
    text:alphabetical-index-source text:user-index-source text:object-index-source
    text:bibliography-configuration dc:creator dc:date text:sender-initials""".split()
)
_TAGS: Mapping[str, str] = {
    "text:p": "p",
    "text:list": "ul",
    "text:list-header": "li",
    "table:table": "table",
    "table:table-header-rows": "thead",
    "table:table-row": "tr",
    "table:table-cell": "td",
    "table:covered-table-cell": "td",
    "draw:text-box": "div",
}
_TITLES = frozenset(("Title", "Heading_20_Title"))


@extractor("odt", isolated=True)
def read_text(data: bytes, path: str) -> Document:
    """Headings, lists, tables and frames; notes and comments at the end."""
    return _read(data, path, "odt")


@extractor("odp", isolated=True)
def read_presentation(data: bytes, path: str) -> Document:
    """A heading a slide, its texts and tables, then its notes."""
    return _read(data, path, "odp")


def open_content(data: bytes, path: str) -> tuple[IO[bytes], zipfile.ZipFile | None, Properties]:
    """The stream of the content, the archive it lies in, and what the document says of itself.

    A flat file is its content, and lies in no archive.

    Raises:
        ExtractError: not OpenDocument, or under a password.
    """
    if not data.startswith(b"PK") and b"<office:document" in data[:4096]:
        return io.BytesIO(data), None, of_odf(io.BytesIO(data))
    archive = open_archive(data, path, "")
    names = archive.namelist()
    if "encrypted-package" in names or _is_encrypted(archive):
        raise ExtractError(path, ENCRYPTED, WITHOUT_PASSWORD)
    if "content.xml" not in names:
        raise ExtractError(path, "cannot be parsed", "the archive has no content.xml")
    if "meta.xml" not in names:
        return archive.open("content.xml"), archive, Properties()
    with archive.open("meta.xml") as meta:
        return archive.open("content.xml"), archive, of_odf(meta)


def name_of(element: Element) -> str:
    """``text:p`` for the tag that ElementTree spells out."""
    return short_name(element.tag)


@lru_cache(maxsize=4096)
def short_name(tag: str) -> str:
    """``text:p`` or ``table:name`` for what ElementTree spells out."""
    if match := _NAMESPACE.match(tag):
        return f"{_PREFIXES.get(match[1], match[1])}:{tag[match.end() :]}"
    namespace, brace, name = tag.rpartition("}")
    return _OTHERS.get(namespace + brace, "") + name


def _is_encrypted(archive: zipfile.ZipFile) -> bool:
    manifest = "META-INF/manifest.xml"
    return manifest in archive.namelist() and b"encryption-data" in archive.read(manifest)


def _read(data: bytes, path: str, language: str) -> Document:
    stream, archive, found = open_content(data, path)
    converter = _Converter(parse_xml(stream), archive)
    text, warnings = to_markdown(converter.html())
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language=language,
        links=links,
        pages=tuple(_pages(text, converter.slides)),
        converted=True,
        warnings=warnings,
        **found.fields(heading),
    )


def _pages(text: str, slides: Sequence[str]) -> Iterator[int]:
    """The lines at which the slides of these titles begin."""
    titles = iter(slides)
    title = next(titles, None)
    for number, line in enumerate(text.split("\n"), start=1):
        if title is not None and line == f"# {title}":
            yield number
            title = next(titles, None)


class _Converter:
    """One document: its tree, the parts it shows, and the notes that are gathered on the way."""

    def __init__(self, root: Element, archive: zipfile.ZipFile | None) -> None:
        self._root = root
        self._archive = archive
        self._flat = name_of(root) == "office:document"
        self._notes: list[str] = []
        self._comments: list[str] = []
        self.slides: list[str] = []
        self._titles = _TITLES | {
            _attribute(style, "style:name")
            for style in root.iter()
            if _attribute(style, "style:parent-style-name") in _TITLES
        }
        self._special: Mapping[str, Callable[[Element], Iterator[str]]] = {
            "text:h": self._heading,
            "text:list-item": self._item,
            "text:p": self._paragraph,
            "text:a": self._link,
            "text:note": self._note,
            "office:annotation": self._comment,
            "draw:object": self._object,
            "draw:page": self._slide,
            "presentation:notes": self._speaker_notes,
            "text:s": _spaces,
            "text:tab": lambda _: iter(" "),
            "text:line-break": lambda _: iter(("<br>",)),
            "svg:title": self._block,
            "svg:desc": self._block,
        }

    def html(self) -> str:
        """The body as HTML."""
        bodies = [child for child in self._root if name_of(child) == "office:body"]
        parts = [part for body in bodies for part in self._children(body)]
        for heading, notes in (("Notes", self._notes), ("Comments", self._comments)):
            if notes:
                items = "".join(f"<li>{note}</li>" for note in notes)
                parts.append(f"<h1>{heading}</h1><ul>{items}</ul>")
        return "".join(parts)

    def _children(self, element: Element) -> Iterator[str]:
        yield escape(element.text or "")
        for child in element:
            yield from self._element(child)
            yield escape(child.tail or "")

    def _element(self, element: Element) -> Iterator[str]:
        name = name_of(element)
        if name in _LEFT_OUT:
            return
        if name in self._special:
            yield from self._special[name](element)
        elif name in _TAGS:
            yield f"<{_TAGS[name]}>"
            yield from self._children(element)
            yield f"</{_TAGS[name]}>"
        else:
            yield from self._children(element)

    def _inside(self, element: Element) -> str:
        return "".join(self._children(element))

    def _heading(self, element: Element) -> Iterator[str]:
        level = _attribute(element, "text:outline-level")
        number = min(max(int(level), 1), 6) if level.isdecimal() else 1
        yield f"<h{number}>{self._inside(element)}</h{number}>"

    def _item(self, element: Element) -> Iterator[str]:
        # Impress begins the second level of a list inside of an item without a text.
        only_lists = all(name_of(child) == "text:list" for child in element)
        inside = self._inside(element)
        yield inside if only_lists else f"<li>{inside}</li>"

    def _paragraph(self, element: Element) -> Iterator[str]:
        is_title = _attribute(element, "text:style-name") in self._titles
        tag = "h1" if is_title else "p"
        yield f"<{tag}>{self._inside(element)}</{tag}>"

    def _block(self, element: Element) -> Iterator[str]:
        yield f"<p>{self._inside(element)}</p>"

    def _link(self, element: Element) -> Iterator[str]:
        target = _attribute(element, "xlink:href")
        if not self._flat:  # relative to the package, as if it were a folder (part 2, 3.7)
            target = target.removeprefix("../")
        yield f'<a href="{escape(target)}">{self._inside(element)}</a>'

    def _note(self, element: Element) -> Iterator[str]:
        self._notes.append(self._inside(element))
        yield f"[{len(self._notes)}]"

    def _comment(self, element: Element) -> Iterator[str]:
        self._comments.append(self._inside(element))
        yield ""

    def _object(self, element: Element) -> Iterator[str]:
        """A chart with its figures, a formula as it was typed."""
        name = _attribute(element, "xlink:href").removeprefix("./") + "/content.xml"
        if self._archive is None or name not in self._archive.namelist():
            yield self._inside(element)  # in a flat file it stands here
            return
        with self._archive.open(name) as part:
            root = parse_xml(part)
        for formula in root.iter(f"{_MATH}annotation"):
            yield escape("".join(formula.itertext()))
        yield _Converter(root, None).html()  # no archive: what it shows in turn is not followed

    def _slide(self, element: Element) -> Iterator[str]:
        frames = [child for child in element if _attribute(child, "presentation:class") == "title"]
        title = one_line("".join(frames[0].itertext())) if frames else ""
        self.slides.append(title or f"Slide {len(self.slides) + 1}")
        yield f"<h1>{escape(self.slides[-1])}</h1>"
        for child in element:
            if child not in frames[:1]:
                yield from self._element(child)

    def _speaker_notes(self, element: Element) -> Iterator[str]:
        # The page of notes also shows the slide, its number and its header.
        for frame in element:
            if _attribute(frame, "presentation:class") == "notes":
                words = one_line("".join(frame.itertext()))
                yield f"<p>Notes: {escape(words)}</p>" if words else ""


def _attribute(element: Element, name: str) -> str:
    for key, value in element.items():
        if short_name(key) == name:
            return value
    return ""


def _spaces(element: Element) -> Iterator[str]:
    count = _attribute(element, "text:c")
    yield " " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES)
