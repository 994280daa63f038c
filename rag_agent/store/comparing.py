"""Values that filters compare: days, years and pages, written alone, compared or as a range.

Every value stands for a span: ``2026`` for the days of a year, ``3-5`` for three pages. A span is
half open, ``[first, end)``; None is no bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import TypeVar

from rag_agent.errors import QueryError

T = TypeVar("T", int, str)
Span = tuple[T | None, T | None]

_COMPARISON = re.compile(r"([<>]=?)\s*(.*)", re.DOTALL)
_RELATIVE = re.compile(r"(\d{1,4})([dwmy])")
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_BEYOND = "9999-99-99"  # after the last day there is
_FIRST_PAGE = 1


def is_comparison(value: str) -> bool:
    """Whether a value bounds instead of naming what is wanted."""
    return value[:1] in ("<", ">")


def days(field: str, value: str, example: str) -> Span[str]:
    """ISO days of ``2026``, ``>=2026-01``, ``2025-06..2025-09``, ``>7d``.

    Raises:
        QueryError: no date, or a range that ends before it begins.
    """
    return _span(field, value, _read_days, "date", example)


def years(field: str, value: str, example: str) -> Span[int]:
    """Years of ``2020``, ``>=2020``, ``2019..2021``, ``2019-2021``; raises ``QueryError``."""
    return _span(field, _dashed(value), _read_year, "year", example)


def pages(field: str, value: str, example: str) -> Span[int]:
    """Pages of ``3``, ``3-5``, ``>=3``; raises ``QueryError``."""
    return _span(field, _dashed(value), _read_page, "page", example)


def _span(
    field: str,
    value: str,
    read: Callable[[str], tuple[T, T] | None],
    noun: str,
    example: str,
) -> Span[T]:
    def read_one(text: str) -> tuple[T, T]:
        found = read(text.strip())
        if found is None:
            raise QueryError(
                f"{field}:{value} is not understood: {text.strip()[:40]!r} is no {noun}; "
                f"write it as {example}"
            )
        return found

    if compared := _COMPARISON.fullmatch(value):
        first, end = read_one(compared[2])
        return {
            ">": (end, None),
            ">=": (first, None),
            "<": (None, first),
            "<=": (None, end),
        }[compared[1]]
    first_text, dots, last_text = value.partition("..")
    if not dots:
        return read_one(value)
    if not first_text.strip() and not last_text.strip():
        read_one("")
    low = read_one(first_text)[0] if first_text.strip() else None
    high = read_one(last_text)[1] if last_text.strip() else None
    if low is not None and high is not None and high <= low:
        raise QueryError(f"{field}:{value} ends before it begins; write it as {example}")
    return low, high


def _dashed(value: str) -> str:
    """``3-5`` as ``3..5``; of days the dash is a part."""
    return re.sub(r"^(\d+)-(\d+)$", r"\1..\2", value)


def _read_year(text: str) -> tuple[int, int] | None:
    return (int(text), int(text) + 1) if re.fullmatch("[0-9]{4}", text) else None


def _read_page(text: str) -> tuple[int, int] | None:
    if not re.fullmatch("[0-9]{1,6}", text) or int(text) < _FIRST_PAGE:
        return None
    return int(text), int(text) + 1


def _read_days(text: str) -> tuple[str, str] | None:
    text = text.lower()
    if text in ("today", "yesterday"):
        text = "0d" if text == "today" else "1d"
    if relative := _RELATIVE.fullmatch(text):
        return _of_day(_ago(int(relative[1]), relative[2]))
    found = _DATE.fullmatch(text)
    if not found or not text.isascii():
        return None
    year, month, day = (int(part) if part else 0 for part in found.groups())
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    if day:
        return _of_day(first)
    following = (year + 1, 1) if not month or month == 12 else (year, month + 1)
    if following[0] > date.max.year:
        return first.isoformat(), _BEYOND
    return first.isoformat(), date(*following, 1).isoformat()


def _of_day(day: date) -> tuple[str, str]:
    if day == date.max:
        return day.isoformat(), _BEYOND
    return day.isoformat(), (day + timedelta(days=1)).isoformat()


def _ago(count: int, unit: str) -> date:
    """So many days, weeks, months or years before today; UTC, as the days of files are."""
    today = datetime.now(timezone.utc).date()
    if unit in "dw":
        days_before = count * (7 if unit == "w" else 1)
        return date.fromordinal(max(today.toordinal() - days_before, 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
    year, month = max(months // 12, 1), months % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, min(today.day, (following - timedelta(days=1)).day))
