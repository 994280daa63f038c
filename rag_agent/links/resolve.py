"""Where one link leads, of the documents whose names it may mean.

In a vault, and for ``[[wiki links]]`` anywhere, as Obsidian does it. That is written down nowhere;
these are the rules as they were observed on Obsidian 1.13.7 (pvliesdonk/markdown-vault-mcp, pull
requests 1380 and 1385), which case, Unicode form and a missing ``.md`` make no difference to:

1. ``./`` and ``../`` begin in the document's own folder, ``/`` at the vault's, and mean that file.
2. What is the whole path of a file from the vault's folder means that file, wherever it is written.
3. Else the end of a path will do, whole folders of it: the nearest is that in the document's own
   folder or below, then the one with the shortest path.
4. Aliases lead nowhere; Obsidian only offers them while one writes, and then writes the name.

Links in Markdown outside of vaults lead from the document's folder to one file, as on GitHub.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from rag_agent.store.folding import link_form
from rag_agent.store.records import Place

_NOTE = ".md"


def resolve(
    path: str, source: str, base: str, candidates: Sequence[Place], *, by_name: bool
) -> Place | None:
    """The document that ``path`` means in the document ``source``, None if there is none.

    ``source`` and ``base``, the vault or the folder that is indexed, are absolute POSIX paths.
    ``candidates`` are the documents with a name that the link may mean. ``by_name`` allows rules 2
    and 3, and is false for Markdown links outside of vaults.
    """
    wanted = link_form(path)
    base = link_form(base.rstrip("/"))
    folder = posixpath.dirname(link_form(source))
    if wanted.startswith("/"):
        return _at(f"{base}{posixpath.normpath(wanted)}", candidates)
    if not by_name or wanted.startswith(("./", "../")):
        return _at(posixpath.normpath(f"{folder}/{wanted}"), candidates)
    exact = _at(f"{base}/{wanted}", candidates)
    if exact is not None:
        return exact
    inside = f"{folder}/"
    endings = (f"/{wanted}", f"/{wanted}{_NOTE}")
    found = [
        (not form.startswith(inside), len(form), form, place)
        for place in candidates
        if (form := link_form(place.absolute)).endswith(endings) and form.startswith(f"{base}/")
    ]
    return min(found, key=lambda one: one[:3])[3] if found else None


def _at(absolute: str, candidates: Sequence[Place]) -> Place | None:
    """The document at a path, or else the note."""
    by_form = {link_form(place.absolute): place for place in candidates}
    return by_form.get(absolute) or by_form.get(absolute + _NOTE)
