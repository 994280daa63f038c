"""Why a hit stands where it stands, in words."""

from __future__ import annotations

from collections.abc import Mapping

from rag_agent.search.lexical import path_words
from rag_agent.search.rerank import SIGNAL as RERANKER
from rag_agent.search.signals import PARTS
from rag_agent.tokens import query_words, runs, split_identifier, stems, words
from rag_agent.types import Hit

_PHRASES = {
    **PARTS,
    RERANKER: "the reranker, which read it together with the question, moved it",
}
_LEAST = 0.005  # of a score; less is written as nothing
_MOST_WORDS = 12  # of a question that are listed; a pasted log has hundreds
_MOST_NAMES = 3


def explain(hit: Hit, query: str = "", above: Hit | None = None) -> list[str]:
    """Sentences for people: what the score is made of, weightiest first, then what was found.

    With the ``query``: which of its words are in what is shown of the file, or in its path, which
    are not, and which defined names have them. With the hit ``above`` it: how far behind it is,
    and what makes most of that.
    """
    parts = sorted(hit.signals.items(), key=lambda part: -abs(part[1]))
    lines = [f"{value:+.2f}  {_phrase(name)}" for name, value in parts if abs(value) >= _LEAST]
    if above is not None:
        lines.append(_behind(hit, above))
    if query:
        lines += _found(hit, query)
    share = f"{hit.evidence.coverage:.0%} of the question's informative words are in the file"
    if hit.evidence.cosine is None:
        return [*lines, f"evidence: {share}; no vectors to compare"]
    return [*lines, f"evidence: {share}; cosine {hit.evidence.cosine:.2f}"]


def _phrase(name: str) -> str:
    return _PHRASES.get(name, name)


def _behind(hit: Hit, above: Hit) -> str:
    """How far a hit is behind the one above it, and which signal makes most of that."""
    gap = above.score - hit.score
    if gap < _LEAST:
        return "as good as the hit above it"
    lacks = {
        name: above.signals.get(name, 0.0) - hit.signals.get(name, 0.0)
        for name in {**above.signals, **hit.signals}
    }
    name = max(lacks, key=lambda name: lacks[name], default="")
    behind = f"{gap:.2f} behind the hit above it"
    if not name or lacks[name] < _LEAST:
        return behind
    here, there = hit.signals.get(name, 0.0), above.signals.get(name, 0.0)
    return f"{behind}, mostly by this: {_phrase(name)} ({here:+.2f} here, {there:+.2f} there)"


def _found(hit: Hit, query: str) -> list[str]:
    """Which words of the question are in the hit, which are not, and in which names."""
    written = _written(query)
    chunks = (hit.chunk, *hit.more)
    inside = {stem for chunk in chunks for stem in words(chunk.text)}
    inside.update(path_words(hit.path))
    there = [word for stem, word in written.items() if stem in inside]
    missing = [word for stem, word in written.items() if stem not in inside]
    lines = []
    if hit.exact:
        places = ", ".join(map(str, hit.exact))
        lines.append(f"has it as it is written in line{'s' * (len(hit.exact) > 1)} {places}")
    if there:
        lines.append(f"words found in what is shown, or in the path: {_listed(there)}")
    if missing:
        lines.append(f"words not found there: {_listed(missing)}")
    names = _names(hit, written)
    if names:
        lines.append(f"defines {', '.join(names)}")
    return lines


def _written(query: str) -> dict[str, str]:
    """The words of a question by their stem, as they were written there."""
    told = query_words(query)
    written: dict[str, str] = {}
    for run in runs(query):
        found = stems(run)
        # Of a name of several parts the first stem is the whole of it.
        parts = split_identifier(run)
        names = [run, *parts] if len(found) == len(parts) + 1 else [run] * len(found)
        for stem, name in zip(found, names, strict=True):
            if stem in told:
                written.setdefault(stem, name)
    return written


def _names(hit: Hit, written: Mapping[str, str]) -> list[str]:
    """The defined names that share most words with the question, with these."""
    found: dict[str, tuple[float, list[str]]] = {}
    for chunk in (hit.chunk, *hit.more):
        for definition in chunk.definitions:
            own = words(definition.name)
            shared = [written[stem] for stem in dict.fromkeys(own) if stem in written]
            if shared:
                found.setdefault(definition.name, (len(shared) / len(set(own)), shared))
    best = sorted(found, key=lambda name: (-len(found[name][1]), -found[name][0], name))
    return [
        name if found[name][0] == 1 else f"{name} (has {_listed(found[name][1])})"
        for name in best[:_MOST_NAMES]
    ]


def _listed(found: list[str]) -> str:
    found = list(dict.fromkeys(found))
    more = len(found) - _MOST_WORDS
    listed = ", ".join(found[:_MOST_WORDS])
    return f"{listed} and {more} more" if more > 0 else listed
