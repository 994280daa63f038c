"""Runs of a page → lines in the order in which people read them, columns one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_agent.extract.layout.sheet import Font, Run

_SAME_LINE = 0.5  # sizes between two base lines that count as one
_NARROW = 4.0  # points; a gutter is looked for in steps of this
_STEPS = 400  # at most, however wide a page is
_SIDE = 0.12  # of the width; a gutter does not run along an edge
_ROWS = 3  # lines on each side of a gutter, below which they are cells of a table
_FULL = 0.6  # of a column's width: what most lines of a text fill, and cells do not
_PROSE = 22  # characters; most lines of a text are longer, and cells are not
_DEEPEST = 6  # columns inside of columns
_WINDOW = 4  # lines through which a strip must be clear to be looked at
_TRIES = 4  # gutters that are looked at: one in a table may be clearer than that of the text


@dataclass(slots=True)
class Line:
    """What stands on one base line of one column, from left to right.

    ``left`` and ``right`` of the column are in ``bounds``, all in points.
    """

    runs: list[Run]
    base: float
    font: Font
    bounds: tuple[float, float] = (0.0, 0.0)
    _text: str | None = None

    @property
    def left(self) -> float:
        """Where the first run begins."""
        return self.runs[0].left

    @property
    def right(self) -> float:
        """Where the last run ends."""
        return max(run.right for run in self.runs)

    @property
    def text(self) -> str:
        """The runs with a space between them; not asked for before all are there."""
        if self._text is None:
            self._text = " ".join([run.text for run in self.runs])
        return self._text


def lines_of(runs: Sequence[Run]) -> list[Line]:
    """Lines by their height alone, each from left to right."""
    lines: list[Line] = []
    for run in sorted(runs, key=_by_base):
        # The last lines only: an earlier one is further up.
        for line in lines[-1:-4:-1]:
            if abs(run.base - line.base) <= _SAME_LINE * min(run.font.size, line.font.size):
                line.runs.append(run)
                if len(run.text) > len(line.runs[0].text):
                    line.runs[0], line.runs[-1] = run, line.runs[0]
                    line.base, line.font = run.base, run.font
                break
        else:
            lines.append(Line([run], run.base, run.font))
    for line in lines:
        line.runs.sort(key=_by_left)
    lines.sort(key=lambda line: line.base)
    return lines


def in_order(runs: Sequence[Run]) -> list[list[Line]]:
    """Blocks of lines: each a column, or what stands across columns."""
    blocks = [block for block in _blocks(runs, 0) if block]
    for lines in blocks:
        bounds = (min(line.left for line in lines), max(line.right for line in lines))
        for line in lines:
            line.bounds = bounds
    return blocks


def _blocks(runs: Sequence[Run], depth: int) -> Iterator[list[Line]]:
    """The lines of one column or band after the other."""
    lines = lines_of(runs)
    for gutter in _gutters(lines) if depth < _DEEPEST else ():
        bands = list(_bands(lines, gutter))
        if any(parted for _, parted in bands):
            break
    else:
        yield lines
        return
    plain: list[Run] = []
    for band, parted in bands:
        if not parted:
            plain += band
            continue
        yield from _blocks(plain, depth + 1)
        plain = []
        yield from _blocks([run for run in band if not _is_right(run, gutter)], depth + 1)
        yield from _blocks([run for run in band if _is_right(run, gutter)], depth + 1)
    yield from _blocks(plain, depth + 1)


def _gutters(lines: Sequence[Line]) -> list[float]:
    """The middles of strips that stay clear, with text on both sides, those of most lines first."""
    if len(lines) < _WINDOW:
        return []
    left = min(line.left for line in lines)
    right = max(line.right for line in lines)
    narrow = max(_NARROW, (right - left) / _STEPS)
    steps = int((right - left) / narrow) + 1
    # A line is a number with a bit for each step that it covers, so that lines can be laid over
    # each other.
    covers = []
    for line in lines:
        cover = 0
        for run in line.runs:
            start = int((run.left - left) / narrow)
            end = int((run.right - left) / narrow) + 1
            cover |= (1 << max(end, start)) - (1 << start)
        covers.append(cover)
    inner = (1 << int((1 - _SIDE) * steps)) - (1 << int(_SIDE * steps) + 1)
    clear_in = [0] * (steps + 1)
    for index in range(len(covers) - _WINDOW + 1):
        cover = 0
        for line_cover in covers[index : index + _WINDOW]:
            cover |= line_cover
        # Between the first and the last step that any of the lines covers.
        clear = inner & ~cover & ((1 << cover.bit_length()) - (cover & -cover))
        while clear:
            lowest = clear & -clear
            clear_in[lowest.bit_length() - 1] += 1
            clear ^= lowest
    peaks: list[tuple[int, int, int]] = []  # lines, first step, number of steps
    for step, value in enumerate(clear_in):
        before = clear_in[step - 1] if step else 0
        if value and value > before:
            peaks.append((value, step, 1))
        elif value and value == before and peaks[-1][1] + peaks[-1][2] == step:
            peaks[-1] = (value, peaks[-1][1], peaks[-1][2] + 1)
    peaks.sort(key=lambda peak: (-peak[0], -peak[2]))
    return [left + (step + length / 2) * narrow for _, step, length in peaks[:_TRIES]]


def _is_right(run: Run, gutter: float) -> bool:
    return run.left + run.right >= 2 * gutter


def _bands(lines: Sequence[Line], gutter: float) -> Iterator[tuple[list[Run], bool]]:
    """From top to bottom: (runs, whether they stand in two columns)."""
    band: list[Run] = []
    for line in lines:
        if any(run.left < gutter - 1 and run.right > gutter + 1 for run in line.runs):
            if band:
                yield band, _in_columns(band, gutter)
            yield line.runs, False
            band = []
        else:
            band += line.runs
    if band:
        yield band, _in_columns(band, gutter)


def _in_columns(band: Sequence[Run], gutter: float) -> bool:
    """Whether the two sides are texts to read one after the other, and not cells of rows."""
    sides = [_is_right(run, gutter) for run in band]
    left = [run for run, side in zip(band, sides, strict=True) if not side]
    right = [run for run, side in zip(band, sides, strict=True) if side]
    rows = min(len({round(run.base) for run in side}) for side in (left, right))
    if rows == 0:
        return False
    drawn = sorted(zip((run.order for run in band), sides, strict=True))
    changes = sum(one[1] != other[1] for one, other in pairwise(drawn))
    if changes <= max(1, rows // 5):  # drawn one after the other
        return rows >= _ROWS or (changes == 1 and _is_prose(left) and _is_prose(right))
    return rows >= _ROWS and _is_prose(left) and _is_prose(right)


def _is_prose(runs: Sequence[Run]) -> bool:
    """Whether most of the runs are long, and fill the column that they make."""
    width = max(run.right for run in runs) - min(run.left for run in runs)
    long = sum(len(run.text) >= _PROSE for run in runs)
    full = sum(run.width >= _FULL * width for run in runs)
    return 2 * long >= len(runs) <= 2 * full


def _by_base(run: Run) -> float:
    return run.base


def _by_left(run: Run) -> float:
    return run.left
