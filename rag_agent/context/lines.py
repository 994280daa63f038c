"""Pieces of files: neighbours merged, long ones cut to the lines that matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_agent.tokens import words
from rag_agent.types import Chunk


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


def merged(chunks: Iterable[Chunk]) -> list[Piece]:
    """The chunks of one file in the order of its lines; overlapping and adjacent ones as one."""
    pieces: list[Piece] = []
    for chunk in sorted(chunks, key=lambda chunk: (chunk.start, chunk.end)):
        piece = Piece(chunk.path, chunk.start, chunk.end, chunk.text, chunk.heading)
        if pieces and _join(pieces[-1], piece) is not None:
            pieces[-1] = _join(pieces[-1], piece) or pieces[-1]
        else:
            pieces.append(piece)
    return pieces


def excerpt(piece: Piece, asked: Iterable[str], count: int) -> Piece:
    """The ``count`` consecutive lines with most words of the question; all if there are no more.

    ``asked`` are stems. The lines are whole; ties go to the earlier ones.
    """
    lines = piece.text.split("\n")
    if len(lines) <= count or count < 1:
        return piece
    wanted = set(asked)
    hits = [len(wanted.intersection(words(line))) for line in lines]
    first = max(
        range(len(lines) - count + 1), key=lambda place: (sum(hits[place : place + count]), -place)
    )
    text = "\n".join(lines[first : first + count])
    if not _is_whole(piece):
        return Piece(piece.path, piece.start, piece.end, text, piece.heading)
    start = piece.start + first
    return Piece(piece.path, start, start + count - 1, text, piece.heading)


def _join(first: Piece, second: Piece) -> Piece | None:
    """Both as one if no line lies between them."""
    if second.start > first.end + 1 or not (_is_whole(first) and _is_whole(second)):
        return None
    if second.end <= first.end:
        return first
    rest: Sequence[str] = second.text.split("\n")[first.end + 1 - second.start :]
    return Piece(first.path, first.start, second.end, "\n".join([first.text, *rest]), first.heading)


def _is_whole(piece: Piece) -> bool:
    """Whether the text is all of its lines; pieces of one endless line are not."""
    return piece.text.count("\n") == piece.end - piece.start
