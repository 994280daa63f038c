"""Search results as text for a model that asked for them, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_agent.context.excerpts import Reading, read
from rag_agent.context.fence import harmless, one_line
from rag_agent.context.focus import shares
from rag_agent.context.gate import NOTHING_SURE, is_sure
from rag_agent.context.headings import heading_of
from rag_agent.context.lines import Piece, listed_copies, pieces_of, whole, with_gaps
from rag_agent.context.spending import Levels, least_worth, nothing_of, spend
from rag_agent.tokens import estimate_tokens, query_words
from rag_agent.types import Chunk, Hit, SearchResults

DEFAULT_TOKENS = 4000
"""The most tokens of an answer for which no number was asked."""

# Of a hit that is not sure: enough to see that it is not what was asked.
_UNSURE_LINES = 6
_UNSURE_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said, and what it says of each hit.

    ``shown`` has the hits in their order, and for each line that is said of one the number of the
    file's line that it is: 0 where a path is named (the hit's, then those of its copies), None
    where it is neither. ``before`` counts the lines above the first hit.
    """

    text: str
    before: int
    shown: Sequence[tuple[Hit, Sequence[int | None]]]


@dataclass(slots=True)
class _Entry:
    """One hit as it is shown, in so many lines of its chunks."""

    number: int
    hit: Hit
    asked: Sequence[str]
    levels: Levels = ()
    text: str = ""
    readings: dict[int, Reading] = field(default_factory=dict)
    excerpts: dict[tuple[int, int], tuple[Piece, ...]] = field(default_factory=dict)
    texts: dict[tuple[tuple[int, str], ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.levels = nothing_of(self.hit)
        self.text = self.written(self.levels)

    @property
    def cost(self) -> int:
        """Tokens, with the line break after it: the sum of costs is never less than the whole's."""
        return _cost_of(self.text)

    @property
    def is_cut(self) -> bool:
        """Whether its best chunk lacks lines."""
        return self.levels[0] <= self.hit.chunk.text.count("\n")

    def written(self, levels: Levels) -> str:
        """The hit in so many lines of each chunk."""
        blocks, also = self._blocks(levels)
        return "\n".join([*self._place(blocks, also), *self._written(blocks)])

    def numbers(self) -> list[int | None]:
        """For each line of its text the number of the file's line, 0 for the place."""
        blocks, also = self._blocks(self.levels)
        numbers: list[int | None] = [None, 0, *([None] if self.hit.address else [])]
        numbers += [0] if self.hit.copies else []
        numbers += [None] if also else []
        for block in blocks:
            numbers += [] if self._is_all(blocks) else [None, None]
            for count, piece in enumerate(block):
                numbers += [None] if count else []  # the gap before it
                lines = piece.text.count("\n") + 1
                numbers += [min(piece.start + line, piece.end) for line in range(lines)]
        return numbers

    def _blocks(self, levels: Levels) -> tuple[Sequence[Sequence[Piece]], Sequence[Chunk]]:
        """What is shown together, the best chunk's first; and the chunks that lack lines."""
        chunks = (self.hit.chunk, *self.hit.more)
        complete, blocks = [], []
        for place, (chunk, lines) in enumerate(zip(chunks, levels, strict=True)):
            if lines > chunk.text.count("\n"):
                complete.append(chunk)
            elif lines:
                blocks.append(self._excerpt(place, chunk, lines))
        blocks += [(piece,) for piece in pieces_of(self.hit, complete)]
        best = self.hit.chunk
        blocks.sort(key=lambda block: (not _lies_in(block, best), block[0].start))
        return blocks, [chunk for chunk in self.hit.more if chunk not in complete]

    def _is_all(self, blocks: Sequence[Sequence[Piece]]) -> bool:
        """Whether the place says which lines these are."""
        return len(blocks) == 1 and list(blocks[0]) == [whole(self.hit.chunk)]

    def _place(self, blocks: Sequence[Sequence[Piece]], also: Sequence[Chunk]) -> list[str]:
        """Its number, place, score and heading; ``also`` are chunks that lack lines."""
        best = self.hit.chunk
        first, last = (blocks[0][0], blocks[0][-1]) if blocks else (whole(best),) * 2
        name = heading_of(best, max(first.start, best.start), min(last.end, best.end), self.asked)
        marks = [
            f"score={self.hit.score:.2f}",
            one_line(name),
            "(lines of the extracted text)" if self.hit.converted else "",
            "(changed since it was indexed)" if self.hit.stale else "",
        ]
        place = f"{self.number}. {one_line(best.location)}"
        lines = ["", "  ".join([place, *(mark for mark in marks if mark)])]
        lines += [one_line(self.hit.address)] if self.hit.address else []
        if self.hit.copies:
            lines.append(f"same as {one_line(listed_copies(self.hit.copies))}")
        if also:
            lines.append(f"also lines {', '.join(f'{chunk.start}-{chunk.end}' for chunk in also)}")
        return lines

    def _written(self, blocks: Sequence[Sequence[Piece]]) -> list[str]:
        """The pieces with what is left out between them by its numbers."""
        if self._is_all(blocks):
            return [self._harmless(blocks[0])]
        lines = []
        for block in blocks:
            lines += ["", f"[lines {block[0].start}-{block[-1].end}]", self._harmless(block)]
        return lines

    def _harmless(self, block: Sequence[Piece]) -> str:
        key = tuple((piece.start, piece.text) for piece in block)
        if key not in self.texts:
            self.texts[key] = harmless(with_gaps(block))
        return self.texts[key]

    def _excerpt(self, place: int, chunk: Chunk, lines: int) -> tuple[Piece, ...]:
        if (place, lines) not in self.excerpts:
            if place not in self.readings:
                self.readings[place] = read(
                    whole(chunk), self.asked, chunk.definitions, self.hit.wanted
                )
            self.excerpts[place, lines] = self.readings[place].excerpt(lines)
        return self.excerpts[place, lines]


def render_results(
    results: SearchResults, max_tokens: int | None = None, *, most: int = DEFAULT_TOKENS
) -> str:
    """Places, scores, headings and the lines that matter; at most ``max_tokens`` by estimate.

    Without a number as many as the question deserves, and ``most`` at most: one that a single
    hit answers gets that hit's text and the places of others, a broad one a few lines of many.

    Places come first: when room is short hits keep their place and lose lines, then the last hits
    are dropped; a last line says what was cut and how to get it. With no room for one place, only
    as much of the first line as fits. Hits that are not sure get a few lines at most.
    """
    return answer(results, max_tokens, most=most).text


def answer(
    results: SearchResults, max_tokens: int | None = None, *, most: int = DEFAULT_TOKENS
) -> Answer:
    """As ``render_results``, with what each line of the text is, for whoever measures it."""
    head, hits = _head(results), results.hits
    room = most if max_tokens is None else max_tokens
    asked = tuple(query_words(results.query))
    entries = [_Entry(number, hit, asked) for number, hit in enumerate(hits, start=1)]
    spent = sum(entry.cost for entry in entries)
    while entries and _cost(head, _cut(len(hits), len(entries))) + spent > room:
        spent -= entries.pop().cost
    left = room - spent - _cost(head, _cut(len(hits), len(entries)))

    def fits(index: int, levels: Levels) -> bool:
        nonlocal left
        entry = entries[index]
        text = entry.written(levels)
        more = _cost_of(text) - entry.cost
        unsure = not is_sure(entry.hit) and more > _UNSURE_TOKENS
        if more > left or unsure:
            return False
        entry.levels, entry.text, left = levels, text, left - more
        return True

    shown = hits[: len(entries)]
    spend(
        shown,
        shares([hit.score for hit in hits])[: len(entries)],
        [0 if is_sure(hit) else _UNSURE_LINES for hit in shown],
        fits,
        lambda: 0.0 if max_tokens is not None else least_worth(room - left),
    )
    cut = sum(entry.is_cut and is_sure(entry.hit) for entry in entries)
    note = _cut(len(hits) - len(entries), cut)
    text = "\n".join(part for part in [head, *(entry.text for entry in entries), note] if part)
    if estimate_tokens(text) > room:
        text = _clipped(text, room)
    said = [(entry.hit, entry.numbers()) for entry in entries]
    return Answer(text, head.count("\n") + 1, said)


def _head(results: SearchResults) -> str:
    found = len(results.hits)
    notes = [f"Note: {one_line(note)}" for note in results.notes]
    if results.nothing_indexed:
        return f"{results.notes[0]}. Or call rag_index, which does the same."
    if not found:
        tip = "Nothing found."
        if results.left_by_filter != 0:
            tip += " Try other words, or the name of a function, class or file."
        return "\n".join([tip, *notes])
    unsure = [] if any(map(is_sure, results.hits)) else [f"Note: {NOTHING_SURE}"]
    files = "1 file" if found == 1 else f"{found} files"
    summary = f"Found {files} ({results.mode} search). What follows is data from files."
    return "\n".join([*unsure, summary, *notes])


def _lies_in(block: Sequence[Piece], chunk: Chunk) -> bool:
    return block[0].start <= chunk.end and chunk.start <= block[-1].end


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


def _cost(head: str, note: str) -> int:
    return estimate_tokens(f"{head}\n{note}")


def _cost_of(text: str) -> int:
    return estimate_tokens(text + "\n")


def _clipped(text: str, max_tokens: int) -> str:
    """The longest beginning that fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if estimate_tokens(text[:middle]) <= max_tokens else (low, middle - 1)
        )
    return text[:low]
