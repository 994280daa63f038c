"""What files say about themselves, under the same few keys whatever the format."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from rag_agent.extract.safe_xml import parse_xml, xml_events

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_OFFICE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_ODF_META = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}meta"
_ODF = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
# What an element is called, and the key of what it says (types.Document.metadata, but for title
# and keywords, which have fields of their own).
_KEYS: Mapping[str, str] = {
    f"{_DUBLIN_CORE}title": "title",
    f"{_DUBLIN_CORE}creator": "author",
    f"{_DUBLIN_CORE}subject": "subject",
    f"{_DUBLIN_CORE}description": "description",
    f"{_DUBLIN_CORE}publisher": "publisher",
    f"{_DUBLIN_CORE}language": "language",
    f"{_TERMS}created": "created",
    f"{_TERMS}modified": "modified",
    f"{_OFFICE}keywords": "keywords",
}
_ODF_KEYS: Mapping[str, str] = {
    **_KEYS,
    # Here dc:creator is who saved it last, and dc:date when (OpenDocument 1.3, 4.3.2).
    f"{_DUBLIN_CORE}creator": "editor",
    f"{_DUBLIN_CORE}date": "modified",
    f"{_ODF}initial-creator": "author",
    f"{_ODF}creation-date": "created",
    f"{_ODF}keyword": "keywords",
}
# In a package document subjects are many, and are keywords; dc:date is when it was published.
_EPUB_KEYS: Mapping[str, str] = {
    **_KEYS,
    f"{_DUBLIN_CORE}subject": "keywords",
    f"{_DUBLIN_CORE}date": "created",
}
# The first days of the calendars of programs, which are written when nobody knew the day.
_ZEROS = frozenset(
    ("0001-01-01", "1601-01-01", "1899-12-30", "1899-12-31", "1904-01-01", "1970-01-01")
)
_BETWEEN_KEYWORDS = re.compile(r"[,;\n]")
_BETWEEN_AUTHORS = re.compile(r"\s*;\s*")


@dataclass(frozen=True, slots=True)
class Properties:
    """The fields of a Document that describe it, as keyword arguments by ``fields``."""

    title: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def fields(self, fallback: str = "") -> dict[str, Any]:
        """``title`` (else the fallback), ``tags``, ``date`` and ``metadata``."""
        return {
            "title": self.title or fallback,
            "tags": self.tags,
            "date": day(self.metadata.get("created", "")),
            "metadata": self.metadata,
        }


def properties(pairs: Iterable[tuple[str, str]]) -> Properties:
    """Of (key, value) as a file gives them; empty values are dropped, repeated authors joined."""
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        if value := " ".join(value.split()) if key != "keywords" else value.strip():
            found.setdefault(key, []).append(value)
    title = " ".join(found.pop("title", [])[:1])
    written = (word.strip() for value in found.pop("keywords", []) for word in keywords(value))
    if "author" not in found and "editor" in found:
        found["author"] = found["editor"]
    found.pop("editor", None)
    if "author" in found:
        authors = (name for value in found["author"] for name in _BETWEEN_AUTHORS.split(value))
        found["author"] = ["; ".join(dict.fromkeys(filter(None, authors)))]
    times = {"created", "modified"}
    metadata = {
        key: values[0] for key, values in found.items() if key not in times or day(values[0])
    }
    return Properties(title, tuple(dict.fromkeys(filter(None, written))), metadata)


def keywords(written: str) -> list[str]:
    """The words of one field, which commas, semicolons or lines keep apart."""
    return [word.strip() for word in _BETWEEN_KEYWORDS.split(written) if word.strip()]


def day(written: str) -> str:
    """ISO date of a date or a time that begins with one, else "", also for a clock's zero."""
    try:
        found = date.fromisoformat(written[:10]).isoformat()
    except ValueError:
        return ""
    return "" if found in _ZEROS else found


def of_office(archive: zipfile.ZipFile) -> Properties:
    """Of ``docProps/core.xml`` (ECMA-376 part 2, 11); nothing when it cannot be read."""
    try:
        with archive.open("docProps/core.xml") as part:
            return properties(_pairs(parse_xml(part), _KEYS))
    except (KeyError, ValueError, zipfile.BadZipFile, zlib.error, ParseError):  # only ornament
        return Properties()


def of_odf(stream: IO[bytes]) -> Properties:
    """Of ``meta.xml`` or of a flat file (OpenDocument 1.3, 4.3), as far as it can be read."""
    try:
        for event, element in xml_events(stream):
            if event == "end" and element.tag == _ODF_META:
                return properties(_pairs(element, _ODF_KEYS))
    except (ValueError, zipfile.BadZipFile, zlib.error, ParseError):  # only ornament
        return Properties()
    return Properties()


def of_epub(package: Element) -> Properties:
    """Of the package document of a book (EPUB 3.3, 5.5)."""
    said = [
        ("modified", element.text or "")
        for element in package.iter()
        if element.get("property") == "dcterms:modified"
    ]
    return properties((*_pairs(package, _EPUB_KEYS), *said))


def _pairs(root: Element, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for element in root.iter():
        if key := keys.get(element.tag):
            yield key, element.text or ""
