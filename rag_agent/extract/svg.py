"""Drawings in SVG → the words in them; shapes and paths say nothing."""

from __future__ import annotations

import io
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from rag_agent.extract.plain import literal, one_line
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.types import Document

# SVG 2: 5.8 title and desc, 11 text; 12.4 foreignObject, in which drawing programs put HTML.
_WORDS = frozenset(("title", "desc", "text", "foreignObject"))


@extractor("svg", isolated=True)
def read(data: bytes, path: str) -> Document:
    """A line for each text of the drawing, in its order; the title of the whole as heading."""
    root = parse_xml(io.BytesIO(data))
    title = next((_text(child) for child in root if _name(child) == "title"), "")
    lines = [f"# {title}\n"] if title else []
    lines += [literal(text) for text in _texts(root) if text]
    if title in lines:
        lines.remove(title)
    return Document(
        path=path,
        kind="prose",
        text="\n".join(lines) + "\n" if lines else "",
        language="svg",
        title=title,
        converted=True,
    )


def _texts(element: Element) -> Iterator[str]:
    for child in element:
        if _name(child) in _WORDS:
            yield _text(child)
        else:
            yield from _texts(child)


def _text(element: Element) -> str:
    return one_line(" ".join(element.itertext()))


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
