"""Text made comparable."""

from __future__ import annotations

import unicodedata
from datetime import date

from rag_agent.utf8 import encodable


def fold(text: str) -> str:
    """For comparing without regard to case, and to how accents are written (ü, or u and dots)."""
    if text.isascii():
        return text.lower()
    return encodable(unicodedata.normalize("NFC", text.casefold()))


def tag_form(text: str) -> str:
    """A tag made comparable, however it is written: ``#Work/`` is ``work``."""
    return fold(text).strip("#/ ")


def link_form(text: str) -> str:
    """Paths and links made comparable as Obsidian does it: small letters, composed, plain spaces.

    macOS decomposes the names of files (u and two dots), links are mostly written composed (ü).
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFC", text).lower().replace("\u00a0", " ")
    return encodable(unicodedata.normalize("NFC", plain))


def plain(text: str) -> str:
    """For comparing without regard to case, accents and spacing: names and titles of people."""
    from rag_agent.tokens import without_accents  # not before it is needed: it loads a stemmer

    return fold(" ".join(without_accents(text).split()))


def iso_day(text: str) -> str:
    """``YYYY-MM-DD`` from a date that begins so, or with year and month or year; else ''."""
    parts = text.strip()[:10].split("-")
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return ""
    if [len(part) for part in parts] != [4, 2, 2][: len(parts)]:
        return ""
    try:
        return date(*(int(part) for part in [*parts, "01", "01"][:3])).isoformat()
    except ValueError:
        return ""
