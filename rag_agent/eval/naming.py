"""Paths of hits as topics name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rag_agent.eval.rows import as_row, parse, read_text

MAP = "_map.json"
"""Beside documents that were written as files for an evaluation: file name to document id."""


def renaming(tracked: Sequence[Path], prefix: str = "") -> Callable[[str], str]:
    """From a path below the tracked folder to the name that topics have for it.

    Where the one tracked folder holds a ``_map.json``, to what that says; else ``prefix``, the
    part of the checkout above the folder, is put in front.

    Raises:
        QueryError: the map cannot be read, or is no object of names.
    """
    mapping = tracked[0] / MAP if len(tracked) == 1 else None
    if mapping is not None and mapping.is_file():
        ids = _read(mapping)
        return lambda path: ids.get(path, path)
    parts = [part for part in prefix.replace("\\", "/").split("/") if part not in ("", ".")]
    front = "".join(f"{part}/" for part in parts)
    return lambda path: front + path


def prefix_below(root: Path, checkout: str) -> str:
    """The part of an indexed folder below its checkout, which topics have in their paths.

    The checkout is the first folder of that name: what is indexed may be called the same
    (click/src/click).
    """
    parts = root.parts
    return "/".join(parts[parts.index(checkout) + 1 :]) if checkout in parts else ""


def _read(mapping: Path) -> dict[str, str]:
    text = read_text(mapping, "an object of file names and document ids")
    ids = as_row(parse(text, str(mapping)), str(mapping))
    return {name: ids.name(name) for name in ids.fields}
