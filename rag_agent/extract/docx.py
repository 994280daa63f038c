"""Word documents → HTML (mammoth) → Markdown; pictures are dropped, their descriptions stay."""

from __future__ import annotations

import io
from typing import Any

from rag_agent.extract.archive import open_archive
from rag_agent.extract.html import to_markdown
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import of_office
from rag_agent.extract.registry import extractor
from rag_agent.types import Document

# mammoth knows Heading 1 to 6; these two it would turn into plain paragraphs.
# Comments it leaves out unless it is told where to put their references.
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
comment-reference => sup
"""


@extractor("docx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Headings, lists, tables and footnotes as Markdown; the title of the properties, if any."""
    import mammoth

    archive = open_archive(data, path, "word/document")
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
        links=links,
        converted=True,
        warnings=warnings,
        **of_office(archive).fields(heading),
    )


def _description(image: Any) -> list[Any]:
    from mammoth import html

    return [html.text(image.alt_text)] if image.alt_text else []
