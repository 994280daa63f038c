"""The words of turns that are no questions: consent, thanks, corrections, orders, choices.

A prompt of nothing but such words tells an agent to go on, and there is nothing to look up in it.
All languages share one vocabulary: a prompt is small talk only if every word of it is known, so a
word that means something else elsewhere does little harm. Chinese, Japanese and Korean are taken
apart into known pieces, of which nothing may be left over. The words stand in chat.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from rag_agent.tokens import STOP_WORDS, runs, stems

_LONGEST = 160  # characters; whoever writes more says what it is about
_MOST_THINGS = 1  # that an order may name which does not point at the conversation
_FIRST_CJK = "\u3040"
_MOST_DIGITS = 3  # "option 2", "wrap it at 80", not 404123
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")
# A name of code: parts joined by dots, slashes, colons, underscores or capitals, or a call.
_NAME = re.compile(r"[^\W\d]{2}(?:\.|/|::|->)[^\W\d]{2}|\w_\w|[a-z][A-Z]|\w\(|`")


def is_small_talk(prompt: str) -> bool:
    """Whether the prompt is a short turn that only the conversation itself explains.

    A question about running, testing or building ("how do I run the tests?") is about the project,
    unless it is about what the agent did. So are two things of which projects are made ("table
    colors"), unless something points at the conversation ("put that in a table").
    """
    if len(prompt) > _LONGEST or _NAME.search(prompt):
        return False
    vocabulary = _vocabulary()
    told = list(_told(prompt))
    if not all(_is_small(word) or vocabulary.knows(word) for word in told):
        return False
    things = {word for word in told if vocabulary.is_thing(word)}
    if any(word in vocabulary.agent for word in told):
        return True
    if any(word in vocabulary.asking for word in told):
        return not things and vocabulary.work.isdisjoint(told)
    if len(told) == 1:
        return not things
    return len(things) <= _MOST_THINGS or not vocabulary.pointing.isdisjoint(told)


def _told(prompt: str) -> Iterator[str]:
    for run in runs(_APOSTROPHE.sub(" ", prompt)):
        if run[0] < _FIRST_CJK:
            yield run.lower()
        else:
            yield from filter(None, _pieces().split(run))


def _is_small(word: str) -> bool:
    """A letter or a number, as in "option B" and "2"."""
    return len(word) <= (_MOST_DIGITS if word.isdigit() else 1) and word.isascii()


class _Vocabulary:
    """Words as ``runs`` folds them; ``stems`` and ``things`` are stems, for all forms of a word."""

    __slots__ = ("agent", "asking", "pointing", "stems", "things", "words", "work")

    def __init__(
        self,
        words: frozenset[str],
        stems: frozenset[str],
        things: frozenset[str],
        work: frozenset[str],
        asking: frozenset[str],
        agent: frozenset[str],
        pointing: frozenset[str],
    ) -> None:
        self.words = words
        self.stems = stems
        self.things = things
        self.work = work
        self.asking = asking
        self.agent = agent
        self.pointing = pointing

    def knows(self, word: str) -> bool:
        return word in self.words or not self.stems.isdisjoint(stems(word))

    def is_thing(self, word: str) -> bool:
        return not self.things.isdisjoint(stems(word)) and word not in STOP_WORDS


@lru_cache(maxsize=1)  # read when a prompt comes: importing stays quick
def _vocabulary() -> _Vocabulary:
    sections = _sections()
    known = ("english", "things", "talk", "work", "asking", "agent", "pointing")
    return _Vocabulary(
        words=frozenset(word for name in known for word in sections[name]) | STOP_WORDS,
        stems=_stems(sections["english"]) | _stems(sections["things"]) | _stems(sections["work"]),
        things=_stems(sections["things"]),
        work=sections["work"],
        asking=sections["asking"],
        agent=sections["agent"],
        pointing=sections["pointing"],
    )


@lru_cache(maxsize=1)
def _sections() -> dict[str, frozenset[str]]:
    """The words of chat.txt by section, as ``runs`` folds them."""
    text = (Path(__file__).parent / "chat.txt").read_text(encoding="utf-8")
    _, *parts = re.split(r"^\[(\w+)\].*\n", text, flags=re.MULTILINE)
    return {
        name: frozenset(run.lower() for run in runs(body))
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in stems(word))


@lru_cache(maxsize=1)
def _pieces() -> re.Pattern[str]:
    """Splits a run of Chinese, Japanese or Korean at what is known, the longest first."""
    known = [word for word in _vocabulary().words if word[0] >= _FIRST_CJK]
    return re.compile(f"({'|'.join(sorted(known, key=len, reverse=True))})")
