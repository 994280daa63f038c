"""What a document says about itself that keeps it out of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_agent.errors import ExtractError
from rag_agent.store.fields import has_tag
from rag_agent.sync import reasons
from rag_agent.types import Document, Skipped

_KEY = "rag"  # of the front matter
_NO = frozenset({"false", "no", "off"})  # in YAML, which several tools write differently


def check(document: Document, exclude_tags: Sequence[str]) -> None:
    """Nothing, for a document that may be indexed.

    Raises:
        ExtractError: its front matter says ``rag: false``, or it has an excluded tag.
    """
    said = (value for key, value in document.metadata.items() if key.casefold() == _KEY)
    if any(value.lower() in _NO for value in said):
        raise ExtractError(document.path, reasons.OPTED_OUT, "says its front matter")
    tag = excluded(document.tags, exclude_tags)
    if tag:
        raise ExtractError(document.path, reasons.EXCLUDED_TAG, f"#{tag}")


def excluded(tags: Iterable[str], exclude_tags: Sequence[str]) -> str:
    """The first of the tags that is excluded, itself or as part of one that is; "" without."""
    return next((tag for tag in tags if any(has_tag(tag, out) for out in exclude_tags)), "")


def still_holds(skipped: Skipped, exclude_tags: Sequence[str]) -> bool:
    """Whether what kept a file out is so under these tags; the file itself has not changed."""
    if skipped.reason != reasons.EXCLUDED_TAG:
        return True
    return bool(excluded([skipped.detail.removeprefix("#")], exclude_tags))
