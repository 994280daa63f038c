"""Cut a text into pieces that a model can read whole, losing nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def cut(text: str, tokenizer: Tokenizer, size: int) -> list[str]:
    """Consecutive pieces of at most ``size`` tokens (special ones included) that join to ``text``.

    Pieces are about equally long, so that each may weigh the same in a mean, and end between words
    where there is one to end at. A text without any token gives [text]. The tokenizer must not
    truncate.
    """
    encoding = tokenizer.encode(text, add_special_tokens=False)
    room = size - tokenizer.num_special_tokens_to_add(False)
    if len(encoding.ids) <= room:
        return [text]
    starts = [0, *_boundaries(encoding, room), len(text)]
    pieces: list[str] = []
    for start, end in pairwise(starts):
        if start < end:  # the tokens of one character, bytes of an emoji, share its offset
            pieces.extend(_fitting(text[start:end], tokenizer, size))
    return pieces


def _boundaries(encoding: Encoding, room: int) -> list[int]:
    """The characters at which pieces of at most ``room`` tokens begin, without the first."""
    total = len(encoding.ids)
    count = -(-total // room)
    words = encoding.word_ids
    boundaries = []
    start = 0
    while total - start > room:
        end = start + -(-(total - start) // count)
        # Back to the start of a word, but not past the middle: some "words" are whole files.
        floor = start + (end - start) // 2
        cut_at = end
        while cut_at > floor and words[cut_at] == words[cut_at - 1]:
            cut_at -= 1
        start = cut_at if cut_at > floor else end
        boundaries.append(encoding.offsets[start][0])
        count = max(count - 1, -(-(total - start) // room))
    return boundaries


def _fitting(piece: str, tokenizer: Tokenizer, size: int) -> list[str]:
    """``piece`` itself, or halves of it: cut out of its text, it can have a few tokens more."""
    if len(piece) < 2 or len(tokenizer.encode(piece).ids) <= size:
        return [piece]
    middle = len(piece) // 2
    return [
        *_fitting(piece[:middle], tokenizer, size),
        *_fitting(piece[middle:], tokenizer, size),
    ]
