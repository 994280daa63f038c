"""Pages of placed words → one Markdown text that knows where each page begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rag_agent.extract.layout.furniture import without_furniture
from rag_agent.extract.layout.headings import Bookmark, headings
from rag_agent.extract.layout.lines import Line, in_order
from rag_agent.extract.layout.listings import listings
from rag_agent.extract.layout.prose import HYPHENS, WORD, no_markup, rejoin, tidy
from rag_agent.extract.layout.sheet import Run, Sheet, Turned
from rag_agent.extract.layout.tables import Table, tables_in, text_of

_PARAGRAPH = 1.3  # of the usual distance of lines: more room parts paragraphs
_INDENT = 0.8  # sizes by which the first line of a paragraph is set in
_FOOTNOTE_MARKS = "*\u2217\u2020\u2021\u00a7\u00b6 "
_ENDS = (".", "!", "?", ":", ".\u201d", '."', ".)", "\u3002", "\uff01", "\uff1f", "\uff1a")
_LONG = 35  # characters; few headings are that long, and most lines of a text
_TEXT_SHARE = 0.15
_NUMBERS = 6  # rows of numbers, below which a table stays with its text


@dataclass(frozen=True, slots=True)
class Written:
    """The text, the line at which each page begins, what gets no vector, and the title.

    The title is the heading on the first page that is the only one of the first level.
    """

    text: str
    pages: tuple[int, ...]
    unembedded: tuple[tuple[int, int], ...]
    title: str = ""


class _Text:
    """Lines as they are written. ``joins``: running text, in which words may be broken."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.joins: list[bool] = []
        self.numbers: list[tuple[int, int]] = []

    def add(self, text: str, *, joins: bool = False) -> None:
        self.lines.append(text)
        self.joins.append(joins)

    def blank(self, first: int) -> None:
        """Part paragraphs; a page, whose first line is given, begins with none."""
        if len(self.lines) > first and self.lines[-1]:
            self.add("")


def write(
    sheets: Sequence[Sheet],
    marks: Mapping[int, Sequence[Bookmark]],
    other: Mapping[int, str],
) -> Written:
    """The document of these pages; ``other`` has the text of those that pdfium could not read."""
    body = _body(sheets)
    kept = without_furniture(sheets, body)
    pages = [in_order(runs) for runs in kept]
    known = headings(pages, body, marks)
    text = _Text()
    starts: list[int] = []
    for number, blocks in enumerate(pages):
        first = len(text.lines)
        starts.append(first)
        if number in other:
            for line in other[number].replace("\r\n", "\n").strip().split("\n"):
                text.add(no_markup(tidy(line.strip())), joins=True)
        for block, lines in enumerate(blocks):
            text.blank(first)
            _write_block(text, first, number, block, lines, known)
        for turned in _beside(sheets[number], kept[number]):
            text.blank(first)
            text.add(no_markup(tidy(turned.text)))
        while len(text.lines) > first and not text.lines[-1]:
            del text.lines[-1], text.joins[-1]
        if len(text.lines) == first:
            text.add("")  # an empty page takes one empty line
    gone = rejoin(text.lines, text.joins, lambda: _words(text.lines), frozenset(starts))
    _remove(text, starts, gone)
    return Written(
        "\n".join(text.lines) + "\n" if text.lines else "",
        tuple(start + 1 for start in starts),
        tuple(listings(text.lines, text.numbers)),
        _title(text.lines, starts),
    )


def _title(lines: Sequence[str], starts: Sequence[int]) -> str:
    first_page = lines[: starts[1]] if len(starts) > 1 else lines
    highest = [line for line in lines if line.startswith("# ")]
    alone = len(highest) == 1 and highest[0] in first_page
    return highest[0][2:].rstrip(_FOOTNOTE_MARKS) if alone else ""


