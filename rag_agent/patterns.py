"""Patterns in the syntax of .gitignore, matched one folder entry at a time, as git does it.

pathspec translates each line; where it departs from git, so do we. It answers for whole paths,
and so also for what lies below a match, and tries every pattern on each. A walk asks about every
entry on its way down, so a pattern here answers for that entry alone, and only those are tried
whose last name or extension is that of the entry.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_log = logging.getLogger(__name__)

_NOTHING = re.compile(r"(?!)")
_WILDCARD = re.compile(r"[*?[\]\\]")
# How pathspec writes a star, and "/**" within a pattern.
_STAR = "[^/]*"
_STARS = re.compile(rf"(?:{re.escape(_STAR)}){{2,}}")
_ANY_FOLDERS = "(?:/.+)?"


@dataclass(frozen=True)
class Pattern:
    """One line of an ignore file, ``order`` lines below the first; compiled when first tried."""

    text: str
    order: int
    negated: bool
    expression: str
    ignore_case: bool

    @property
    def names_something(self) -> bool:
        """False for ``*``, ``*/``, ``/**`` and the like, which stand for everything."""
        return bool(self.text.strip("!*/ "))

    @cached_property
    def parts(self) -> Sequence[str]:
        """What stands between the slashes; the first is empty where a slash comes first."""
        return self.text.removeprefix("!").removesuffix("/").split("/")

    def matches(self, path: str, name: str, folder: bool) -> bool:
        """Whether this entry is what the pattern describes; ``name`` is the end of ``path``."""
        asked = name if self._in_any_folder else path
        return self._match(f"{asked}/" if folder and self._marked else asked) is not None

    @cached_property
    def _in_any_folder(self) -> bool:
        return len(self.parts) == 1

    @cached_property
    def _marked(self) -> bool:
        """Whether a match ends at a mark or at the end, rather than somewhere in a folder.

        At the end of the path the mark belongs to the entry, elsewhere to a folder above it.
        """
        return "(?P<ps_d>/)" in self.expression

    @cached_property
    def _match(self) -> Callable[[str], re.Match[str] | None]:
        expression = _without_backtracking(self.expression)
        if self._marked:  # [!a] would match the slash at the end, too
            expression += r"(?(ps_d)|(?<!/))\Z"
        flags = re.DOTALL | (re.IGNORECASE if self.ignore_case else 0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of "[[", a set in a set some day
                compiled = re.compile(expression, flags)
        except re.error as error:  # [b-a]
            _log.debug("%s matches nothing: %s", self.text, error)
            compiled = _NOTHING
        return compiled.match if expression.startswith("^") else compiled.search


class Patterns:
    """The patterns of one file; the last one that matches an entry decides."""

    def __init__(self, lines: Iterable[str], *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        parsed = (_parse(line, order, ignore_case) for order, line in enumerate(lines))
        self.all: Sequence[Pattern] = [pattern for pattern in parsed if pattern is not None]
        # Latest first, by what the last part of an entry's path must be, or its extension.
        self._by_name: defaultdict[str, list[Pattern]] = defaultdict(list)
        self._by_extension: defaultdict[str, list[Pattern]] = defaultdict(list)
        self._others: list[Pattern] = []
        for pattern in reversed(self.all):
            name = self._cased(pattern.parts[-1])
            _, dot, extension = name.rpartition(".")
            if not _WILDCARD.search(name):
                self._by_name[name].append(pattern)
            elif dot and not _WILDCARD.search(extension):
                self._by_extension[dot + extension].append(pattern)
            else:
                self._others.append(pattern)

    def __bool__(self) -> bool:
        return bool(self.all)

    def last(self, path: str, name: str, folder: bool) -> Pattern | None:
        """The pattern that decides about the entry, or None when none matches.

        ``path`` is POSIX, relative to the folder of the ignore file; ``name`` is its last part.
        """
        name = self._cased(name)
        found: Pattern | None = None
        for patterns in (
            self._by_name.get(name, ()),
            self._by_extension.get(name[name.rfind(".") :], ()),
            self._others,
        ):
            for pattern in patterns:
                if found is not None and pattern.order < found.order:
                    break
                if pattern.matches(path, name, folder):
                    found = pattern
                    break
        return found

    def reaching_below(self, path: str) -> bool:
        """Whether a ``!pattern`` names a way down to something inside this folder.

        ``!build/api/*.py`` does for ``build``; ``!*.py`` and ``!**/api`` name no way.
        """
        return self._ways.last(path, path[path.rfind("/") + 1 :], folder=True) is not None

    @cached_property
    def _ways(self) -> Patterns:
        """The folders on the way to what the negated patterns name."""
        negated = (pattern for pattern in self.all if pattern.negated)
        return Patterns(
            (way for pattern in negated for way in _ways_to(pattern)),
            ignore_case=self._ignore_case,
        )

    def _cased(self, name: str) -> str:
        return name.lower() if self._ignore_case else name


def lines_of(data: bytes) -> list[str]:
    """The lines of an ignore file; names that are not UTF-8 are kept as file names hold them."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _parse(line: str, order: int, ignore_case: bool) -> Pattern | None:
    text = line if line.endswith("\\ ") else line.rstrip()
    try:
        expression, include = GitIgnoreSpecPattern.pattern_to_regex(text)
    except GitIgnorePatternError as error:
        _log.debug("no pattern: %s", error)
        return None
    if expression is None:
        return None  # blank, a comment, or a class that is never closed
    return Pattern(text, order, not include, expression, ignore_case)


def _ways_to(pattern: Pattern) -> Iterator[str]:
    """``/a/`` and ``/a/b/`` for ``a/b/c``; all below ``/a/`` for ``a/**/c``; none for ``c``."""
    parts = pattern.parts if pattern.parts[0] else pattern.parts[1:]
    if len(pattern.parts) == 1 or parts[0] == "**":
        return
    way = ""
    for number, part in enumerate(parts, start=1):
        way += f"/{part}"
        if part == "**":
            yield way
            return
        if number < len(parts):
            yield f"{way}/"


def _without_backtracking(expression: str) -> str:
    """The same, but a pattern of many stars costs no more than its length times the path's.

    A wildcard with another one after it may end where its rest first fits, and need never be
    tried longer; a lookahead, once left, is not entered again. Stars in a row say no more than
    one. Patterns come with the trees of others.
    """
    head, *rest = _STARS.sub(lambda run: _STAR, expression).split(_ANY_FOLDERS)
    for number, piece in enumerate(rest, start=1):
        first = f"(?=(?P<folders{number}>(?:/.+?)??{piece}(?=/)))(?P=folders{number})"
        head += first if number < len(rest) else _ANY_FOLDERS + piece
    head, *rest = head.split(_STAR)
    pieces = [head]
    for number, piece in enumerate(rest):
        last = number == len(rest) - 1 or "/" in piece.replace("[^/]", "")  # of its name
        first = f"(?=(?P<star{number}>[^/]*?{piece}))(?P=star{number})"
        pieces.append(_STAR + piece if last else first)
    return "".join(pieces)
