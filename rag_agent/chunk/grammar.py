"""Grammars: from the name of a language to a syntax tree, with nothing downloaded.

``semble_grammars`` carries the compiled grammars in its wheel and unpacks those that are used into
the user's cache folder.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import Reader, Row
from rag_agent.chunk.languages import GRAMMARS, ROWS

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Point, Tree

_log = logging.getLogger(__name__)

_MOST_BYTES = 4_000_000  # a tree takes 20 to 100 times its source in memory while it is built
# Of this thread, and more for each byte. Ordinary code takes 0.2 s a megabyte (Scala 0.4 s), while
# recovering from garbage took up to 6 s and 1.5 GB a second.
_MOST_SECONDS = 0.3
_MOST_SECONDS_A_BYTE = 3e-6
# Java's grammar took 1 GB for 10,000 brackets "<" that are never closed, and all memory at the end
# of 100,000, without asking whether to go on. Real code nests less than 100 deep.
_DEEPEST = 1_000
# Only a source that is handed over in pieces can be stopped, but the pieces are never freed
# (tree-sitter 0.26.1), and Scala's grammar goes back at every token: in pieces of 64 kB a source of
# 29 kB cost 59 MB for good. In small ones it is 1.6 times the source, for Scala 17 to 50 times.
# Sources too short to take long are handed over whole, which costs nothing.
_READ = 64  # bytes
_SHORT = 16_384  # bytes
_ERROR = 65_535  # the kind_id of tree-sitter's ERROR nodes


def parse(language: str, source: bytes, within: Node | None = None) -> Tree | None:
    """The tree of a source in UTF-8, or of the part of it that a node of another tree spans.

    None where there is no grammar, or where the source is too large or too hard to parse.
    """
    grammar = load(GRAMMARS.get(language, language))
    if grammar is None or len(source) > _MOST_BYTES or _is_too_deep(source):
        return None
    from tree_sitter import Parser

    deadline = time.thread_time() + _MOST_SECONDS + len(source) * _MOST_SECONDS_A_BYTE

    def read(offset: int, point: Point) -> bytes:
        return source[offset : offset + _READ]

    def is_too_slow(offset: int, has_error: bool) -> bool:
        return time.thread_time() > deadline

    # A parser of its own for every call: parsers hold state, grammars may be shared by threads.
    parser = Parser(grammar, included_ranges=[within.range] if within is not None else None)
    if len(source) <= _SHORT:
        return parser.parse(source)
    try:
        return parser.parse(read, progress_callback=is_too_slow)
    except ValueError:  # what a stopped parse raises
        _log.info("%d bytes of %s take too long to parse, cut by lines", len(source), language)
        return None


_BRACKETS = b"()[]{}<>;"
_NO_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))


def _is_too_deep(source: bytes) -> bool:
    """Whether brackets nest deeper than any real code, by counting them alone."""
    if sum(source.count(bracket) for bracket in (b"(", b"[", b"{", b"<")) < _DEEPEST:
        return False
    depth = angles = 0
    for bracket in source.translate(None, _NO_BRACKETS):
        if bracket in b"([":
            depth += 1
        elif bracket in b")]":
            depth = max(depth - 1, 0)
        elif bracket in b"<":
            angles += 1
        elif bracket in b">":
            angles = max(angles - 1, 0)
        else:  # type arguments hold no braces and no semicolons, comparisons end at them
            angles = 0
            depth = max(depth + (bracket in b"{") - (bracket in b"}"), 0)
        if depth > _DEEPEST or angles > _DEEPEST:
            return True
    return False


@cache
def load(grammar: str) -> Language | None:
    """A compiled grammar, or None where it is unknown or cannot be loaded on this platform."""
    try:
        from semble_grammars import (
            GrammarLoadError,
            LanguageNotFoundError,
            UnsupportedPlatformError,
            get_language,
        )
    except ImportError:
        _log.warning("semble-grammars is not installed: code is cut by lines")
        return None
    try:
        language: Language = get_language(grammar)
    except LanguageNotFoundError:
        return None
    except (GrammarLoadError, UnsupportedPlatformError, OSError, RuntimeError) as error:
        # OSError, RuntimeError: its cache folder cannot be written, or there is no home folder.
        _log.warning("no grammar for %s, it is cut by lines: %s", grammar, error)
        return None
    return language


@dataclass(frozen=True, slots=True)
class Action:
    """What the walk does with a node of one type; the fields are those of ``Row``."""

    read: Reader | None = None
    outer: bool = False
    through: bool = False
    leading: bool = False
    tail: bool = False
    embedded: str = ""


def clauses_of(language: str) -> bool:
    """Whether neighbouring definitions of one name are one definition (``Row.clauses``)."""
    row = ROWS.get(language) or ROWS.get(GRAMMARS.get(language, language))
    return row is not None and row.clauses


@cache
def actions_of(language: str) -> Mapping[int, Action]:
    """kind_id -> action, for those node types of a language's grammar that need one."""
    grammar = load(GRAMMARS.get(language, language))
    row = ROWS.get(language) or ROWS.get(GRAMMARS.get(language, language)) or Row()
    actions = {_ERROR: Action(through=True)}
    for kind_id in range(grammar.node_kind_count if grammar else 0):
        name = grammar.node_kind_for_id(kind_id) if grammar else None
        action = _action(row, name or "")
        if action != Action():
            actions[kind_id] = action
    return actions


def _action(row: Row, name: str) -> Action:
    return Action(
        read=row.readers.get(name),
        outer=name in row.outer.split(),
        through=name in row.through.split(),
        leading="comment" in name or name in row.leading.split(),
        tail=name in row.tail.split(),
        embedded=row.embedded.get(name, ""),
    )
