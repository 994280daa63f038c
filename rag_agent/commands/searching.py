"""Verbs that answer from the index."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_agent.commands.data import hit_data, search_data
from rag_agent.commands.layout import counted, one_line, preview, styled
from rag_agent.commands.registry import Argument, Opener, Result, verb
from rag_agent.errors import NOTHING_INDEXED
from rag_agent.progress import Report
from rag_agent.store.grammar import GRAMMAR

if TYPE_CHECKING:
    from rag_agent.types import Hit, SearchResults


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """A parser of numbers within bounds, for options."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r} is not a whole number") from error
        if not lowest <= value <= highest:
            raise ArgumentTypeError(f"{value} is not between {lowest:,} and {highest:,}")
        return value

    return number


@verb(
    "search",
    "find the files and lines that answer a question",
    Argument("query", "a question in plain words, or names from the code", many="+"),
    Argument("--limit", "files to show (default: 10)", "N", type=whole_number(1, 1000), default=10),
    Argument("--where", f"narrow: {GRAMMAR}", "FILTER", default="", dashes=True),
    Argument("--explain", "say why each hit stands where it stands"),
    detail="Words and meaning count together; a hit is a file with its best passage.",
)  # fmt: skip
def search(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Hybrid search."""
    from rag_agent.context import NOTHING_SURE, is_sure

    with open_index() as opened:
        found = opened.search(
            " ".join(arguments.query), limit=arguments.limit, where=arguments.where
        )
    if found.hits and not any(map(is_sure, found.hits)):
        found = replace(found, notes=(*found.notes, NOTHING_SURE))
    data = search_data(found)
    if found.nothing_indexed:
        return Result(data, "", found.notes[0])
    return Result(data, _search_text(found, arguments.explain))


@verb(
    "find",
    "list indexed files that match a pattern",
    Argument("glob", "a pattern such as 'src/*.py', or a part of the path", values="document"),
)
def find(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Indexed files by path."""
    with open_index() as opened:
        shown = [
            {
                "path": opened.shown_path(document),
                "kind": document.kind,
                "language": document.language,
                "chunks": document.chunks,
                "size": document.source.size,
            }
            for document in opened.find(arguments.glob)
        ]
        empty = not shown and not opened.status().documents
    if empty:
        return Result({"glob": arguments.glob, "files": []}, "", NOTHING_INDEXED)
    text = "\n".join(one_line(str(row["path"])) for row in shown)
    return Result(
        {"glob": arguments.glob, "files": shown},
        text or f"no indexed file matches {one_line(arguments.glob)}",
    )


@verb(
    "context",
    "show what would be injected for a prompt, and why",
    Argument("prompt", "the prompt as it would be typed", many="+"),
    Argument("--budget", "the most tokens to inject (default: ragTokenBudget)", "TOKENS",
             type=whole_number(1, 1_000_000)),
)  # fmt: skip
def context(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """What automatic injection would do."""
    with open_index() as opened:
        made = opened.context(" ".join(arguments.prompt), budget=arguments.budget)
        empty = not made.hits and not opened.status().documents
    reasons = "\n".join(styled(f"· {one_line(reason)}", "dim") for reason in made.reasons)
    head = f"{counted(made.tokens, 'token')} would be injected" if made.text else "nothing injected"
    data = {
        "prompt": " ".join(arguments.prompt),
        "text": made.text,
        "tokens": made.tokens,
        "hits": [hit_data(hit) for hit in made.hits],
        "reasons": list(made.reasons),
    }
    if empty:
        return Result(data, "", NOTHING_INDEXED)
    return Result(data, "\n\n".join(part for part in (made.text, f"{head}\n{reasons}") if part))


def _search_text(found: SearchResults, explained: bool) -> str:
    from rag_agent import tokens

    words = tokens.query_words(found.query)
    blocks = [_hit_text(hit, words) for hit in found.hits]
    if explained:
        blocks = [
            f"{block}\n{_explained(hit, found.query, above)}"
            for block, hit, above in zip(blocks, found.hits, (None, *found.hits), strict=False)
        ]
    if not blocks:
        blocks.append("no hits")
    notes = [styled(f"note: {one_line(note)}", "yellow") for note in found.notes]
    summary = styled(
        f"{counted(len(found.hits), 'file')} · {found.mode} · {found.took_ms:.0f} ms", "dim"
    )
    return "\n\n".join([*blocks, "\n".join([*notes, summary])])


def _hit_text(hit: Hit, words: Mapping[str, float]) -> str:
    from rag_agent.context import heading_of
    from rag_agent.context.lines import listed_copies

    place = f"{one_line(hit.path)}:{hit.chunk.start}-{hit.chunk.end}"
    head = f"{styled(place, 'cyan', 'bold')}  score={hit.score:.2f}"
    best = hit.chunk
    shown = preview(
        best.text,
        words,
        definitions=best.definitions,
        start=best.start,
        given=hit.wanted,
    )
    # Of the lines below it, which the chunk may hold among other things.
    heading = heading_of(best, min(shown, default=best.start), max(shown, default=best.end), words)
    if heading:
        head += f"  {styled(one_line(heading), 'dim')}"
    lines = [head, *(f"    {line}" for line in shown.values())]
    if hit.more:
        places = ", ".join(f"{chunk.start}-{chunk.end}" for chunk in hit.more)
        lines.append(styled(f"    also lines {places}", "dim"))
    if hit.address:
        lines.append(styled(f"    {one_line(hit.address)}", "dim"))
    if hit.copies:
        lines.append(styled(f"    same as {one_line(listed_copies(hit.copies))}", "dim"))
    if hit.converted:
        lines.append(styled("    (lines of the converted text)", "dim"))
    if hit.stale:
        lines.append(styled("    (changed since it was indexed)", "yellow"))
    return "\n".join(lines)


def _explained(hit: Hit, query: str, above: Hit | None) -> str:
    from rag_agent.search import explain

    return "\n".join(styled(f"    {one_line(line)}", "dim") for line in explain(hit, query, above))
