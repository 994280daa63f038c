"""Text made comparable and storable."""

from __future__ import annotations

from datetime import date


def fold(text: str) -> str:
    """For comparing without regard to case."""
    return storable(text.casefold())


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


def storable(text: str) -> str:
    """The text, with a question mark for each lone surrogate, which UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
