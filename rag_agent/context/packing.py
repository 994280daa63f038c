"""Hits into a budget: whole ones, best first, gathered by file, fenced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from rag_agent.context.excerpts import read
from rag_agent.context.fence import harmless, one_line
from rag_agent.context.headings import heading_of
from rag_agent.context.lines import Piece, pieces_of, whole, with_gaps
from rag_agent.context.room import fits, named, text_of, with_named
from rag_agent.tokens import estimate_tokens
from rag_agent.types import Chunk, Context, Hit

_CHARACTERS_OF_TOKEN = 3  # at most, by tokens.estimate_tokens
_LEAST_ROOM = 200  # characters, of a place and six lines; what is left of a spent budget is less
_FRAME_LINES = 16  # of each place that a stack trace names, so that there is room for several files
_EXCERPT_LINES = (48, 36, 24, 18, 14, 10, 8, 6)  # tried in turn; fewer would not explain themselves


def pack(hits: Sequence[Hit], budget: int, asked: Sequence[str] = ()) -> Context:
    """The hits as text of at most ``budget`` tokens and what a hook may say, or as many as fit.

    A hit is shown with all its chunks, else with its best ones, else with the lines of its best
    one that tell most about the question, whose stems are ``asked``; what there is no room for is
    named. Where lines of several files are given, as by a stack trace, these come before other
    hits, each with a few lines around. ``reasons`` has one for each hit, in their order.
    """
    blocks: list[str] = []
    shown: list[Hit] = []
    reasons = [""] * len(hits)
    is_trace = sum(bool(hit.given) for hit in hits) > 1
    order = sorted(range(len(hits)), key=lambda number: is_trace and not hits[number].given)
    places = [_place(hit.chunk, hit.chunk.start, hit.chunk.end, asked) for hit in hits]
    left: list[str] = []
    for turn, number in enumerate(order, 1):
        hit = hits[number]
        ending = named([*left, *(places[other] for other in order[turn:])], budget)
        room = _CHARACTERS_OF_TOKEN * (budget - estimate_tokens("\n\n".join([*blocks, *ending])))
        for block, chunks, reason in chain(
            _frames(hit, asked) if is_trace else (), _blocks(hit, asked, room)
        ):
            if fits([*blocks, block, *ending], budget):
                blocks.append(block)
                shown.append(replace(hit, more=chunks[1:]))
                reasons[number] = reason
                break
        else:
            left.append(places[number])
            reasons[number] = f"no room for {hit.chunk.location} in {budget} tokens"
    if not shown:
        return Context("", 0, (), tuple(reasons))
    text = text_of(with_named(blocks, left, budget))
    return Context(text, estimate_tokens(text), tuple(shown), tuple(reasons))


def _frames(hit: Hit, asked: Sequence[str]) -> Iterator[tuple[str, tuple[Chunk, ...], str]]:
    """The lines that are given of a hit with a few around, of all its chunks or of fewer."""
    chunks = (hit.chunk, *hit.more)
    told = [c for c in chunks if any(c.start <= line <= c.end for line in hit.given)]
    for count in range(len(told), 0, -1):
        found = [(c, _excerpt(hit, c, asked, _FRAME_LINES)) for c in told[:count]]
        block = "\n\n".join(_block(hit, piece, asked) for _, piece in found)
        places = ", ".join(f"{piece.start}-{piece.end}" for _, piece in found)
        yield block, tuple(c for c, _ in found), f"takes in lines {places} of {hit.path}, as given"


def _excerpt(hit: Hit, chunk: Chunk, asked: Sequence[str], most: int) -> Piece:
    """The lines of a chunk that tell most, as one piece with its gaps."""
    excerpt = read(whole(chunk), asked, chunk.definitions, hit.wanted).excerpt(most)
    return replace(excerpt[0], end=excerpt[-1].end, text=with_gaps(excerpt))


def _blocks(
    hit: Hit, asked: Sequence[str], room: int
) -> Iterator[tuple[str, tuple[Chunk, ...], str]]:
    """A hit in every way that it may be shown, the longest first: text, chunks, what to say.

    Ways that are longer than ``room``, in characters, are not made: a turn has no time for them.
    """
    best = hit.chunk
    for count in range(len(hit.more), -1, -1):
        chunks = (best, *hit.more[:count])
        pieces = pieces_of(hit, chunks)
        if sum(len(piece.text) for piece in pieces) > room:
            continue
        block = "\n\n".join(_block(hit, piece, asked) for piece in pieces)
        yield block, chunks, f"takes in {best.location}"
    if room < _LEAST_ROOM:
        return
    reading = read(whole(best), asked, best.definitions, hit.wanted)
    for most in _EXCERPT_LINES:
        if most < len(reading.lines):
            excerpt = reading.excerpt(most)
            first, end, text = excerpt[0], excerpt[-1].end, with_gaps(excerpt)
            if len(text) > room:
                continue
            reason = (
                f"takes in lines {first.start}-{end} of {best.location}, for which there is room"
            )
            yield _block(hit, replace(first, end=end, text=text), asked), (best,), reason


def _block(hit: Hit, piece: Piece, asked: Sequence[str]) -> str:
    """A piece under its place and heading."""
    chunk = next(
        chunk for chunk in (hit.chunk, *hit.more) if piece.start <= chunk.end <= piece.end
        or chunk.start <= piece.start <= chunk.end
    )  # fmt: skip
    start, end = max(piece.start, chunk.start), min(piece.end, chunk.end)
    return f"{_place(chunk, start, end, asked, piece.location)}\n{harmless(piece.text)}"


def _place(chunk: Chunk, start: int, end: int, asked: Sequence[str], location: str = "") -> str:
    """Where lines of a chunk stand and what they are called."""
    place = one_line(location or chunk.location)
    heading = one_line(heading_of(chunk, start, end, asked))
    return f"{place}  {heading}" if heading else place
