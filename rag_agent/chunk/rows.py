"""Data: records are not cut apart, and what is nested stays with its key where it fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from rag_agent.chunk.lines import blank_line_costs
from rag_agent.chunk.outline import DATA, NEVER, Outline
from rag_agent.types import Document

_RECORD = 0.3
_KEY = 0.1
_DEEPER = 0.35  # for each level of nesting
_DEEPEST = 1.0
_NO_KEY = 0.15
_INSIDE = 1.3  # inside of a record; before a closing bracket

# Characters of a line that are looked at, so that no pattern is slow on a line of megabytes.
_LOOK = 300
_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:[#;].*)?$")
_ENTRY = re.compile(
    r"""(?:-\s+)*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"'#;{}\[\],:=][^:=]*?))\s*[:=]"""
)
_OPENS = re.compile(r"(?:[{\[(|>]|[:=])[-+]?\s*(?:[#].*)?$|[:=]\s*[\[{]\s*$")
_CLOSES = re.compile(r"\s*[}\])]")


def outline(document: Document, lines: Sequence[str]) -> Outline:
    """Tables by records, files of keys by keys, everything else by lines."""
    return _BY_LANGUAGE.get(document.language, _lines)(lines)


def _lines(lines: Sequence[str]) -> Outline:
    return Outline(costs=blank_line_costs(lines), shape=DATA)


def _table(lines: Sequence[str]) -> Outline:
    """A record may go on over lines while a quoted field is open; the heading is the header."""
    costs = []
    quoted = False
    for line in lines:
        costs.append(_INSIDE if quoted else _RECORD if line.strip() else NEVER)
        quoted ^= line.count('"') % 2 == 1
    return Outline(costs=costs, shape=DATA, sections=[(0, lines[0])])


def _records(lines: Sequence[str]) -> Outline:
    return Outline(costs=[_RECORD if line.strip() else NEVER for line in lines], shape=DATA)


def _keys(lines: Sequence[str]) -> Outline:
    """Nesting is read off the indentation, and off ``[tables]`` in TOML and INI files."""
    costs: list[float] = []
    sections: list[tuple[int, str]] = []
    after_blank = True
    above = 0
    for index, (depth, path, is_key) in enumerate(_paths(lines)):
        line = lines[index]
        if not line.strip():
            costs.append(NEVER)
        elif _CLOSES.match(line) or depth > above:
            costs.append(_INSIDE)  # a closing bracket, or the first line below a key
        else:
            cost = min(_KEY + _DEEPER * depth, _DEEPEST) + (0 if is_key else _NO_KEY)
            costs.append(cost - (_KEY if after_blank else 0))
        above = depth if line.strip() else above
        if not sections or sections[-1][1] != path:
            sections.append((index, path))
        after_blank = not line.strip()
    return Outline(costs=costs, shape=DATA, sections=sections)


def _paths(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """For each line: how deeply it lies, the keys around it, whether it begins with a key.

    The keys include the line's own if the line opens what follows.
    """
    table = ""
    open_keys: list[tuple[int, str]] = []
    for line in lines:
        text = line.lstrip()
        if not text:
            yield len(open_keys), _path(table, open_keys), False
            continue
        if (found := _TABLE.match(line[:_LOOK])) and not line.rstrip().endswith(","):
            table, open_keys = found[1], []
            yield 0, table, True
            continue
        indent = len(line) - len(text)
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        entry = _ENTRY.match(text[:_LOOK])
        depth = len(open_keys) + (1 if table else 0)
        if entry and _OPENS.search(text[-_LOOK:]):
            open_keys.append((indent, next(filter(None, entry.groups()), "")))
        yield depth, _path(table, open_keys), entry is not None


def _path(table: str, open_keys: Sequence[tuple[int, str]]) -> str:
    return " > ".join(name for name in (table, *(key for _, key in open_keys)) if name)


_BY_LANGUAGE: Mapping[str, Callable[[Sequence[str]], Outline]] = {
    "csv": _table,
    "tsv": _table,
    "jsonl": _records,
    **dict.fromkeys(("json", "jsonc", "json5", "yaml", "toml", "ini", "properties", "kdl"), _keys),
}
