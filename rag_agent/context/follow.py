"""A prompt that leans on the turn before: "and where is it tested?"."""

from __future__ import annotations

import re

_LEANS = re.compile(r"(?:and|but|or|what about|how about|why)\b|.*\b(?:it|that|this|there)\b", re.I)
_LONGEST = 80  # characters; whoever writes more says what it is about


def leans_on(prompt: str, before: str) -> bool:
    """Whether the prompt is only understood together with the one before."""
    text = prompt.strip()
    return bool(before) and len(text) <= _LONGEST and "?" in text and bool(_LEANS.match(text))


def joined(prompt: str, before: str) -> str:
    """What to search for a prompt that leans on the one before."""
    return f"{prompt.strip()}\n{before.strip()}"
