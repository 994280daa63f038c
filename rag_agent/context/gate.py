"""Whether a prompt asks for anything, and whether a hit is sure enough to be put before a model.

What orders hits says nothing about whether any of them answers: the best of a bad list has a high
score too. So this looks at raw evidence, on scales that do not depend on the other hits.
"""

from __future__ import annotations

import math
import re

from rag_agent.context.chat import is_small_talk

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.types import Evidence, Hit

SURE = 0.1
"""The certainty from which on a hit is likely to answer: the default of ragScoreThreshold."""
NOTHING_SURE = "nothing here is a sure match for the question."
"""What to tell whoever asked, when no hit ``is_sure``."""


class Decision:
    """Whether to inject a hit, how sure it is in [0, 1], and how that compares, in words."""

    __slots__ = ("certainty", "hit", "inject", "reason")

    def __init__(self, hit: Hit, inject: bool, certainty: float, reason: str) -> None:
        self.hit = hit
        self.inject = inject
        self.certainty = certainty
        self.reason = reason


def silence(prompt: str) -> str | None:
    """Why this prompt needs no search, or None if it may be a question about the project."""
    text = prompt.strip()
    if not text:
        return "the prompt is empty"
    if _COMMAND.match(text):
        return "the prompt is a command of the host"
    if not any(character.isalnum() for character in text):
        return "the prompt asks for nothing that could be looked up"
    if is_small_talk(text):
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

    A logistic model of ``features``, which scripts/fit_gate.py fits.
    """
    weights, bias = _WORDS_ONLY if evidence.cosine is None else _HYBRID
    products = (
        weight * feature for weight, feature in zip(weights, features(evidence), strict=True)
    )
    return 1 / (1 + math.exp(-bias - sum(products)))


def features(evidence: Evidence) -> tuple[float, ...]:
    """What certainty depends on, each on a scale that is the same for every project.

    Cosine (if there are vectors), coverage, the weight that one passage has of the question, how
    familiar the project is with the question's words, how little the question says (the inverse of
    its number of words), whether it points at something that the hit defines or at its file, names
    in it that the project does not have, and how much of it the hit has word for word. Where it
    points or stands there, it may be short and unfamiliar.
    """
    plain = 1 - max(evidence.defined, evidence.file, evidence.verbatim)
    by_words = (
        evidence.coverage,
        evidence.passage,
        evidence.familiar * plain,
        plain / max(1, evidence.words),
        evidence.defined,
        evidence.file,
        evidence.strange,
        evidence.verbatim,
    )
    return by_words if evidence.cosine is None else (evidence.cosine, *by_words)


# In the order of ``features``, and the bias, which puts the line at SURE. Fitted by
# scripts/fit_gate.py with the packaged model (another one has cosines of other heights) to
# questions of 32 repositories, bug reports and changes of 27 of them, three sets of documents,
# plain questions for names that these define and files that they have, as many of each of other
# projects, and turns of conversations. Fitted to other repositories than those that are judged,
# at the line 92 % of the questions keep a hit (95 % of those that were asked in a sentence, 86 % of
# reports) and 95 % of those for a name; 8 % of the foreign ones, 1.9 % of those for a foreign name
# and 1.4 % of the turns get one.
# The last weight is set by hand: with it 91 % of what is pasted out of the project (messages,
# options, constants, keys) keep a hit instead of 76 %, and no other share changes by more than half
# a percent. A fit of all weights gave 92 %, but twice as many foreign names.
_HYBRID = ((10.20, 0.92, 1.99, 1.62, -5.18, 4.98, 4.28, -3.24, 3.0), -8.27)
# Words alone separate less, and a wrong hit disturbs more than a missing one helps: 86 % (90 % and
# 80 %) and 96 % keep a hit; 9 %, 2.2 % and 1.9 % get one. Of what is pasted 89 % instead of 78 %.
_WORDS_ONLY = ((0.84, 3.12, 5.18, -9.99, 5.33, 4.53, -2.90, 2.0), -5.92)

_MOST_WORDS = 0.75  # of the question, by weight
# "/compact", "!git status", "#note": not "/usr/lib is full".
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)|[!#](?=\S)")
