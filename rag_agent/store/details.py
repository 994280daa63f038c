"""What is known of a document beside its text: columns made of what extractors found."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rag_agent.store.folding import iso_day, plain
from rag_agent.utf8 import encodable

# The first key that is there counts. Extractors write the first ones; the others stand in the front
# matter of notes (Hugo, Jekyll, Obsidian, Pandoc).
_AUTHOR = ("author", "authors", "creator")
_CREATED = ("created", "date created", "created_at")
_MODIFIED = ("modified", "updated", "lastmod", "last_modified", "date modified", "updated_at")
_YEAR = ("year",)
_DESCRIPTION = ("description", "summary", "abstract", "subtitle")
# What a program says of itself, where a person would describe the document.
_BY_PROGRAM = re.compile(
    r"(?:(?:auto-?)?generated|created|produced|made) (?:by|with|using|in) ", re.I
)
_LONGEST_DESCRIPTION = 300  # characters: it stands above each chunk, in a window of some 1,000


def details(title: str, day: str, metadata: Mapping[str, str]) -> dict[str, object]:
    """Values of columns of ``documents`` by name; ``day`` is the document's own date or ''.

    The year is the one that the document names as such, else that of its date. Without a date of
    creation its own date stands for it.
    """
    by_key = {key.casefold(): value for key, value in metadata.items()}
    author = encodable(" ".join(_first(by_key, _AUTHOR).split()))
    described = encodable(" ".join(_first(by_key, _DESCRIPTION).split()))
    description = "" if _BY_PROGRAM.match(described) else described
    created = iso_day(_first(by_key, _CREATED)) or day
    year = re.fullmatch("[0-9]{4}", _first(by_key, _YEAR).strip())
    dated = day or created
    return {
        "author": author,
        "author_plain": plain(author),
        "description": description[:_LONGEST_DESCRIPTION].rstrip(),
        "title_plain": plain(title),
        "created": created,
        "modified": iso_day(_first(by_key, _MODIFIED)),
        "year": int(year[0] if year else dated[:4]) if year or dated else None,
    }


def _first(values: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((values[key] for key in keys if values.get(key, "").strip()), "")
