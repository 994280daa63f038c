"""What stands where on a page, whoever read it: pdfium, or OCR."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Font:
    """How characters look. ``size`` is in points as drawn."""

    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class Run:
    """Words of one line without a wide gap between them.

    Points from the left and from the top of what is upright on the page: ``left`` and ``right``
    of the characters, ``base`` of their base line. ``order`` counts as the page draws them.
    ``broken``: the last word goes on in the next run.
    """

    text: str
    left: float
    right: float
    base: float
    font: Font
    order: int
    broken: bool = False

    @property
    def width(self) -> float:
        """In points."""
        return self.right - self.left


@dataclass(frozen=True, slots=True)
class Turned:
    """Words that do not stand upright; ``across`` is where in the width of the upright text."""

    text: str
    across: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a page holds: its upright ``runs`` as drawn, and what was ``turned`` against them.

    ``width`` and ``height`` are in points, as the upright text sees the page.
    """

    runs: tuple[Run, ...]
    turned: tuple[Turned, ...]
    width: float
    height: float
