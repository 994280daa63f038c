"""From an outline to chunks and passages: the one place where sizes are decided.

Every way of cutting ends here, so the invariants (order kept, no line lost, sizes bounded, each
line of a chunk in exactly one passage unless a sentence in it begins one) hold for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rag_agent.chunk.outline import INSIDE, PROSE, WALL, Outline, Shape
from rag_agent.chunk.sentences import parts_of, sentence_starts
from rag_agent.types import Chunk, Definition, Document, Passage

_ANY = 10_000  # lines; for passages only characters matter

# What it costs a piece to run on after the part that it began in has ended: the rest of a large
# section stays alone unless it is small.
_LEAVING = 0.35
# A piece that reaches the end leaves no remainder behind, so it may be larger than preferred.
_END = -0.3


def assemble(document: Document, lines: Sequence[str], outline: Outline) -> list[Chunk]:
    """The chunks of a document whose text is ``lines`` joined by newlines."""
    sizes = list(accumulate((len(line) + 1 for line in lines), initial=0))
    definitions = _Definitions(outline.definitions)
    chunks: list[Chunk] = []
    for start, end in _spans(lines, sizes, outline.costs, 0, len(lines), outline.shape):
        if end == start + 1 and len(lines[start]) > outline.shape.most_characters:
            chunks += _long_line(document, lines[start], start, outline, definitions)
            continue
        chunks.append(
            Chunk(
                path=document.path,
                start=start + 1,
                end=end,
                text="\n".join(lines[start:end]),
                heading=outline.heading(start, end),
                definitions=definitions.until(end),
                passages=tuple(_passages(lines, sizes, outline, start, end)),
                embedded=_is_embedded(document, start + 1),
            )
        )
    return chunks


def _spans(
    lines: Sequence[str],
    sizes: Sequence[int],
    costs: Sequence[float],
    start: int,
    last: int,
    shape: Shape,
) -> Iterator[tuple[int, int]]:
    """Ranges of lines, from 0 and half open, without the blank lines at their edges."""
    while True:
        while start < last and not lines[start].strip():
            start += 1
        if start == last:
            return
        cut = end = _best_end(sizes, costs, start, last, shape)
        while not lines[end - 1].strip():
            end -= 1
        yield start, end
        start = cut


def _best_end(
    sizes: Sequence[int], costs: Sequence[float], start: int, last: int, shape: Shape
) -> int:
    """The end after ``start`` with the most room used for the least cost."""
    base, opening, leaving = sizes[start], costs[start], 0.0
    best, best_score = start + 1, float("-inf")
    for end in range(start + 1, min(last, start + shape.most_lines) + 1):
        characters = sizes[end] - base - 1
        if characters > shape.most_characters and end > start + 1:
            break
        cost = costs[end] if end < last else _END
        if cost == WALL:
            return end
        fill = max((end - start) / shape.lines, characters / shape.characters)
        # Beyond the preferred size every line counts against the piece.
        score = (fill if fill <= 1 else 2 - fill) - cost - leaving
        if score >= best_score:
            best, best_score = end, score
        if cost < opening:
            leaving = _LEAVING
    return best


def _passages(
    lines: Sequence[str], sizes: Sequence[int], outline: Outline, start: int, end: int
) -> Iterator[Passage]:
    shape = _of_passages(outline.shape)
    before: Passage | None = None
    for first, last in _spans(lines, sizes, outline.costs, start, end, shape):
        for text in _parts("\n".join(lines[first:last]), shape):
            passage = Passage(first + 1, last, text)
            if before is not None:
                if outline.shape == PROSE and outline.costs[first] == INSIDE:
                    before, passage = _between_sentences(before, passage, shape)
                yield before
            before = passage
    if before is not None:
        yield before


def _between_sentences(first: Passage, second: Passage, shape: Shape) -> tuple[Passage, Passage]:
    """Both with the sentence that the cut is in, if one is, in the second."""
    text = f"{first.text}\n{second.text}"
    cut = len(first.text) + 1
    earliest = max(cut - shape.characters // 3, len(text) - shape.most_characters, 1)
    lead = len(second.text) - len(second.text.lstrip())
    starts = [one for one in sentence_starts(text) if earliest <= one <= cut + lead]
    if not starts or starts[-1] >= cut:
        return first, second
    begin = starts[-1]
    line = first.start + text.count("\n", 0, begin)
    ended = text[:begin].rstrip()
    return (
        Passage(first.start, first.start + ended.count("\n"), ended),
        Passage(line, second.end, text[begin:]),
    )


def _of_passages(shape: Shape) -> Shape:
    return Shape(_ANY, shape.passage, _ANY, shape.most_of_passage)


def _long_line(
    document: Document, line: str, index: int, outline: Outline, definitions: _Definitions
) -> Iterator[Chunk]:
    """Parts of one line; each is a chunk of its own with that line's number."""
    for part in _parts(line, outline.shape):
        yield Chunk(
            path=document.path,
            start=index + 1,
            end=index + 1,
            text=part,
            heading=outline.heading(index, index + 1),
            definitions=definitions.until(index + 1),
            passages=tuple(
                Passage(index + 1, index + 1, passage)
                for passage in _parts(part, _of_passages(outline.shape))
            ),
            embedded=_is_embedded(document, index + 1),
        )


def _is_embedded(document: Document, line: int) -> bool:
    """Chunks end where such a range does, so any line of a chunk tells."""
    return not any(start <= line <= end for start, end in document.unembedded)


def _parts(line: str, shape: Shape) -> Iterator[str]:
    """The line, or where it is too long parts of it that are not blank."""
    if len(line) <= shape.most_characters:
        yield line
        return
    for begin, end in parts_of(line, shape.characters, shape.most_characters):
        if line[begin:end].strip():
            yield line[begin:end]


class _Definitions:
    """Hands out sorted definitions to the chunks in which they begin."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._definitions = definitions
        self._next = 0

    def until(self, line: int) -> tuple[Definition, ...]:
        """Those not yet handed out that begin at or before ``line`` (from 1)."""
        first = self._next
        while self._next < len(self._definitions) and (self._definitions[self._next].start <= line):
            self._next += 1
        return tuple(self._definitions[first : self._next])
