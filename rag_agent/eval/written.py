"""Fitted weights as the source of ``search/weights.py``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from rag_agent.eval.fit import Table, of_both_kinds, teaching
from rag_agent.eval.judging import Judged, usable


def write_tables(hybrid: Table, words_only: Table, judged: Sequence[Judged]) -> str:
    """The module, which says of itself what its weights were ``judged`` by."""
    return "\n".join(
        [*_head(judged), *_written("HYBRID", hybrid), "", *_written("WORDS_ONLY", words_only), ""]
    )


def _head(judged: Sequence[Judged]) -> Iterator[str]:
    code, documents = (len(teaching(judged, words=True, documents=d)) for d in (False, True))
    both = len(of_both_kinds(usable(judged, words=True)))
    yield '"""The weights of the signals, fitted to labelled questions by ``rag-agent eval fit``.'
    yield ""
    yield from textwrap.wrap(
        "Of each signal: its weight in code for a short question, what a long one adds; its weight "
        "in prose. " + " ".join([_of_code(code), _of_prose(documents), _of_level(both)]) + " What "
        "is set by hand stands in ``eval/fit.py``.",
        width=100,
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from ('"""', "", "from __future__ import annotations", "")


def _of_code(questions: int) -> str:
    if not questions:
        return "Those in code are as they were before."
    return f"Those in code were taught by {questions:,} questions that code answers, among code."


def _of_prose(questions: int) -> str:
    if not questions:
        return "Those in prose are as they were before."
    return (
        f"Those in prose were taught by {questions:,} questions that documents answer, among "
        "documents; with vectors they hold to the plain blend of words and meaning."
    )


def _of_level(questions: int) -> str:
    if not questions:
        return "How high documents stand among code is as it was before."
    return (
        f"How high documents stand among code was weighed with {questions:,} questions to indexes "
        "in which code answers some and documents others."
    )


def _written(name: str, table: Table) -> Iterator[str]:
    yield f"{name}: dict[str, tuple[float, float, float]] = {{"
    for key, weights in table.items():
        if any(weights):
            yield f"    {json.dumps(key)}: ({', '.join(str(weight) for weight in weights)}),"
    yield "}"
