"""The files of an evaluation as they were written, checked value by value.

Whatever stands in them is what its reader expects, or a ``QueryError`` that names file, line and
field, and what was expected there. In optional fields null says the same as nothing.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rag_agent.errors import QueryError

LARGEST = 2**53 - 1
"""The largest whole number that every reader of JSON has exactly (RFC 8259, section 6)."""

Default = TypeVar("Default")


@dataclass(frozen=True, slots=True)
class Row:
    """An object of JSON. ``where`` is its file and line, ``within`` the way to it in that line.

    All methods raise ``QueryError`` where a field holds something else than they promise.
    """

    where: str
    fields: Mapping[str, object]
    within: str = ""

    def either(self, *fields: str) -> str:
        """The first of these fields that is there; where none is, the first of them."""
        return next((name for name in fields if self.fields.get(name) is not None), fields[0])

    def text(self, field: str, default: str | None = None) -> str:
        """The field's text; without a default it must be there."""
        value = self.fields.get(field)
        value = default if value is None else value
        if not isinstance(value, str):
            raise self.unexpected(field, "text")
        return value

    def name(self, field: str) -> str:
        """The field's text, or its whole number as text."""
        value = self.fields.get(field)
        number = _whole(value, -LARGEST, LARGEST)
        if isinstance(value, str) or number is not None:
            return str(value if number is None else number)
        raise self.unexpected(field, "text or a whole number")

    def path(self, field: str) -> str:
        """The field's name as ``plain_path`` writes it."""
        path = plain_path(self.name(field))
        if not path:
            raise self.unexpected(field, "a path")
        return path

    def flag(self, field: str, default: bool) -> bool:
        """True or false."""
        value = self.fields.get(field)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise self.unexpected(field, "true or false")
        return value

    def whole(
        self, field: str, default: Default, least: int = 0, most: int = LARGEST
    ) -> int | Default:
        """A whole number from ``least`` to ``most``; 3.0 is 3."""
        value = self.fields.get(field)
        if value is None:
            return default
        number = _whole(value, least, most)
        if number is None:
            raise self.unexpected(field, f"a whole number{_range(least, most)}")
        return number

    def number(
        self, field: str, default: Default, least: float = -LARGEST, most: float = LARGEST
    ) -> float | Default:
        """A number from ``least`` to ``most``, and so a finite one."""
        value = self.fields.get(field)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.unexpected(field, f"a number{_range(least, most)}")
        if not least <= value <= most:  # not a number is in no range
            raise self.unexpected(field, f"a number{_range(least, most)}")
        return float(value)

    def pairs(self, field: str, least: tuple[int, int]) -> list[tuple[int, int]] | None:
        """Pairs of whole numbers, neither below that of ``least``; None where there is no field."""
        value = self.fields.get(field)
        if value is None:
            return None
        pairs: list[tuple[int, int]] = []
        for item in value if isinstance(value, list) else [value]:
            both = item if isinstance(item, list) and len(item) == 2 else (None, None)
            first, second = _whole(both[0], least[0], LARGEST), _whole(both[1], least[1], LARGEST)
            if first is None or second is None:
                low, high = least
                raise self.unexpected(field, f"pairs of whole numbers, of {low} and {high} or more")
            pairs.append((first, second))
        return pairs

    def each(self, field: str) -> list[Row]:
        """The objects of a list; none where there is no such field."""
        value = self.fields.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.unexpected(field, "a list of objects")
        return [
            as_row(item, self.where, f"{self.within}{field}[{number}]")
            for number, item in enumerate(value)
        ]

    def row(self, field: str) -> Row:
        """The object in the field; one without fields where it is not there."""
        value = self.fields.get(field)
        return as_row({} if value is None else value, self.where, f"{self.within}{field}")

    def unexpected(self, field: str, expected: str) -> QueryError:
        """The error that the field is not what it should be."""
        value = self.fields.get(field)
        found = "there is none" if value is None else f"not {reprlib.repr(value)}"
        return QueryError(f"{self.where}: expected {self.within}{field} to be {expected}, {found}")


def plain_path(path: str) -> str:
    r"""The path with ``/`` where it has ``\``, and no ``./`` in front: tools differ in these."""
    path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path


def as_row(value: object, where: str, within: str = "") -> Row:
    """The value as a row.

    Raises:
        QueryError: it is no object.
    """
    if isinstance(value, dict):
        return Row(where, value, f"{within}." if within else "")
    named = f"{within} to be " if within else ""
    raise QueryError(f"{where}: expected {named}an object, not {reprlib.repr(value)}")


def read_text(path: Path, what: str) -> str:
    """The text of a file, ``what`` says of which.

    Raises:
        QueryError: it is missing or cannot be read; names it.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise QueryError(f"there is no file {path}; name one with {what}") from error
    except (OSError, ValueError) as error:  # not UTF-8; a name that cannot be one
        raise QueryError(f"cannot read {path}: {error}; expected {what}") from error


def numbered(path: Path, what: str) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not blank, each after its ``path:line``.

    Raises:
        QueryError: as ``read_text``.
    """
    # Not splitlines(): JSON strings may hold U+2028 and the like unescaped.
    for number, line in enumerate(read_text(path, what).split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", line


def json_rows(path: Path, what: str) -> Iterator[Row]:
    """The object of each line.

    Raises:
        QueryError: as ``read_text``; a line is no object.
    """
    return (as_row(parse(line, where), where) for where, line in numbered(path, what))


def parse(text: str, where: str) -> object:
    """The value that is written in JSON.

    Raises:
        QueryError: it is none, or one that cannot be held (nested too deep, of too many digits).
    """
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise QueryError(f"{where}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise QueryError(f"{where}: this JSON cannot be read ({error})") from error
    return value


def _whole(value: object, least: int, most: int) -> int | None:
    """The whole number that the value is, None if it is none or out of range."""
    if type(value) is int:  # and not a bool, which is one too
        return value if least <= value <= most else None
    if isinstance(value, float) and least <= value <= most and value.is_integer():
        return int(value)
    return None


def _range(least: float, most: float) -> str:
    low = "" if least <= -LARGEST else f"{least:,}"
    high = "" if most >= LARGEST else f"{most:,}"
    if low and high:
        return f" from {low} to {high}"
    return f" of {low} or more" if low else f" of at most {high}" if high else ""
