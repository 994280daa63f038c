"""Text that UTF-8 can hold."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text, with a question mark for each lone surrogate: half a pair is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
