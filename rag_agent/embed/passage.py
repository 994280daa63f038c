"""What is embedded of a chunk: its text below a header that says where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

_TAGS = 150  # characters


def passage_text(
    path: str,
    title: str,
    heading: str,
    text: str,
    description: str = "",
    tags: Sequence[str] = (),
) -> str:
    """Path, title, heading, description and tags, each on its own line, then the text.

    The header, as it is and not split into words, is worth 0.06 of the vectors' NDCG@10 on code
    (semble set). ``path`` is relative to its root, so that a moved tree keeps its vectors. A path
    without a letter (``0042.md``) says nothing, and a title that the text begins with is there
    already: without the two, vectors alone gain 0.024 on the abstracts of CISI.

    Of questions about sections of documentation, the description of the page above each of its
    sections answers more (claude_docs, NDCG@10 0.846 to 0.861), tags as many. Authors here would
    answer fewer (CISI, 0.444 to 0.438): they stand in the card of the file.
    """
    header = [path] if _has_letters(path) else []
    if title and title not in path and not text.lstrip("# \n").startswith(title):
        header.append(title)
    if heading and heading != title:
        header.append(heading)
    if description and description not in text:
        header.append(description)
    listed = ", ".join(tags)[:_TAGS]
    if listed and not all(tag in text.casefold() for tag in tags):
        header.append(listed)
    return "\n".join([*header, text])


def _has_letters(path: str) -> bool:
    pure = PurePosixPath(path)
    return any(character.isalpha() for part in (*pure.parts[:-1], pure.stem) for character in part)
