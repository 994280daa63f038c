"""An answer as a reader takes it in: after how many tokens he has met which file and which line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rag_agent.context.lines import COPIES_NAMED
from rag_agent.context.render import Answer, answer
from rag_agent.tokens import estimate_tokens
from rag_agent.types import SearchResults

ASKED_FOR = 8000
"""More tokens than the default answer ever has: whoever has them asks for an answer as long."""


@dataclass(slots=True)
class Met:
    """Of one file the tokens after which its place, and each of its lines, has been read."""

    named: int | None = None
    lines: dict[int, int] = field(default_factory=dict)


def reading(results: SearchResults) -> dict[str, Met]:
    """By path what is met in the answer to a call of ``rag_query``.

    Of the default answer at the token where the line ends; what only an answer of ``ASKED_FOR``
    tokens says is met there, for that one is asked for after the other was not enough.
    """
    met: dict[str, Met] = {}
    for path, line, tokens in _read(answer(results)):
        _meet(met.setdefault(path, Met()), line, tokens)
    for path, line, _ in _read(answer(results, ASKED_FOR)):
        _meet(met.setdefault(path, Met()), line, ASKED_FOR)
    return met


def _meet(file: Met, line: int, tokens: int) -> None:
    """What was met before stays met there."""
    if line:
        file.lines.setdefault(line, tokens)
    elif file.named is None:
        file.named = tokens


def _read(said: Answer) -> Iterator[tuple[str, int, int]]:
    """Path, line (0 for the place) and tokens so far, of each line that tells of a file."""
    lines = said.text.split("\n")
    number, end = said.before, len("\n".join(lines[: said.before]))
    for hit, shown in said.shown:
        copies = hit.copies[:COPIES_NAMED]
        # The first place that is named is the hit's, the second that of its copies.
        names = iter([(hit.path,), copies])
        for line in shown:
            end += 1 + len(lines[number])
            number += 1
            if line is None:
                continue
            paths = (hit.path, *copies) if line else next(names)
            tokens = estimate_tokens(said.text[:end])
            yield from ((path, line, tokens) for path in paths)
