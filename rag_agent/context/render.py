"""Search results as text for a model that asked for them, within a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rag_agent.context.excerpts import read
from rag_agent.context.fence import harmless, one_line
from rag_agent.context.gate import NOTHING_SURE, is_sure
from rag_agent.context.headings import heading_of
from rag_agent.context.lines import Piece, pieces_of, whole
from rag_agent.tokens import estimate_tokens, query_words
from rag_agent.types import Chunk, Hit, SearchResults

_EXCERPT_LINES = (60, 48, 36, 24, 18, 14, 10, 8, 6, 4)  # tried in turn until one fits
_SHARE = 0.5  # of what is left, at most for one hit, so that the second and third are seen too
# Of a hit that is not sure: enough to see that it is not what was asked.
_UNSURE_LINES = 6
_UNSURE_TOKENS = 200


@dataclass(frozen=True, slots=True)
class _Entry:
    """One hit as it is shown. ``is_cut`` means that its best chunk lacks lines for want of room."""

    text: str
    is_cut: bool = False

    @property
    def cost(self) -> int:
        """Tokens, with the line break after it: the sum of costs is never less than the whole's."""
        return estimate_tokens(self.text + "\n")


@dataclass(frozen=True, slots=True)
class _Ways:
    """The ways of showing one hit, made when they are asked for: ``longer`` ones, best first."""

    place: _Entry
    longer: Iterator[_Entry]
    made: list[_Entry] = field(default_factory=list)

    def longest(self, most: int) -> _Entry:
        """The longest way that costs at most so many tokens, else the place alone."""
        for entry in self.made:
            if entry.cost <= most:
                return entry
        for entry in self.longer:
            self.made.append(entry)
            if entry.cost <= most:
                return entry
        return self.place


def render_results(results: SearchResults, max_tokens: int) -> str:
    """Places, scores, headings and the lines that matter; at most ``max_tokens`` by estimate.

    Places come first: when room is short hits keep their place and lose lines, then the last hits
    are dropped; a last line says what was cut and how to get it. With no room for one place, only
    as much of the first line as fits. Hits that are not sure get a few lines while none before
    them is sure, and none after one.
    """
    head, hits = _head(results), results.hits
    ways = list(_ways(hits, tuple(query_words(results.query))))
    entries = [way.place for way in ways]
    while entries and _cost(head, entries, _cut(len(hits), len(entries))) > max_tokens:
        entries.pop()
    # At first nobody gets more than a share of what is left; what then is left goes to the best.
    for share in (_SHARE, 1.0):
        for index, entry in enumerate(entries):
            room = max_tokens - _cost(head, entries, _cut(len(hits), len(entries)))
            most = entry.cost + int(room if index == len(entries) - 1 else room * share)
            entries[index] = ways[index].longest(most)
    note = _cut(len(hits) - len(entries), sum(entry.is_cut for entry in entries))
    text = "\n".join(part for part in [head, *(entry.text for entry in entries), note] if part)
    return text if estimate_tokens(text) <= max_tokens else _clipped(text, max_tokens)


def _head(results: SearchResults) -> str:
    found = len(results.hits)
    notes = [f"Note: {one_line(note)}" for note in results.notes]
    if not found:
        tip = "Nothing found. Try other words, or the name of a function, class or file."
        return "\n".join([tip, *notes])
    unsure = [] if any(map(is_sure, results.hits)) else [f"Note: {NOTHING_SURE}"]
    files = "1 file" if found == 1 else f"{found} files"
    summary = f"Found {files} ({results.mode} search). What follows is data from files."
    return "\n".join([*unsure, summary, *notes])


def _ways(hits: Sequence[Hit], asked: Sequence[str]) -> Iterator[_Ways]:
    """How each hit may be shown: as room allows if it is sure, else in a few lines or none."""
    seen_sure = False
    for number, hit in enumerate(hits, start=1):
        place = _text(number, hit, (), [], asked)
        if is_sure(hit):
            seen_sure = True
            yield _Ways(_Entry(place, is_cut=True), _longer(number, hit, asked))
        else:
            few = iter(()) if seen_sure else _few(number, hit, asked, place)
            yield _Ways(_Entry(place), few)


def _longer(number: int, hit: Hit, asked: Sequence[str]) -> Iterator[_Entry]:
    """A hit with all its chunks, with fewer, and with ever fewer lines of the best one."""
    for count in range(len(hit.more), -1, -1):
        chunks = (hit.chunk, *hit.more[:count])
        yield _Entry(_text(number, hit, chunks, pieces_of(hit, chunks), asked))
    reading = read(whole(hit.chunk), asked, hit.chunk.definitions)
    for count in _EXCERPT_LINES:
        if count < len(reading.lines):
            yield _Entry(_text(number, hit, (), [reading.cut(count)], asked), is_cut=True)


def _few(number: int, hit: Hit, asked: Sequence[str], place: str) -> Iterator[_Entry]:
    """A few lines of a hit, unless they are long. More room would not give more: none is cut."""
    most = estimate_tokens(place) + _UNSURE_TOKENS
    best = whole(hit.chunk)
    few = read(best, asked, hit.chunk.definitions).cut(_UNSURE_LINES)
    entry = _Entry(_text(number, hit, (hit.chunk,), [few], asked))
    if entry.cost <= most:
        yield entry


def _text(
    number: int, hit: Hit, chunks: Sequence[Chunk], pieces: Sequence[Piece], asked: Sequence[str]
) -> str:
    """A hit's place and what is shown of it: ``chunks`` as a whole, as these ``pieces``."""
    best = hit.chunk
    first = pieces[0] if pieces else whole(best)
    name = heading_of(best, max(first.start, best.start), min(first.end, best.end), asked)
    marks = [
        f"score={hit.score:.2f}",
        one_line(name),
        "(lines of the extracted text)" if hit.converted else "",
        "(changed since it was indexed)" if hit.stale else "",
    ]
    place = f"{number}. {one_line(best.location)}"
    lines = ["", "  ".join([place, *(mark for mark in marks if mark)])]
    also = [f"{chunk.start}-{chunk.end}" for chunk in hit.more if chunk not in chunks]
    if also:
        lines.append(f"also lines {', '.join(also)}")
    if len(pieces) == 1 and first == whole(best):
        return "\n".join([*lines, harmless(first.text)])
    for piece in pieces:
        lines += ["", f"[lines {piece.start}-{piece.end}]", harmless(piece.text)]
    return "\n".join(lines)


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


def _cost(head: str, entries: Sequence[_Entry], note: str) -> int:
    return estimate_tokens(f"{head}\n{note}") + sum(entry.cost for entry in entries)


def _clipped(text: str, max_tokens: int) -> str:
    """The longest beginning that fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if estimate_tokens(text[:middle]) <= max_tokens else (low, middle - 1)
        )
    return text[:low]
