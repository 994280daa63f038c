"""File → Document: one module per format, named after it; the package finds its own modules.

A new format is one module with a function under ``@extractor("name")``, where the name is that of
its row in ``languages.py``. What formats share: ``archive`` (zip), ``safe_xml``, ``ooxml``,
``metadata``, ``tables`` and ``plain`` text; HTML is the way into Markdown for most.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

from rag_agent.extract import text
from rag_agent.extract.languages import language_of
from rag_agent.extract.ocr import OcrRules
from rag_agent.extract.registry import EXTRACTORS, Registration, guarded
from rag_agent.extract.sandbox import SECONDS, SHARED
from rag_agent.types import Document

__all__ = ["VERSION", "OcrRules", "close", "extract"]

VERSION = "3"
"""Part of what an index was built with: raise it when the text of unchanged files changes."""


def extract(
    data: bytes, path: str, *, seconds: float = SECONDS, ocr: OcrRules | None = None
) -> Document:
    """The document in these bytes; ``path`` (POSIX, relative) says by its name what they are.

    A name that says nothing is read as text. ``seconds`` bounds the formats that are parsed in
    the worker process (PDF, DOCX, HTML). With ``ocr`` the text of pictures is read as well, which
    takes seconds a page: without, a document says by its ``coverage`` whether that is worth it.

    Raises:
        MissingDependency: the format needs a library that is not installed.
        TooLarge: what the file unpacks to, or the memory it needs, is over a limit.
        ExtractError: the file is broken, encrypted, or its parser crashed or took too long.
    """
    language = language_of(path)
    registration = _extractors().get(language.name) if language else None
    if registration is None:
        return guarded(text.read, data, path)
    if ocr is not None and registration.by_ocr is not None:
        longest = seconds + ocr.seconds
        return SHARED.call(registration.by_ocr, data, path, longest, rules=asdict(ocr))
    if registration.isolated:
        return SHARED.call(registration.read, data, path, seconds)
    return guarded(registration.read, data, path)


def close() -> None:
    """End the worker process, if there is one; the next file that needs it starts another."""
    SHARED.close()


@cache
def _extractors() -> Mapping[str, Registration]:
    """The registry, after every module of this package was imported once."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return EXTRACTORS
