"""Pieces of files: neighbours merged, so that what is shown has true line numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_agent.types import Chunk, Hit

# Blank lines at the edges of chunks belong to none of them, so a gap of this size in code is blank:
# two functions of Python. (Only a single line of over 6000 characters could lie there as a chunk
# of its own; in other documents a page or section of one line can.)
_BLANK_LINES = 2
COPIES_NAMED = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines of one file, ready to be shown. ``heading`` is that of its first line."""

    path: str
    start: int
    end: int
    text: str
    heading: str = ""

    @property
    def location(self) -> str:
        """``path:start-end``."""
        return f"{self.path}:{self.start}-{self.end}"


def pieces_of(hit: Hit, chunks: Sequence[Chunk]) -> list[Piece]:
    """Some chunks of a hit as pieces: the one with the best chunk first, then as in the file."""
    is_code = hit.document is not None and hit.document.kind == "code" and not hit.converted
    pieces = merged(chunks, _BLANK_LINES if is_code else 0)
    return sorted(pieces, key=lambda piece: not _holds(piece, hit.chunk))


def merged(chunks: Iterable[Chunk], blank: int = 0) -> list[Piece]:
    """The chunks of one file in the order of its lines; overlapping and adjacent ones as one.

    So are those with at most ``blank`` lines between them, which the caller knows to be blank.
    """
    pieces: list[Piece] = []
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start, chunk.end)):
        piece = whole(chunk)
        joined = _join(pieces[-1], piece, blank) if pieces else None
        if joined is None:
            pieces.append(piece)
        else:
            pieces[-1] = joined
    return pieces


def whole(chunk: Chunk) -> Piece:
    """All lines of a chunk."""
    return Piece(chunk.path, chunk.start, chunk.end, chunk.text, chunk.heading)


def with_gaps(block: Sequence[Piece]) -> str:
    """The pieces of a chunk, with the numbers of the lines between them."""
    lines = [block[0].text]
    for before, piece in itertools.pairwise(block):
        first, last = before.end + 1, piece.start - 1
        lines += [f"… {first} …" if first == last else f"… {first}-{last} …", piece.text]
    return "\n".join(lines)


def listed_copies(paths: Sequence[str]) -> str:
    """``a.py, b.py, and 2 more``: the files that say the same as a hit."""
    listed = ", ".join(paths[:COPIES_NAMED])
    more = len(paths) - COPIES_NAMED
    return f"{listed}, and {more:,} more" if more > 0 else listed


def is_numbered(piece: Piece) -> bool:
    """Whether the text is all of its lines; pieces of one endless line may not be."""
    return piece.text.count("\n") == piece.end - piece.start


def _join(first: Piece, second: Piece, blank: int) -> Piece | None:
    """Both as one if nothing lies between them."""
    gap = second.start - first.end - 1
    if gap > blank or not (is_numbered(first) and is_numbered(second)):
        return None
    lines: Sequence[str] = second.text.split("\n")
    shared = first.text.split("\n")[second.start - first.start :]
    if shared != lines[: len(shared)] and shared[: len(lines)] != lines:
        return None  # parts of one line, or of two states of the file
    if second.end <= first.end:
        return first
    rest = [""] * max(0, gap) + list(lines[max(0, -gap) :])
    return Piece(first.path, first.start, second.end, "\n".join([first.text, *rest]), first.heading)


def _holds(piece: Piece, chunk: Chunk) -> bool:
    return piece.start <= chunk.start and chunk.end <= piece.end and chunk.text in piece.text
