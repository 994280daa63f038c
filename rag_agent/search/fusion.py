"""From what is measured to scores: signals brought to one scale, weighed and summed by part."""

from __future__ import annotations

from itertools import chain

from rag_agent.search.facts import Facts
from rag_agent.search.signals import MEANING, PARTS, SIGNALS, WORDS
from rag_agent.search.weights import HYBRID, WORDS_ONLY

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_agent.search.facts import Corpus
    from rag_agent.search.matches import FileMatch
    from rag_agent.search.question import Question

    Values = Sequence[float | None]

ALPHA = 0.4
"""The weight of BM25 in the blend at which the weights were fitted; the default of ``ragAlpha``."""

# How much of a file's meaning its card tells while its chunks have no vectors: a card is one window
# of the whole file. With 0.4 cards give half of what all vectors give (nDCG@10 on the semble set
# 0.893 by words, 0.900, 0.906), with 1 a tenth.
CARD = 0.4
# What stands for a meaning that is not known: a file whose vectors are still to come is neither
# punished nor preferred.
STANDS_FOR_MEANING = f"{WORDS}: best passages"
OF_CARD = f"{MEANING}: summary's meaning"


def score(
    question: Question, files: Sequence[FileMatch], alpha: float, corpus: Corpus
) -> list[dict[str, float]]:
    """For each file what the parts of its score are; their sum orders the files of one question.

    ``alpha`` is the weight of BM25 against that of the cosine, in [0, 1]; without vectors words
    alone count. ``corpus`` is what the index holds.
    """
    facts = [Facts(question, file, corpus) for file in files]
    values = scaled(facts)
    is_hybrid = any(known is not None for known in chain(*(values[key] for key in MEANINGS)))
    if is_hybrid:
        stand_in(values, len(files))
    factors = factors_of(alpha, is_hybrid)
    parts: list[dict[str, float]] = [{} for _ in files]
    table = (HYBRID if is_hybrid else WORDS_ONLY) | GIVEN
    is_prose = [one.kind == "prose" for one in facts]
    for signal in SIGNALS:
        weights = table.get(signal.key)
        if weights is None:
            continue
        short, longer, of_prose = weights
        factor = factors[signal.part]
        weight, in_prose = (short + longer * question.length) * factor, of_prose * factor
        for place, value in enumerate(values[signal.key]):
            gain = value * (in_prose if is_prose[place] else weight) if value else 0.0
            if gain:
                parts[place][signal.part] = parts[place].get(signal.part, 0.0) + gain
    return parts


# Not fitted, as questions that are labelled start from no document.
GIVEN = {"links: link distance": (0.3, 0.0, 0.3)}


def factors_of(alpha: float, is_hybrid: bool) -> dict[str, float]:
    """What each part of a score is multiplied with at this weight of BM25."""
    factors = dict.fromkeys(PARTS, 1.0)
    if is_hybrid:
        factors[WORDS], factors[MEANING] = alpha / ALPHA, (1 - alpha) / (1 - ALPHA)
    return factors


def scaled(facts: Sequence[Facts]) -> dict[str, list[float | None]]:
    """Every signal of every file, in the order of the files, by the key of the signal."""
    return {
        signal.key: _SCALES[signal.scale]([signal.measure(one) for one in facts])
        for signal in SIGNALS
    }


MEANINGS = tuple(signal.key for signal in SIGNALS if signal.part == MEANING)


def stand_in(values: Mapping[str, list[float | None]], count: int) -> None:
    """Fill in what is not known of the files' meaning."""
    for place in range(count):
        card = values[OF_CARD][place]
        words = values[STANDS_FOR_MEANING][place] or 0.0
        guess = words if card is None else CARD * card + (1 - CARD) * words
        for key in MEANINGS:
            if values[key][place] is None:
                values[key][place] = guess


def _as_it_is(values: Values) -> list[float | None]:
    return list(values)


def _by_maximum(values: Values) -> list[float | None]:
    highest = max((value for value in values if value is not None), default=0.0)
    return [None if value is None else value / highest if highest > 0 else 0.0 for value in values]


def _from_median(values: Values) -> list[float | None]:
    known = [value for value in values if value is not None]
    low, high = (_median(known), max(known)) if known else (0.0, 0.0)
    if high <= low:
        # All alike, or only one: no reason to prefer any, and none to punish.
        return [None if value is None else 1.0 for value in values]
    # Below the middle it goes on a little: what is far says something, how far does not.
    return [
        None if value is None else min(1.0, max(-0.5, (value - low) / (high - low)))
        for value in values
    ]


_SCALES = {"": _as_it_is, "maximum": _by_maximum, "median": _from_median}


def _median(values: Sequence[float]) -> float:
    """As statistics.median, which costs a hook two milliseconds to import."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
