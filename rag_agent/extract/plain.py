"""Plain text on its way into Markdown, where some of it would mean something else."""

from __future__ import annotations

import re

_BLANKS = re.compile(r"\s+")
_LOOKS_LIKE_HEADING = re.compile(r"^( {0,3})(#{1,6}(?:\s|$))", re.MULTILINE)


def one_line(text: str) -> str:
    """The text with every run of blanks and line ends as one blank."""
    return _BLANKS.sub(" ", text).strip()


def literal(text: str) -> str:
    r"""The text with ``\#`` where a line would be a heading, at which chunks are cut."""
    return _LOOKS_LIKE_HEADING.sub(r"\1\\\2", text)
