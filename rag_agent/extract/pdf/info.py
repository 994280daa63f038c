"""What a PDF says about itself: its information dictionary (PDF 32000-1, 14.3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag_agent.extract.metadata import Properties, properties

if TYPE_CHECKING:
    import pypdfium2

_KEYS = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "CreationDate": "created",
    "ModDate": "modified",
}
# What programs write where nobody gave a title: the name of the file they were given.
_OFFICE_PREFIX = re.compile(r"^(?:Microsoft \w+|LibreOffice \w+) - ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"untitled.*|.*\.(?:docx?|dvi|fm|indd|odt|pdf|ps|pptx?|qxd|rtf|tex|xlsx?)", re.IGNORECASE
)
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")


def information(pdf: pypdfium2.PdfDocument) -> Properties:
    """Title, author, subject, keywords and times, where they are given and say something."""
    return properties(_pairs(pdf))


def _pairs(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[str, str]]:
    for name, key in _KEYS.items():
        value = pdf.get_metadata_value(name).strip()
        if key == "title":
            value = _OFFICE_PREFIX.sub("", value)
            value = "" if _NO_TITLE.fullmatch(value) else value
        elif key in ("created", "modified"):
            value = _iso(value)
        yield key, value


def _iso(written: str) -> str:
    """ISO 8601 of ``D:20260314093000+01'00'``, "" of anything else."""
    match = _DATE.match(written)
    if match is None:
        return ""
    year, month, day, hour, minute, second, utc, hours, minutes = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    if hour is None:
        return date
    zone = "Z" if utc else f"{hours}:{minutes or '00'}" if hours else ""
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"
