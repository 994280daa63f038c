"""What its path adds to the words of a passage, in its row, in the copy and when it is scored."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from rag_agent.tokens import words

_FOLDERS = 3  # the nearest; the ones above say more of the project than of the file


@lru_cache(maxsize=1_000)
def path_words(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the file's stem, and those of its three nearest folders."""
    pure = PurePosixPath(path)
    return tuple(words(pure.stem)), folder_words(pure.parent.parts[-_FOLDERS:])


def folder_words(folders: Iterable[str]) -> tuple[str, ...]:
    """Their words, in order."""
    return tuple(word for folder in folders for word in words(folder))
