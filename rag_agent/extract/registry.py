"""Which function reads which language, and the one place where a parser may raise anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rag_agent.errors import ExtractError, MissingDependency, TooLarge
from rag_agent.extract.passing import MEMORY, SYSTEM
from rag_agent.masking import mask
from rag_agent.types import Document

Extractor = Callable[[bytes, str], Document]
"""(bytes of a file, its POSIX path) → Document; may raise anything."""

EXTRAS: Mapping[str, str] = {"pptx": "office"}
"""Package that a reader imports → the extra of pyproject.toml that brings it."""
_LONGEST_DETAIL = 200  # characters; some parsers quote the file in their message
# Soft hyphens, word joiners and marks of byte order stand inside of words, which nobody finds then.
_INVISIBLE = dict.fromkeys((0xAD, 0x2060, 0xFEFF))
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Registration:
    """How a language is read: by which function, and whether in a process of its own.

    ``by_ocr`` reads pictures, too; it takes ``rules`` besides, the fields of ``OcrRules``.
    """

    read: Extractor
    isolated: bool
    by_ocr: Callable[..., Document] | None = None


EXTRACTORS: dict[str, Registration] = {}
"""``Language.name`` → how it is read. A language without a row is read as text."""


def extractor(
    language: str, *, isolated: bool = False, by_ocr: Callable[..., Document] | None = None
) -> Callable[[Extractor], Extractor]:
    """Register a function as the reader of a language named in ``languages.py``.

    ``isolated`` is for parsers that a hostile file can crash, hang or blow up: they run in a
    worker process with a time limit and a memory limit. ``by_ocr`` always does.
    """

    def register(read: Extractor) -> Extractor:
        EXTRACTORS[language] = Registration(read, isolated, by_ocr)
        return read

    return register


def guarded(read: Extractor, data: bytes, path: str) -> Document:
    """Run one extractor; whatever its parser raises becomes an ExtractError.

    The text that comes out can be stored: it holds no lone surrogates and no NUL.
    """
    try:
        return _storable(_checked(read(data, path), data))
    except ExtractError:
        raise
    except ImportError as error:
        package = (error.name or "a library").partition(".")[0]
        extra = EXTRAS.get(package)
        fix = f'pip install "rag_agent[{extra}]"' if extra else f"pip install {package}"
        fix = f"{error}; install it beside rag_agent: {fix}"
        raise MissingDependency(path, "library missing", fix) from error
    except RecursionError as error:
        raise ExtractError(path, "nested too deeply") from error
    except MemoryError as error:
        raise TooLarge(path, MEMORY) from error
    except OSError as error:
        # With a number it is the system's (no memory, files or space left), without the parser's.
        reason = "cannot be parsed" if error.errno is None else SYSTEM
        raise ExtractError(path, reason, _detail(error)) from error
    except Exception as error:  # parsers raise anything, and one bad file must not end a sync
        raise ExtractError(path, "cannot be parsed", _detail(error)) from error


def _checked(document: Document, data: bytes) -> Document:
    """With a warning where a file that holds something has given no text, and nothing said why.

    A drawing mostly has none: icons come by the thousand.
    """
    silent = document.warnings or document.language == "svg"
    if not document.converted or silent or document.text.strip() or not data.strip():
        return document
    return replace(document, warnings=("no text in it",))


def _detail(error: Exception) -> str:
    message, _ = mask(" ".join(str(error).split()))
    name = type(error).__name__
    return f"{name}: {message}"[:_LONGEST_DETAIL] if message else name


def _storable(document: Document) -> Document:
    text = _clean(document.text)
    return replace(
        document,
        text=text.translate(_INVISIBLE) if document.converted else text,
        title=" ".join(_clean(document.title).split()),
        tags=tuple(_clean(tag) for tag in document.tags),
        aliases=tuple(" ".join(_clean(alias).split()) for alias in document.aliases),
        metadata={_clean(key): _clean(value) for key, value in document.metadata.items()},
        links=tuple(replace(link, target=_clean(link.target)) for link in document.links),
    )


def _clean(text: str) -> str:
    if _SURROGATE.search(text):  # pairs become the character they stand for, the rest U+FFFD
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")
