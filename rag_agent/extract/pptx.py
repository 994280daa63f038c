"""PowerPoint presentations → a heading a slide, its texts, tables, charts and notes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from rag_agent.extract.archive import open_archive
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.metadata import of_office
from rag_agent.extract.ooxml import chart, paragraphs, transitional
from rag_agent.extract.plain import literal, one_line
from rag_agent.extract.registry import extractor
from rag_agent.extract.safe_xml import parse_xml
from rag_agent.extract.tables import table
from rag_agent.types import Document

_COMMENTS = (
    "{http://schemas.openxmlformats.org/presentationml/2006/main}text",
    "{http://schemas.openxmlformats.org/drawingml/2006/main}t",
)
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
# Templates and shows with macros, which python-pptx has no name for; they are read as the others.
_WITH_MACROS = (
    "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml",
    "application/vnd.ms-powerpoint.template.macroEnabled.main+xml",
)
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


@extractor("pptx", isolated=True)
def read(data: bytes, path: str) -> Document:
    """Slides in order, as pages; what the master repeats (footer, date, number) is left out."""
    from pptx.opc.package import PartFactory
    from pptx.package import Package  # pptx.Presentation refuses slide shows and templates
    from pptx.parts.presentation import PresentationPart

    for content_type in _WITH_MACROS:
        PartFactory.part_type_for.setdefault(content_type, PresentationPart)
    archive = open_archive(data, path, "ppt/presentation")
    package = Package.open(transitional(archive, data, "ppt/presentation.xml"))
    presentation: Any = package.main_document_part
    text = ""
    pages: list[int] = []
    for number, slide in enumerate(presentation.presentation.slides, start=1):
        pages.append(text.count("\n") + 1)
        text += "\n\n".join(filter(None, _slide(slide, number))) + "\n\n"
    text = text.removesuffix("\n")
    heading, links = title_and_links(text)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="pptx",
        links=links,
        pages=tuple(pages),
        converted=True,
        **of_office(archive).fields(heading),
    )


def _slide(slide: Any, number: int) -> Iterator[str]:
    title = slide.shapes.title
    has_words = title is not None and title.has_text_frame  # a picture may stand in its place
    words = one_line(title.text_frame.text) if has_words else ""
    yield f"# {words or f'Slide {number}'}"
    for shape in slide.shapes:
        if not has_words or shape.shape_id != title.shape_id:
            yield from _shape(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        yield f"Notes: {notes}" if notes else ""
    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/comments") and not relation.is_external:
            yield from (f"Comment: {text}" for text in _comments(relation.target_part.blob))


def _comments(data: bytes) -> Iterator[str]:
    """Those of PowerPoint before 2021 (ECMA-376 part 1, 19.4.5), and those since."""
    words = (element for element in parse_xml(io.BytesIO(data)).iter() if element.tag in _COMMENTS)
    return (text for text in map(one_line, (word.text or "" for word in words)) if text)


def _shape(shape: Any) -> Iterator[str]:
    from pptx.enum.shapes import PP_PLACEHOLDER

    repeated = (PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.SLIDE_NUMBER)
    if shape.is_placeholder and shape.placeholder_format.type in repeated:
        return
    if hasattr(shape, "shapes"):  # a group
        for part in shape.shapes:
            yield from _shape(part)
    elif shape.has_text_frame:
        yield _paragraphs(shape.text_frame, bullets=shape.is_placeholder)
    elif getattr(shape, "has_table", False):
        rows = shape.table.rows
        yield table([[cell.text_frame.text for cell in row.cells] for row in rows])
    elif getattr(shape, "has_chart", False):
        yield from chart(io.BytesIO(shape.chart_part.blob))
    else:
        yield from _diagram(shape)
        yield one_line(shape._element._nvXxPr.cNvPr.get("descr", ""))


def _paragraphs(frame: Any, *, bullets: bool) -> str:
    """Lines of a text frame; those of the slide's body are a list, as they are shown."""
    lines = []
    for paragraph in frame.paragraphs:
        text = one_line("".join(_run(run) for run in paragraph.runs) or paragraph.text)
        if text:
            lines.append("  " * paragraph.level + f"- {text}" if bullets else literal(text))
    return "\n".join(lines)


def _run(run: Any) -> str:
    try:
        address = run.hyperlink.address
    except KeyError:  # a link that leads nowhere in the file
        address = None
    return f"[{run.text}]({address})" if address and run.text.strip() else run.text


def _diagram(shape: Any) -> Iterator[str]:
    """The texts of SmartArt, which lie in a part of their own (ECMA-376 part 1, 21.4)."""
    for ids in shape._element.iter(f"{_DIAGRAM}relIds"):
        part = shape.part.related_part(ids.get(f"{_RELATION}dm"))
        yield from paragraphs(io.BytesIO(part.blob))