def _remove(text: _Text, starts: list[int], gone: Sequence[int]) -> None:
    """Take lines out, but for one that is all of its page."""
    edges = {*starts, len(text.lines)}
    out = {index for index in gone if not (index in edges and index + 1 in edges)}
    if not out:
        return
    before = list(accumulate((index in out for index in range(len(text.lines) + 1)), initial=0))
    text.lines = [line for index, line in enumerate(text.lines) if index not in out]
    starts[:] = [start - before[start] for start in starts]
    text.numbers = [(start - before[start], end - before[end]) for start, end in text.numbers]


def _body(sheets: Sequence[Sheet]) -> float:
    """The size of the text, in points; 0 without any.

    Of several sizes that a good part of the long lines have, the largest: a list of references may
    be longer than the text, and smaller.
    """
    long: Counter[float] = Counter()
    all_runs: Counter[float] = Counter()
    for page in sheets:
        for run in page.runs:
            length = len(run.text)
            all_runs[run.font.size] += length
            if length >= _LONG:
                long[run.font.size] += length
    letters = long or all_runs
    least = _TEXT_SHARE * letters.total()
    return max((size for size, count in letters.items() if count >= least), default=0.0)


def _write_block(
    text: _Text,
    first: int,
    page: int,
    block: int,
    lines: Sequence[Line],
    known: Mapping[tuple[int, int, int], tuple[int, int, str]],
) -> None:
    tables = {table.start: table for table in tables_in(lines)}
    usual = _usual_distance(lines)
    index = 0
    apart = False  # after a heading or a table
    while index < len(lines):
        if (page, block, index) in known:
            end, level, title = known[page, block, index]
            text.blank(first)
            text.add(f"{'#' * level} {' '.join(tidy(title).split())}")
            index, apart = end, True
            continue
        if apart or (index and _begins_paragraph(lines, index, usual)):
            text.blank(first)
        apart = False
        table = tables.get(index)
        if table is not None and not any(
            (page, block, inner) in known for inner in range(table.start, table.end)
        ):
            text.blank(first)
            _write_table(text, table)
            index, apart = table.end, True
            continue
        line = text_of(lines[index])
        if line != "…":
            text.add(no_markup(tidy(line)), joins=True)
        index += 1


def _write_table(text: _Text, table: Table) -> None:
    start = len(text.lines)
    for row in table.rows:
        text.add(tidy(row))
    if table.numeric and len(table.rows) >= _NUMBERS:
        text.numbers.append((start, len(text.lines)))


def _usual_distance(lines: Sequence[Line]) -> float:
    distances = sorted(
        below.base - above.base
        for above, below in pairwise(lines)
        if below.base - above.base > 0.5 * below.font.size
    )
    return distances[len(distances) // 2] if distances else 0.0


def _begins_paragraph(lines: Sequence[Line], index: int, usual: float) -> bool:
    """Whether there is more room above, or the line alone is set in after a sentence."""
    above, line = lines[index - 1], lines[index]
    size = line.font.size
    if line.base - above.base > _PARAGRAPH * max(usual, size):
        return True
    set_in = line.left - _INDENT * size
    # In a list of references all lines of an entry but the first are set in.
    return (
        index + 1 < len(lines)
        and above.left < set_in
        and lines[index + 1].left < set_in
        and above.text.endswith(_ENDS)
    )


def _beside(sheet: Sheet, kept: Sequence[Run]) -> list[Turned]:
    """Turned text that lies within the text: of tables and figures, and no stamp in the margin.

    A stamp such as arXiv's stands upright beside everything else.
    """
    if not sheet.turned or not kept:
        return list(sheet.turned)
    left, right = min(run.left for run in kept), max(run.right for run in kept)
    return [turned for turned in sheet.turned if left <= turned.across <= right]


def _words(lines: Sequence[str]) -> Set[str]:
    """The words of the document, without the parts of those that are broken."""
    found: set[str] = set()
    broken = False
    for line in lines:
        if not line:
            continue
        words = WORD.findall(line)
        begin, broken_here = int(broken), line.endswith(HYPHENS)
        found.update(word.lower() for word in words[begin : len(words) - broken_here])
        broken = broken_here
    return found
