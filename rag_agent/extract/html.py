"""HTML → Markdown, so that only one chunker knows headings; also what DOCX goes through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_agent.extract.encoding import decode
from rag_agent.extract.html_tables import tidy_tables
from rag_agent.extract.languages import language_of
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import properties
from rag_agent.extract.registry import extractor
from rag_agent.types import Document

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from bs4.element import PageElement

# Not content: code, drawings, the way around the site, how to pronounce what stands below.
_DROPPED = frozenset(
    """script style template noscript svg iframe object nav canvas audio video button select
    textarea dialog rt rp""".split()
)
_DROPPED_ROLES = frozenset(("navigation", "contentinfo", "search", "dialog"))
# A footer inside of one of these belongs to it: who wrote an article, where a quote comes from.
_OWNERS = ("article", "blockquote", "figure", "section", "main")
# Names of <meta> (HTML 4.2.5.1, Dublin Core, Open Graph) and our keys.
_META = {
    "author": "author",
    "dc.creator": "author",
    "article:author": "author",
    "description": "description",
    "dc.description": "description",
    "og:description": "description",
    "keywords": "keywords",
    "article:tag": "keywords",
    "date": "created",
    "dc.date": "created",
    "dcterms.created": "created",
    "article:published_time": "created",
    "last-modified": "modified",
    "dcterms.modified": "modified",
    "article:modified_time": "modified",
    "dc.publisher": "publisher",
}
_EMPHASIS = ("b", "strong", "i", "em", "s", "del")
# Of a picture, in three words and more; icons and badges have fewer.
_DESCRIPTION = re.compile(r"\S\s+\S+\s+\S")
_WITHIN_PAGE = re.compile("^#")
_BLANK_LINES = re.compile(r"\n[ \t]*\n[ \t]*\n\s*")
_TRAILING = re.compile(r"[ \t\u00a0]+$", re.MULTILINE)


@extractor("html", isolated=True)
def read(data: bytes, path: str) -> Document:
    """The page as Markdown, without scripts, styles and navigation."""
    source, warnings = decode(data)
    soup = _soup(source)
    found = properties(_said(soup))
    if soup.title:
        soup.title.decompose()
    text, lost = _markdown(_content(soup))
    heading, links = title_and_links(text)
    language = language_of(path)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language=language.name if language else "html",
        links=links,
        converted=True,
        warnings=warnings + lost,
        **found.fields(heading),
    )


def _said(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """(key, value) of the title, the language and what ``<meta>`` elements say."""
    if soup.title:
        yield "title", soup.title.get_text()
    page = soup.find("html")
    if page:
        yield "language", str(page.get("lang") or "")
    for element in soup.find_all("meta", content=True):
        name = str(element.get("name") or element.get("property") or "").lower()
        if name in _META:
            yield _META[name], str(element["content"])


def _content(soup: BeautifulSoup) -> Tag:
    """The ``<main>`` of a page where it has one: what is around it are menus and settings."""
    mains = soup.find_all(lambda tag: tag.name == "main" or tag.get("role") == "main")
    if len(mains) == 1 and mains[0].get_text(strip=True):
        return mains[0]
    return soup


def to_markdown(source: str, *, inner_links: bool = True) -> tuple[str, tuple[str, ...]]:
    """Markdown of an HTML fragment, and warnings. Words are not escaped: ``snake_case`` stays.

    Without ``inner_links`` those that lead to no other site lose their target: they stay within
    the book.
    """
    soup = _soup(source)
    if soup.title:
        soup.title.decompose()
    for anchor in [] if inner_links else soup.find_all("a", href=True):
        if not urlsplit(str(anchor["href"])).scheme:
            anchor.unwrap()
    return _markdown(soup)


def _soup(source: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(source, "html.parser")
    for instruction in soup.find_all(string=_is_instruction):
        instruction.extract()
    for element in soup.find_all(_is_dropped):
        element.decompose()
    tidy_tables(soup)
    _join_words(soup)
    for picture in soup.find_all("img", alt=_DESCRIPTION):
        picture.replace_with(f" {picture['alt']} ")
    for anchor in soup.find_all("a", href=_WITHIN_PAGE):  # permalinks of headings, above all
        if any(character.isalnum() for character in anchor.get_text()):
            anchor.unwrap()
        else:
            anchor.decompose()
    return soup


def _is_instruction(text: object) -> bool:
    """``<?xml …?>``, which would be words of the page otherwise."""
    from bs4.element import ProcessingInstruction

    return isinstance(text, ProcessingInstruction)


def _join_words(soup: BeautifulSoup) -> None:
    """Take marks of emphasis out of the middle of words: ``j**um**ped`` is found by nobody."""
    for element in soup.find_all(_EMPHASIS):
        text = element.get_text()
        before, after = element.previous_sibling, element.next_sibling
        if (text[:1].isalnum() and _text_of(before)[-1:].isalnum()) or (
            text[-1:].isalnum() and _text_of(after)[:1].isalnum()
        ):
            element.unwrap()


def _text_of(neighbour: PageElement | None) -> str:
    return neighbour.get_text() if neighbour is not None else ""


def _is_dropped(element: Tag) -> bool:
    if element.name == "footer":
        return element.find_parent(_OWNERS) is None
    return element.name in _DROPPED or element.get("role") in _DROPPED_ROLES


def _markdown(soup: Tag) -> tuple[str, tuple[str, ...]]:
    from markdownify import MarkdownConverter

    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        table_infer_header=True,  # rather than a header row of empty cells
        strip=["img"],
        escape_asterisks=False,
        escape_underscores=False,
        code_language_callback=_code_language,
    )
    warnings: tuple[str, ...] = ()
    try:
        text = converter.convert_soup(soup)
    except RecursionError:
        text = soup.get_text("\n")
        warnings = ("nested too deeply for headings and tables: only the words were kept",)
    return _BLANK_LINES.sub("\n\n", _TRAILING.sub("", text)).strip("\n") + "\n", warnings


def _code_language(element: Any) -> str:
    """The name after ``language-`` or ``highlight-`` on a code block or what is around it."""
    for tag in (element.find("code"), element, *list(element.parents)[:2]):
        for name in (tag.get("class") or []) if tag is not None else []:
            prefix, dash, language = name.partition("-")
            if dash and prefix in ("language", "lang", "highlight"):
                return str(language)
    return ""
