"""Word documents → HTML (mammoth) → Markdown; pictures are dropped, their descriptions stay."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from rag_agent.extract import html, mail, rtf
from rag_agent.extract.archive import open_archive
from rag_agent.extract.html import to_markdown
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import of_office
from rag_agent.extract.ooxml import chart, drawn
from rag_agent.extract.registry import Extractor, extractor
from rag_agent.extract.word_xml import readable
from rag_agent.types import Document

# mammoth knows Heading 1 to 6; these two it would turn into plain paragraphs.
# Comments it leaves out unless it is told where to put their references.
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Heading 7'] => h6:fresh
p[style-name='Heading 8'] => h6:fresh
p[style-name='Heading 9'] => h6:fresh
comment-reference => sup
"""
_IMPORTS: Mapping[str, Extractor] = {
    ".htm": html.read,
    ".html": html.read,
    ".xhtml": html.read,
    ".mht": mail.read_message,
    ".mhtml": mail.read_message,
    ".rtf": rtf.read,
}
_CHARTS = re.compile(r"word/charts/chart\d*\.xml")
# Word takes the name of the file for a description where nobody wrote one.
_FILE_NAME = re.compile(r".*\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp)|", re.IGNORECASE)
_DIAGRAMS = re.compile(r"word/diagrams/data\d*\.xml")


@extractor("docx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Headings, lists, tables and footnotes as Markdown; the title of the properties, if any."""
    import mammoth

    archive = open_archive(data, path, "word/document")
    source = mammoth.convert_to_html(
        readable(archive, data), style_map=_STYLES, convert_image=_description
    ).value
    text, warnings = to_markdown(source)
    parts = (text, *_imported(archive, path), *drawn(archive, _DIAGRAMS), *_charts(archive))
    text = "\n\n".join(filter(None, (part.strip("\n") for part in parts))) + "\n"
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="docx",
        links=links,
        converted=True,
        warnings=warnings,
        **of_office(archive).fields(heading),
    )


def _imported(archive: zipfile.ZipFile, path: str) -> Iterator[str]:
    """What Word takes in as it opens the file (ECMA-376 part 1, 17.17.2): all, with some makers."""
    for name in sorted(archive.namelist()):
        read_part = _IMPORTS.get(posixpath.splitext(name)[1].lower())
        if read_part and name.startswith("word/"):
            yield read_part(archive.read(name), path).text


def _charts(archive: zipfile.ZipFile) -> Iterator[str]:
    for name in sorted(filter(_CHARTS.fullmatch, archive.namelist())):
        with archive.open(name) as part:
            yield from chart(part)


def _description(image: Any) -> list[Any]:
    from mammoth.html import text

    words = image.alt_text or ""
    return [] if _FILE_NAME.fullmatch(words) else [text(f" {words} ")]
