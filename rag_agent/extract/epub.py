"""E-books → Markdown: the chapters in the order in which they are read.

Read here: ebooklib, the library for it, is under the AGPL.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from rag_agent.errors import ExtractError
from rag_agent.extract.archive import ENCRYPTED, open_archive
from rag_agent.extract.encoding import decode
from rag_agent.extract.html import to_markdown
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import of_epub
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.types import Document

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_HEADING_TAG = re.compile(r"<h([1-6])\b", re.IGNORECASE)
_ANY_HEADING_TAG = re.compile(r"(</?h)([1-6])\b", re.IGNORECASE)
_HEADINGS = ("# ", "## ", "### ")


@extractor("epub", isolated=True)
def read(data: bytes, path: str) -> Document:
    """The pages of the spine (EPUB 3.3, 5.7.1); one without a heading takes the contents' name."""
    archive = open_archive(data, path, _CONTAINER)
    place = _package_path(archive, path)
    package = _xml(archive, place)
    items = {item.get("id", ""): item for item in package.iter() if _name(item) == "item"}
    names = _names(archive, place, items)
    locked = _locked(archive)
    parts = set(archive.namelist())
    blocks: list[str] = []
    warnings: dict[str, None] = {}
    for reference in (item for item in package.iter() if _name(item) == "itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or item.get("media-type") not in _PAGES:
            continue
        page = _resolved(place, item.get("href", ""))
        if page in locked:
            raise ExtractError(path, ENCRYPTED, "the book is under digital rights management")
        if page not in parts:
            warnings[f"a chapter is missing: {page}"] = None
            continue
        source, said = decode(archive.read(page))
        text, lost = to_markdown(_raised(source), inner_links=False)
        warnings |= dict.fromkeys(said + lost)
        if text.strip():
            named = names.get(page) and not text.startswith(_HEADINGS)
            blocks.append(f"# {names[page]}\n\n{text}" if named else text)
    text = "\n".join(blocks)
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="epub",
        links=links,
        converted=True,
        warnings=tuple(warnings),
        **of_epub(package).fields(heading),
    )


def _raised(source: str) -> str:
    """The page with its highest heading as one of the first level, since pages stand in a row."""
    levels = [int(match[1]) for match in _HEADING_TAG.finditer(source)]
    surplus = min(levels, default=1) - 1
    if not surplus:
        return source
    return _ANY_HEADING_TAG.sub(lambda match: f"{match[1]}{int(match[2]) - surplus}", source)


def _package_path(archive: zipfile.ZipFile, path: str) -> str:
    files = (item for item in _xml(archive, _CONTAINER).iter() if _name(item) == "rootfile")
    place = next((item.get("full-path", "") for item in files), "")
    if place not in archive.namelist():
        raise ExtractError(path, "cannot be parsed", "the book has no package document")
    return place


def _names(archive: zipfile.ZipFile, place: str, items: Mapping[str, Element]) -> dict[str, str]:
    """Page → its name in the contents: the NCX of EPUB 2, which most of EPUB 3 have as well."""
    for item in items.values():
        contents = _resolved(place, item.get("href", ""))
        if item.get("media-type") == "application/x-dtbncx+xml" and contents in archive.namelist():
            return dict(_points(_xml(archive, contents), contents))
    return {}


def _points(contents: Element, place: str) -> Iterator[tuple[str, str]]:
    for point in reversed([item for item in contents.iter() if _name(item) == "navPoint"]):
        label = next((item for item in point.iter() if _name(item) == "text"), None)
        target = next((item for item in point.iter() if _name(item) == "content"), None)
        if label is not None and target is not None:
            words = " ".join("".join(label.itertext()).split())
            yield _resolved(place, target.get("src", "")), words


def _locked(archive: zipfile.ZipFile) -> set[str]:
    """Parts that are encrypted; with most publishers that is only the fonts."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    references = (item for item in _xml(archive, _ENCRYPTION).iter())
    return {unquote(item.get("URI", "")) for item in references if _name(item) == "CipherReference"}


def _xml(archive: zipfile.ZipFile, name: str) -> Element:
    with archive.open(name) as part:
        return parse_xml(part)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _resolved(place: str, reference: str) -> str:
    """The part that a reference in the part ``place`` leads to, without its fragment."""
    target = unquote(urlsplit(reference).path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
