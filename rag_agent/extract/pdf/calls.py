"""What of pdfium is called for every word, without what ctypes does for safety each time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Calls:
    """Functions of pdfium that take addresses as numbers: a third faster than by their types."""

    box: Callable[[Any, int, int], int]
    text_object: Callable[[Any, int], int | None]
    unicode: Callable[[Any, int], int]
    matrix: Callable[[Any, int, int], int]
    size: Callable[[Any, int], float]
    font: Callable[[Any], int | None]
    font_info: Callable[[Any, int, int, int, int], int]


@cache
def load() -> Calls:
    """The functions, found once."""
    from pypdfium2 import raw

    pointer, number = ctypes.c_void_p, ctypes.c_int

    def call(function: Any, result: Any, *arguments: Any) -> Any:
        address = ctypes.cast(function, pointer).value or 0
        return ctypes.PYFUNCTYPE(result, *arguments)(address)

    return Calls(
        box=call(raw.FPDFText_GetLooseCharBox, number, pointer, number, pointer),
        text_object=call(raw.FPDFText_GetTextObject, pointer, pointer, number),
        unicode=call(raw.FPDFText_GetUnicode, ctypes.c_uint, pointer, number),
        matrix=call(raw.FPDFText_GetMatrix, number, pointer, number, pointer),
        size=call(raw.FPDFText_GetFontSize, ctypes.c_double, pointer, number),
        font=call(raw.FPDFTextObj_GetFont, pointer, pointer),
        font_info=call(
            raw.FPDFText_GetFontInfo,
            ctypes.c_ulong,
            pointer,
            number,
            pointer,
            ctypes.c_ulong,
            pointer,
        ),
    )
