"""Text of pictures by tesseract, a program that is looked for and never required."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_agent import paths
from rag_agent.extract.layout.sheet import Font, Run, Sheet

NEEDED = "needs OCR"
"""The reason of what has no text without tesseract."""
ADVICE = "install tesseract, then index again"

DPI = 300
"""Dots per inch at which pages are drawn: tesseract is made for letters of 20 to 40 dots."""
PAGE_SECONDS = 60.0
"""Time for one page: a full one takes three on a free core, and more on a busy machine."""

# All that are installed, up to so many: each makes it slower and less sure. English comes first,
# for the words that every language borrows.
_MOST_LANGUAGES = 4
_FIRST = ("eng",)
_ORIENTATION = "osd"
_NO_LANGUAGE = frozenset((_ORIENTATION, "equ", "snum"))
_SHORT = 10.0  # seconds, for what it says about itself

_SURE = 30.0  # percent; less sure words are noise in a picture
_PAGE_SURE = 50.0  # percent, by letters; below, there is no text in the picture
_LETTERS = 8  # fewer are no text either
_LARGE = 1.35  # of the usual height of lines: a heading
_APART = 1.2  # usual heights; a wider gap parts columns or cells


@dataclass(frozen=True, slots=True)
class OcrRules:
    """What may be spent: ``pages`` of a file (0 switches OCR off) and ``seconds`` for a file.

    ``languages`` are tesseract's names for them; without any, those that are installed.
    """

    pages: int = 200
    seconds: float = 600.0
    languages: tuple[str, ...] = ()


LATER = "tried again at a later sync"
"""What becomes of a page at which OCR failed."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Grey pixels, a byte each, row after row, and how many of them make an inch."""

    width: int
    height: int
    pixels: bytes
    dpi: float


class OcrFailed(Exception):
    """Tesseract did not do its work, which says nothing about what the picture shows."""


class Tesseract:
    """The program with the languages it is to look for."""

    def __init__(self, program: str, languages: Sequence[str], *, turns: bool) -> None:
        self._program = program
        self._languages = "+".join(languages)
        self._mode = "1" if turns else "3"  # with or without finding out which way is up

    def read(self, picture: Picture, seconds: float) -> Sheet:
        """The words of a picture by their places; none where it shows no text.

        Raises:
            OcrFailed: the program cannot be run, ended too early or took longer than ``seconds``.
        """
        command = [self._program, "stdin", "stdout", "-l", self._languages, "--psm", self._mode]
        command += ["--dpi", str(round(picture.dpi)), "-c", "tessedit_create_tsv=1"]
        header = b"P5 %d %d 255\n" % (picture.width, picture.height)
        try:
            done = subprocess.run(
                command,
                input=header + picture.pixels,
                capture_output=True,
                check=True,
                timeout=seconds,
                # One thread a page: with more it waits for itself longer than it gains.
                env={**os.environ, "OMP_THREAD_LIMIT": "1"},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                preexec_fn=_bounded(seconds),
            )
            lines = _lines(done.stdout.decode("utf-8", "replace"))
        except (OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
            raise OcrFailed(_why(error)) from error
        return _sheet(lines, picture)


def tesseract(rules: OcrRules) -> Tesseract | None:
    """The program as the rules want it; None without it, or without any of the languages."""
    program = find() if rules.pages else None
    known = installed(program) if program else ()
    chosen = languages(known, rules.languages)
    turns = _ORIENTATION in known
    return Tesseract(program, chosen, turns=turns) if program and chosen else None


def find() -> str | None:
    """Where tesseract is, or None."""
    return paths.program("tesseract")


def state(rules: OcrRules) -> str:
    """What decides about the text of pictures; "" where there is no OCR."""
    program = find() if rules.pages else None
    chosen = languages(installed(program), rules.languages) if program else ()
    return f"{'+'.join(chosen)}, {rules.pages} pages" if chosen else ""


def languages(known: Sequence[str], wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Those of the wanted languages that are known; by default English and the first others."""
    if wanted:
        return tuple(name for name in wanted if name in known)
    others = [name for name in known if name not in _FIRST and name not in _NO_LANGUAGE]
    # Scripts and vertical writing (script/Latin, jpn_vert) repeat what languages know.
    plain = [name for name in others if "/" not in name and not name.endswith("_vert")]
    first = [name for name in _FIRST if name in known]
    return tuple([*first, *plain][:_MOST_LANGUAGES])


def installed(program: str) -> tuple[str, ...]:
    """What ``--list-langs`` tells; nothing when the program does not answer."""
    try:
        told = subprocess.run(
            [program, "--list-langs"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_SHORT,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    lines = told.stdout.decode("utf-8", "replace").splitlines()
    return tuple(line.strip() for line in lines[1:] if line.strip())


def _why(error: Exception) -> str:
    """What went wrong, without the command line that Python tells with it."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"over {error.timeout:.0f} s"
    if not isinstance(error, subprocess.CalledProcessError):
        what = "cannot be run" if isinstance(error, OSError) else "gave no table of words"
        return f"tesseract {what}: {error}"
    if error.returncode < 0:
        try:
            return f"tesseract ended by {signal.Signals(-error.returncode).name}"
        except ValueError:
            return f"tesseract ended by signal {-error.returncode}"
    told = error.stderr.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(told) if line.strip()), "")
    return f"tesseract ended with code {error.returncode}" + (f": {last[:100]}" if last else "")


