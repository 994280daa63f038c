"""Word documents → HTML (mammoth) → Markdown; pictures are dropped, their descriptions stay."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from rag_agent.extract.archive import open_archive
from rag_agent.extract.html import to_markdown
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.registry import extractor
from rag_agent.types import Document

# mammoth knows Heading 1 to 6; these two it would turn into plain paragraphs.
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
_DUBLIN_CORE_TITLE = "{http://purl.org/dc/elements/1.1/}title"


@extractor("docx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Headings, lists, tables and footnotes as Markdown; the title of the properties, if any."""
    import mammoth

    archive = open_archive(data, path, "word/document.xml")
    source = mammoth.convert_to_html(
        io.BytesIO(data), style_map=_STYLES, convert_image=_description
    ).value
    text, warnings = to_markdown(source)
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="docx",
        title=_title(archive) or heading,
        links=links,
        converted=True,
        warnings=warnings,
    )


def _description(image: Any) -> list[Any]:
    from mammoth import html

    return [html.text(image.alt_text)] if image.alt_text else []


def _title(archive: zipfile.ZipFile) -> str:
    from xml.etree import ElementTree

    try:
        properties = ElementTree.fromstring(archive.read("docProps/core.xml"))
    except (KeyError, zipfile.BadZipFile, zlib.error, ElementTree.ParseError):  # only ornament
        return ""
    return (properties.findtext(_DUBLIN_CORE_TITLE) or "").strip()
