"""What is embedded of a chunk: its text below a header that says where it stands."""

from __future__ import annotations


def passage_text(path: str, title: str, heading: str, text: str) -> str:
    """Path, title and heading, each on its own line where there is one, then the text.

    The header, as it is and not split into words, is worth 0.06 of the vectors' NDCG@10 on code
    (semble set). ``path`` is relative to its root, so that a moved tree keeps its vectors.
    """
    header = [path]
    if title and title not in path:
        header.append(title)
    if heading and heading != title:
        header.append(heading)
    return "\n".join([*header, text])