def _bounded(seconds: float) -> Callable[[], None] | None:
    """Ends the program by itself, also when whoever started it was killed meanwhile."""
    try:
        import resource
    except ImportError:  # Windows: the worker's whole tree is ended there
        return None
    limit = int(seconds) + 1

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    return bound


_Box = tuple[float, float, float, float]
"""Left, top, right, bottom in dots."""


@dataclass(slots=True)
class _Line:
    """A line and the words in it: their texts, their boxes, how sure they are in percent."""

    box: _Box
    words: list[tuple[str, _Box, float]]


def _lines(table: str) -> list[_Line]:
    """The lines with words in tesseract's table, whose columns the first row names.

    Raises:
        LookupError, ValueError: it is no such table.
    """
    rows = [line.rstrip("\r").split("\t") for line in table.split("\n")]
    place = {name: index for index, name in enumerate(rows[0])}
    if "level" not in place:  # also of a page without a word
        raise ValueError("its first row is missing")
    lines: list[_Line] = []
    for row in rows[1:]:
        if len(row) != len(place) or row[place["level"]] not in ("4", "5"):
            continue
        left, top, width, height = (
            float(row[place[name]]) for name in ("left", "top", "width", "height")
        )
        box = (left, top, left + width, top + height)
        text = row[place["text"]].strip()
        if row[place["level"]] == "4":  # a line comes before its words
            lines.append(_Line(box, []))
        elif text and lines:
            lines[-1].words.append((text, box, float(row[place["conf"]])))
    return [line for line in lines if line.words]


def _turned(lines: Sequence[_Line], width: float, height: float) -> Callable[[_Box], _Box] | None:
    """How boxes are to be turned so that words follow each other to the right; None as they are.

    Tesseract reads a page that lies on its side, and tells places as they are in the picture.
    """
    across = down = 0.0
    for line in lines:
        for (_, one, _), (_, other, _) in pairwise(line.words):
            across += one[2] < other[0]
            across -= other[2] < one[0]
            down += one[3] < other[1]
            down -= other[3] < one[1]
    if abs(down) > abs(across):
        if down > 0:
            return lambda box: (box[1], width - box[2], box[3], width - box[0])
        return lambda box: (height - box[3], box[0], height - box[1], box[2])
    if across < 0:
        return lambda box: (width - box[2], height - box[3], width - box[0], height - box[1])
    return None


def _sheet(lines: Sequence[_Line], picture: Picture) -> Sheet:
    """Lines as runs, in tesseract's order, as large as lines usually are or clearly larger."""
    points = 72.0 / picture.dpi
    width, height = picture.width * points, picture.height * points
    letters = sum(len(text) for line in lines for text, *_ in line.words)
    sure = sum(len(text) * percent for line in lines for text, _, percent in line.words)
    if letters < _LETTERS or sure < _PAGE_SURE * letters:
        return Sheet((), (), width, height)
    turn = _turned(lines, picture.width, picture.height)
    if turn is not None:
        lines = [
            _Line(turn(line.box), [(text, turn(box), sure) for text, box, sure in line.words])
            for line in lines
        ]
    sizes = sorted(line.box[3] - line.box[1] for line in lines)
    usual = sizes[len(sizes) // 2]
    runs: list[Run] = []
    for line in lines:
        size = line.box[3] - line.box[1]
        # Letters with and without parts below the line differ by a fifth.
        font = Font(round((size if size > _LARGE * usual else usual) * points, 1), False, False)
        for text, left, right in _gathered(line.words, _APART * usual):
            base = line.box[3] * points
            runs.append(Run(text, left * points, right * points, base, font, len(runs)))
    return Sheet(tuple(runs), (), width, height)


def _gathered(
    words: Sequence[tuple[str, _Box, float]], gap: float
) -> Iterator[tuple[str, float, float]]:
    """(text, left, right) of words without a wider gap between them; noise is left out."""
    parts: list[str] = []
    start = end = 0.0
    for text, (left, _, right, _), sure in words:
        if sure < _SURE:
            continue
        if parts and left - end > gap:
            yield " ".join(parts), start, end
            parts = []
        if not parts:
            start = end = left
        parts.append(text)
        end = max(end, right)
    if parts:
        yield " ".join(parts), start, end
