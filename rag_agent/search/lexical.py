"""BM25 of our own over what the word index found.

FTS5's ``bm25()`` finds the candidates; it counts a repeated word of the question once and its
weights for rare words differ, which costs 0.003-0.006 nDCG@10, so the best are scored again here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from rag_agent.search.question import SATURATION
from rag_agent.store import beside
from rag_agent.tokens import passage_counts

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from rag_agent.search.question import Question

    Counted = tuple[float, Mapping[str, int], int]

CANDIDATES = 200  # passages; they hold 0.995 of the files that answer
LENGTH = 0.75  # b: how far a long text is held against its occurrences
LENGTH_OF_FILE = 0.3  # files are long for many reasons
PASSAGES_OF_CHUNK = 2.5  # on average
CHUNKS_OF_FILE = 10
_STEM_COUNTS = 2  # the file's name counts as if the text said it twice


def count_words(question: Question, text: str) -> tuple[dict[str, int], int]:
    """How often a text has each word of the question, and how many words it has in all."""
    counts, length = passage_counts(text)
    return {word: counts[word] for word in question.words if word in counts}, length


@lru_cache(maxsize=10_000)
def path_words(path: str) -> tuple[str, ...]:
    """The words of a path as a text has them: the file's stem twice, the nearest folders."""
    stem, folders = beside.path_words(path)
    return stem * _STEM_COUNTS + folders


def with_words(
    question: Question, counts: Mapping[str, int], more: Iterable[str]
) -> Mapping[str, int]:
    """Counts of the question's words with those among further words counted in."""
    asked = [word for word in more if word in question.words]
    if not asked:
        return counts  # mostly, and this is done a thousand times a search
    total = dict(counts)
    for word in asked:
        total[word] = total.get(word, 0) + 1
    return total


def bm25(
    question: Question,
    counts: Mapping[str, int],
    length: float,
    average: float,
    share: float = LENGTH,
) -> float:
    """The BM25 of a text for the question; 0 or more, 0 only if it has none of its words.

    Robertson & Zaragoza, The probabilistic relevance framework, 2009, with the question's own
    frequencies as factors. ``length`` and ``average`` are in words; ``share`` is how far a long
    text is held against its occurrences (b).
    """
    norm = SATURATION * (1 - share + share * length / max(average, 1.0))
    score = 0.0
    for word, occurrences in counts.items():  # fewer than the question's words
        asked = question.gains.get(word)
        if asked and occurrences:
            score += asked * occurrences * (SATURATION + 1) / (occurrences + norm)
    return score


def count_passage(question: Question, text: str, path: str, average: float) -> Counted:
    """A passage's BM25 with the words of its path, its counts without them, its length in words.

    ``average`` is the mean length of passages.
    """
    return score_passage(question, *count_words(question, text), path, average)


def score_passage(
    question: Question, counts: Mapping[str, int], length: int, path: str, average: float
) -> Counted:
    """The same of a passage whose words are counted."""
    in_path = path_words(path)
    score = bm25(question, with_words(question, counts, in_path), length + len(in_path), average)
    return score, counts, length


def count_chunk(
    question: Question, found: Sequence[Counted], everything: int, path: str, average: float
) -> tuple[float, dict[str, int]]:
    """The BM25 of a chunk by those of its passages that were ``found``, and their counts.

    ``everything`` is how many passages it has. Those that did not match have other words; what
    they add is length.
    """
    counts: dict[str, int] = {}
    length = 0
    for _, words_found, size in found:
        length += size
        for word, count in words_found.items():
            counts[word] = counts.get(word, 0) + count
    length = max(length, math.ceil((everything or 1) * average))
    in_path = path_words(path)
    score = bm25(
        question,
        with_words(question, counts, in_path),
        length + len(in_path),
        PASSAGES_OF_CHUNK * average,
    )
    return score, counts


def bm25_of_file(
    question: Question, counts: Mapping[str, int], chunks: int, average: float
) -> float:
    """The BM25 of all that matched in a file of so many ``chunks`` as if it were one text.

    ``average`` is the mean length of passages; a file of ten chunks has the mean length.
    """
    whole = PASSAGES_OF_CHUNK * average
    return bm25(question, counts, chunks * whole, CHUNKS_OF_FILE * whole, LENGTH_OF_FILE)
