"""The verb that answers with what is near a document."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import TYPE_CHECKING

from rag_agent.commands.data import related_data
from rag_agent.commands.layout import counted, one_line, styled
from rag_agent.commands.registry import Argument, Opener, Result, verb
from rag_agent.commands.searching import whole_number
from rag_agent.errors import NOTHING_INDEXED
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.types import Hit, Neighbour, Related

_DEEPEST = 10
_PLACE = re.compile(r"(.+?):(\d+)(?:-\d+)?", re.DOTALL)  # as hits are written: path:12-40
_MOST_DEAD = 10


@verb(
    "related",
    "show what a document links to, what links to it, and what is like it",
    Argument("path", "an indexed file, with :LINE what is like that place of it",
             "PATH[:LINE]", values="document"),
    Argument("--depth", "links to follow, 1 to 10 (default: 1)", "N",
             type=whole_number(1, _DEEPEST), default=1),
    Argument("--limit", "linked documents and similar files to show, each (default: 10)", "N",
             type=whole_number(1, 10_000), default=10),
    detail="Links are [[wiki links]] and links to files, forward and back, each document once.",
)  # fmt: skip
def related(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Neighbours by link and by meaning."""
    place = _PLACE.fullmatch(arguments.path)
    path, line = (place[1], int(place[2])) if place else (arguments.path, None)
    with open_index() as opened:
        if not opened.status().documents:
            return Result({"path": path, "links": [], "similar": []}, "", NOTHING_INDEXED)
        found = opened.related(path, line, depth=arguments.depth, limit=arguments.limit)
    return Result(related_data(found), _text(found))


def _text(found: Related) -> str:
    place = found.path if found.line is None else f"{found.path}:{found.line}"
    return "\n\n".join(
        "\n".join(lines)
        for lines in (
            [styled(one_line(place), "bold")],
            _links(found),
            _dead(found),
            _similar(found),
            [styled(f"note: {one_line(note)}", "yellow") for note in found.notes],
        )
        if lines
    )


def _links(found: Related) -> list[str]:
    if not found.links:
        return ["no links to or from other documents"]
    head = f"{counted(found.linked, 'document')} by links"
    if found.linked > len(found.links):
        head += f", {len(found.links)} shown (--limit)"
    return [head, *(_link(one, found) for one in found.links)]


def _link(one: Neighbour, found: Related) -> str:
    arrow = {(True, True): "↔", (True, False): "→"}.get((one.forward, one.back), "←")
    line = f"  {one.depth} {arrow} {styled(one_line(one.path), 'cyan')}"
    if one.title:
        line += f"  {one_line(one.title)}"
    via = "" if one.via == found.path else f", by way of {one_line(one.via)}"
    line += styled(f"  (line {one.line} of {_holder(one)}{via})", "dim")
    return f"{line}\n      {styled(one_line(one.address), 'dim')}" if one.address else line


def _holder(one: Neighbour) -> str:
    """In which of the two documents the link stands."""
    return one_line(one.via if one.forward else one.path)


def _dead(found: Related) -> list[str]:
    if not found.dead:
        return []
    shown = [f"  line {link.line}: {one_line(link.target)}" for link in found.dead[:_MOST_DEAD]]
    left = len(found.dead) - len(shown)
    more = [f"  and {left} more"] if left else []
    return [f"{counted(len(found.dead), 'link')} to nothing that is indexed", *shown, *more]


def _similar(found: Related) -> list[str]:
    if not found.similar:
        return []
    return [
        "near in meaning" if found.mode == "hybrid" else "near in words",
        *(_similar_line(hit) for hit in found.similar),
    ]


def _similar_line(hit: Hit) -> str:
    place = f"{one_line(hit.path)}:{hit.chunk.start}-{hit.chunk.end}"
    line = f"  {styled(place, 'cyan')}  score={hit.score:.2f}"
    if hit.chunk.heading:
        line += f"  {styled(one_line(hit.chunk.heading), 'dim')}"
    return f"{line}\n      {styled(one_line(hit.address), 'dim')}" if hit.address else line
