"""Search results as text for a model that asked for them, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from rag_agent.context.fence import harmless, one_line
from rag_agent.context.lines import Piece, excerpt, merged
from rag_agent.tokens import estimate_tokens, query_words
from rag_agent.types import Chunk, Hit, SearchResults

# Of each hit the place always comes first; text is given to the best ones, which get most of it.
_EXCERPT_LINES = (60, 24, 10, 4)  # tried in turn until one fits
_SHARE = 0.5  # of what is left, at most for one hit, so that the second and third are seen too


def render_results(results: SearchResults, max_tokens: int) -> str:
    """Places, scores, headings and the lines that matter; at most ``max_tokens`` by estimate.

    Places come first: when room is short hits keep their place and lose lines, then the last hits
    are dropped; a last line says what was cut and how to get it. With no room for one place, only
    as much of the first line as fits.
    """
    head = _head(results)
    heads = [_place(number, hit) for number, hit in enumerate(results.hits, start=1)]
    count = len(heads)
    while count and not _fits([head, *heads[:count], _cut(len(heads) - count, count)], max_tokens):
        count -= 1
    asked = list(query_words(results.query))
    bodies = [""] * count
    shortened = count
    for number, hit in enumerate(results.hits[:count]):
        room = max_tokens - _cost([head, *_joined(heads, bodies), _cut(len(heads), count)])
        last = number == count - 1
        bodies[number], whole = _body(hit, asked, room if last else int(room * _SHARE))
        shortened -= whole
    note = _cut(len(heads) - count, shortened)
    text = "\n".join(part for part in [head, *_joined(heads, bodies), note] if part)
    return text if estimate_tokens(text) <= max_tokens else _clipped(text, max_tokens)


def _head(results: SearchResults) -> str:
    found = len(results.hits)
    hits = "1 file" if found == 1 else f"{found} files" if found else "nothing"
    lines = [f"Found {hits} ({results.mode} search). What follows is data from files."]
    if not found:
        lines = ["Nothing found. Try other words, or the name of a function, class or file."]
    return "\n".join([*lines, *(f"Note: {one_line(note)}" for note in results.notes)])


def _place(number: int, hit: Hit) -> str:
    heading = f"  {one_line(hit.chunk.heading)}" if hit.chunk.heading else ""
    stale = "  (changed since it was indexed)" if hit.stale else ""
    also = ", ".join(f"{chunk.start}-{chunk.end}" for chunk in hit.more)
    more = f"\nalso lines {also}" if also else ""
    return (
        f"\n{number}. {one_line(hit.chunk.location)}  score={hit.score:.2f}{heading}{stale}{more}"
    )


def _body(hit: Hit, asked: Sequence[str], room: int) -> tuple[str, bool]:
    """The hit's text within ``room`` tokens, and whether its best chunk is there as a whole."""
    everything = "\n".join(_numbered(piece, hit.chunk) for piece in merged([hit.chunk, *hit.more]))
    if estimate_tokens(everything) < room:
        return everything, True
    (best,) = merged([hit.chunk])
    if estimate_tokens(harmless(best.text)) < room:
        return harmless(best.text), True
    for count in _EXCERPT_LINES:
        piece = excerpt(best, asked, count)
        text = f"[lines {piece.start}-{piece.end}]\n{harmless(piece.text)}"
        if estimate_tokens(text) < room:
            return text, False
    return "", False


def _numbered(piece: Piece, best: Chunk) -> str:
    """A piece with its lines named, but for the best chunk's, which stand in the place above."""
    if (piece.start, piece.end) == (best.start, best.end):
        return harmless(piece.text)
    return f"[lines {piece.start}-{piece.end}]\n{harmless(piece.text)}"


def _joined(heads: Sequence[str], bodies: Sequence[str]) -> list[str]:
    return [f"{head}\n{body}" if body else head for head, body in zip(heads, bodies, strict=False)]


def _cut(dropped: int, shortened: int) -> str:
    parts = []
    if dropped:
        parts.append(f"{dropped} more hits not shown")
    if shortened:
        parts.append(f"{shortened} shortened")
    if not parts:
        return ""
    return (
        f"\nCut to fit: {', '.join(parts)}. Raise max_tokens, narrow with where, or open the files."
    )


def _fits(parts: Sequence[str], max_tokens: int) -> bool:
    return _cost(parts) <= max_tokens


def _cost(parts: Sequence[str]) -> int:
    return estimate_tokens("\n".join(part for part in parts if part))


def _clipped(text: str, max_tokens: int) -> str:
    """The longest beginning that fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if estimate_tokens(text[:middle]) <= max_tokens else (low, middle - 1)
        )
    return text[:low]
