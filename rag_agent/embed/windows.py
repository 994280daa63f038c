"""Cut a text into windows that a model can read whole, losing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


def cut(text: str, tokenizer: Tokenizer, size: int, prefix: str = "") -> list[Encoding]:
    """The tokens of ``text`` in order, in windows of at most ``size``, ready for the model.

    Each window begins with ``prefix`` and has the model's special tokens; both count. Windows are
    equally long but for a last one that can be shorter by a token for each, so that each may weigh
    the same in a mean. They end between tokens, not always between words: pieces of text, tokenized
    again, cost three times as much and can have more tokens than they had in their place. A text
    without any token gives one window without any. The tokenizer must not truncate.
    """
    tokens = tokenizer.encode(text, add_special_tokens=False)
    # The space that ends a prefix would be a token of its own to some tokenizers.
    head = tokenizer.encode(prefix.rstrip(), add_special_tokens=False) if prefix else None
    room = _room(tokenizer, size, head)
    count = -(-len(tokens) // room)
    if count > 1:
        tokens.truncate(-(-len(tokens) // count))
    pieces = [tokens, *tokens.overflowing]
    if head:
        pieces = [head.merge([head, piece]) for piece in pieces]
    return [tokenizer.post_process(piece) for piece in pieces]


def first(text: str, tokenizer: Tokenizer, size: int, prefix: str = "") -> str:
    """As much of the beginning of ``text``, in whole words, as ``cut`` puts into one window."""
    tokens = tokenizer.encode(text, add_special_tokens=False)
    head = tokenizer.encode(prefix.rstrip(), add_special_tokens=False) if prefix else None
    room = _room(tokenizer, size, head)
    if len(tokens) <= room:
        return text
    words = tokens.word_ids
    begin = room
    # A word cut in two can have more tokens than it had as a whole.
    while begin and words[begin] is not None and words[begin - 1] == words[begin]:
        begin -= 1
    return text[: tokens.offsets[begin or room][0]].rstrip()


def _room(tokenizer: Tokenizer, size: int, head: Encoding | None) -> int:
    """How many tokens of a text have their place in a window."""
    return size - tokenizer.num_special_tokens_to_add(False) - (len(head) if head else 0)
