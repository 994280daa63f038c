"""Whether a prompt asks for anything, and whether a hit is sure enough to be put before a model.

What orders hits says nothing about whether any of them answers: the best of a bad list has a high
score too. So this looks at raw evidence, on scales that do not depend on the other hits.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from rag_agent.tokens import STOP_WORDS, query_words, words
from rag_agent.types import Evidence, Hit

SURE = 0.1
"""The certainty from which on a hit is likely to answer: the default of ragScoreThreshold."""
NOTHING_SURE = "nothing here is a sure match for the question."
"""What to tell whoever asked, when no hit ``is_sure``."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to inject a hit, how sure it is in [0, 1], and how that compares, in words."""

    hit: Hit
    inject: bool
    certainty: float
    reason: str


def silence(prompt: str) -> str | None:
    """Why this prompt needs no search, or None if it may be a question about the project."""
    text = prompt.strip()
    if not text:
        return "the prompt is empty"
    if _COMMAND.match(text):
        return "the prompt is a command of the host"
    informative = set(query_words(text))
    if not informative or informative <= STOP_STEMS:
        return "the prompt asks for nothing that could be looked up"
    if len(text) <= _LONGEST_TURN and informative <= _TURN_STEMS and not _QUESTION.search(text):
        return "the prompt is a turn of the conversation, not a question"
    return None


def decide(hit: Hit, threshold: float) -> Decision:
    """Judge one hit by its evidence against the least certainty asked for."""
    sure = certainty(hit.evidence)
    inject = sure >= threshold
    sign = "≥" if inject else "<"
    return Decision(hit, inject, sure, f"certainty {sure:.2f} {sign} {threshold:.2f}")


def is_sure(hit: Hit) -> bool:
    """Whether a hit is likely to answer, for those who show hits that were asked for.

    Without vectors a hit with most of the question's words is sure, too: BM25, on which certainty
    then rests, is low in every small index, and to call an answer unsure should not be an error.
    """
    evidence = hit.evidence
    by_words = evidence.cosine is None and evidence.coverage >= _MOST_WORDS
    return by_words or certainty(evidence) >= SURE


def certainty(evidence: Evidence) -> float:
    """How likely it is that the hit answers, in [0, 1]; ``SURE`` is where to draw the line.

    A logistic model of cosine, coverage and BM25 (its logarithm, since it has no upper end).
    """
    bm25 = math.log1p(max(0.0, evidence.bm25))
    if evidence.cosine is None:
        weights = _WORDS_ONLY
        z = weights.bias + weights.coverage * evidence.coverage + weights.bm25 * bm25
    else:
        weights = _HYBRID
        z = (
            weights.bias
            + weights.cosine * evidence.cosine
            + weights.coverage * evidence.coverage
            + weights.bm25 * bm25
        )
    return 1 / (1 + math.exp(-z))


@dataclass(frozen=True, slots=True)
class _Weights:
    bias: float
    cosine: float
    coverage: float
    bm25: float


# Fitted to the first hits of 417 real questions, 450 of other projects and 324 turns of a chat, on
# 15 repositories and three sets of documents with the packaged model (another one has cosines of
# other heights). The bias puts the line at 0.1, the default of ragScoreThreshold: there 90 % of the
# real questions keep a hit, 7 % of the foreign ones and 2 % of the turns get one (each repository
# left out of its own fit: 8 % and 4 %).
_HYBRID = _Weights(bias=-14.5, cosine=18.5, coverage=3.8, bm25=0.9)
# Words alone separate less, and a wrong hit disturbs more than a missing one helps: 70 % of the
# real questions keep a hit, 9 % of the foreign ones and 11 % of the turns get one.
_WORDS_ONLY = _Weights(bias=-11.1, cosine=0.0, coverage=3.3, bm25=2.5)

_MOST_WORDS = 0.75  # of the question, by weight
# "/compact", "!git status", "#note": not "/usr/lib is full".
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)|[!#](?=\S)")
_QUESTION = re.compile(r"\b(?:how|where|what|why|which|who|when)\b.*\w+\s+\w+", re.IGNORECASE)
_LONGEST_TURN = 120  # characters; whoever writes more says what it is about
STOP_STEMS = frozenset(stem for word in STOP_WORDS for stem in words(word))
# What people say to an agent between questions, beyond the stop words.
_TURN_STEMS = STOP_STEMS | frozenset(
    words(
        """
        accept actually agreed alright amazing apply approved awesome back better bit brilliant
        build carry change check clean commit compile complete continue cool correct create
        delete deploy different edit exactly excellent execute fail failing failed fine finish
        first fix forget format forward git good great green hello help hey hi idea implement
        install instead keep last later leave lgtm lint looks looking love merge minute
        moment move nah new next nice nope ok okay old one ones perfect please previous problem
        proceed publish pull push read ready rebase red redo release reload remove
        repeat rerun restart retry revert review right run save second ship sorry sound sounds
        start step still stop suite super sure test tests thank thanks thing things third think
        thx today tomorrow try two ty undo update wait way well work works working wonderful worry
        wow write wrong y yeah yep yes yesterday
        """
    )
)
