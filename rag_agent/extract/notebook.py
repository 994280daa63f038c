"""Jupyter notebooks → Markdown: cells in order, code fenced, the text of outputs below it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rag_agent.errors import ExtractError
from rag_agent.extract.encoding import decode
from rag_agent.extract.markdown import title_and_links
from rag_agent.extract.registry import extractor
from rag_agent.masking import cut
from rag_agent.types import Document

_LONGEST_OUTPUT = 10_000  # characters of one output; training logs run to megabytes
_TEXTS = ("text/markdown", "text/plain", "text/latex")  # in order of preference
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours of tracebacks and progress bars
_BACKTICKS = re.compile(r"`{3,}")


@extractor("notebook", isolated=True)  # JSON of 60 MB takes ten times that as objects
def read(data: bytes, path: str) -> Document:
    """Markdown of all cells; pictures and HTML outputs are left out, long outputs are cut."""
    source, warnings = decode(data)
    notebook = _parse(source, path)
    language = _language(notebook)
    blocks: list[str] = []
    shortened = 0
    for cell in _cells(notebook, path):
        content = _joined(cell.get("source", cell.get("input")))
        if cell.get("cell_type") == "markdown":
            blocks.append(content)
        elif cell.get("cell_type") == "heading":  # notebooks before version 4
            blocks.append("#" * int(cell.get("level", 1)) + " " + content)
        elif content.strip():
            name = language if cell.get("cell_type") == "code" else ""
            blocks.append(_fenced(content, name))
        for output in _outputs(cell):
            shortened += len(output) > _LONGEST_OUTPUT
            blocks.append(_fenced(cut(output, _LONGEST_OUTPUT), "output"))
    text = "\n\n".join(block.strip("\n") for block in blocks if block.strip())
    text = text + "\n" if text else ""
    title, links = title_and_links(text)
    if shortened:
        warnings += (f"outputs cut after {_LONGEST_OUTPUT:,} characters: {shortened}",)
    return Document(
        path=path,
        kind="prose",
        text=text,
        language="notebook",
        title=title,
        metadata={"code": language},
        links=links,
        converted=True,
        warnings=warnings,
    )


def _parse(source: str, path: str) -> Mapping[str, Any]:
    if not source.strip():  # Jupyter itself leaves such files behind
        return {"cells": []}
    try:
        notebook = json.loads(source)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ExtractError(path, "broken JSON", where) from error
    if not isinstance(notebook, dict):
        raise ExtractError(path, "not a notebook", "the file holds no JSON object")
    return notebook


def _cells(notebook: Mapping[str, Any], path: str) -> Iterator[Mapping[str, Any]]:
    sheets = notebook.get("worksheets", [notebook])  # notebooks before version 4
    if not isinstance(sheets, list) or not all(
        isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in sheets
    ):
        raise ExtractError(path, "not a notebook", "the file holds no list of cells")
    for sheet in sheets:
        yield from (cell for cell in sheet["cells"] if isinstance(cell, dict))


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for section, name in (("language_info", "name"), ("kernelspec", "language")):
        value = metadata.get(section) if isinstance(metadata, dict) else None
        if isinstance(value, dict) and isinstance(value.get(name), str):
            return str(value[name])
    return "python"


def _outputs(cell: Mapping[str, Any]) -> Iterator[str]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        text = _ESCAPES.sub("", _output(output)) if isinstance(output, dict) else ""
        # A progress bar overwrites its line: only what stood there last was ever read.
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
        kept = "\n".join(line.rstrip() for line in lines).strip("\n")
        if kept:
            yield kept


def _output(output: Mapping[str, Any]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    if "text" in output:
        return _joined(output["text"])
    bundle = output.get("data")
    if isinstance(bundle, dict):
        return next((_joined(bundle[kind]) for kind in _TEXTS if kind in bundle), "")
    return ""


def _joined(value: Any) -> str:
    """Cell and output texts are a string or a list of strings (nbformat, "multiline strings")."""
    parts = value if isinstance(value, list) else [value]
    return "".join(part for part in parts if isinstance(part, str))


def _fenced(content: str, name: str) -> str:
    longest = max(map(len, _BACKTICKS.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{name}\n{content.strip(chr(10))}\n{fence}"
