"""Pieces of a question that mean themselves: names of several parts, and what is quoted."""

from __future__ import annotations

import re

from rag_agent.tokens import is_unspaced, runs, split_identifier, stems, words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_PARTS = 2  # of a name, or words of a quotation; one alone is a word like others
_UNSPACED = 8  # characters of Chinese or Japanese, about four words
_MOST = 8
_MOST_CHARACTERS = 120
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)|“([^“”\n]+)”|「([^「」\n]+)」"
)
_PIECE = re.compile(r"\S+")
_WIDE = "「」『』\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # such marks of East Asia
_BEFORE = f"()[]{{}}<>\"'`“”,;:!?*|@{_WIDE}"  # names of files may begin with a dot
_BEHIND = f"{_BEFORE}."
_LINE = re.compile(
    r"(?::\d+){1,2}$|#l\d+(?:-l\d+)?$|\(\d+(?:,\d+)?$", re.IGNORECASE
)  # behind a path
_QUALIFIED = re.compile(r"(\S*\w)(?:\.|::|#|->|\\)(\w+)(?:\(\S*)?")
_NAME = re.compile(r"\w+")
_KEYS = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-'\u2019/][^\W\d_]+)+")


class Literal:
    """A piece of the question that means itself: a name of several parts, or what is quoted.

    ``written`` is in lower case, ``phrase`` its words as the word index has them in a row,
    ``name`` is what ``module::name`` is called where it is defined, "" if it is nothing like that,
    and ``qualifiers`` are the names before it. ``path`` is it behind a slash.
    ``forms`` are how texts in lower case write it; ``constant`` is how a text that means it must,
    "" if any case will do. ``keys`` are those of ``a.key.of.settings``, outermost first. One does
    not ``count_in_texts`` if so many have it that this tells nothing, or if it is meant as the path
    of a file.
    """

    __slots__ = (
        "constant",
        "counts_in_texts",
        "forms",
        "is_compound",
        "keys",
        "name",
        "path",
        "phrase",
        "qualifiers",
        "written",
    )

    def __init__(self, written: str, own: Sequence[str], *, is_compound: bool) -> None:
        self.written = written.lower()
        plain = self.written.replace("\\", "/").removeprefix("./").lstrip("/")
        self.path = f"/{plain}"
        # Of a single name the whole of it is enough.
        is_name = len(own) == 1 and not is_unspaced(own[0])
        self.phrase = stems(own[0])[:1] if is_name else tuple(words(written))
        qualified = _QUALIFIED.fullmatch(self.written)
        self.name = qualified[2] if qualified else ""
        self.qualifiers = _NAME.findall(qualified[1]) if qualified else []
        self.is_compound = is_compound
        self.constant = written if written.isupper() and written.isascii() else ""
        bare = self.written.lstrip("-")
        # Many parsers are told of an option without its dashes.
        quoted = (f'"{bare}"', f"'{bare}'") if bare != self.written else ()
        self.forms = (self.written, *quoted)
        self.keys = self.written.split(".") if _KEYS.fullmatch(self.written) else []
        self.counts_in_texts = True

    def places_in(self, text: str, folded: str) -> Iterator[int]:
        """Where a text has it, which is in lower case too, and not as a part of longer words."""
        goes_on = _goes_on_with_hyphen if "-" in self.written else _goes_on
        # A letter that is two in lower case (İ) moves all that follows.
        constant = self.constant if len(text) == len(folded) else ""
        for written in self.forms:
            start = folded.find(written)
            while start >= 0:
                end = start + len(written)
                is_meant = constant in text[start:end]
                if is_meant and not (goes_on(folded, start) or goes_on(folded, end)):
                    yield start
                start = folded.find(written, start + 1)

    def is_in(self, text: str, folded: str = "") -> bool:
        """Whether a text has it anywhere; ``folded`` is the text in lower case if that is known."""
        return any(True for _ in self.places_in(text, folded or text.lower()))

    def is_defined(self, defined: Collection[str], folded: str, path: str) -> bool:
        """Whether its name is among those defined by a text that belongs to what is before it."""
        return self.name in defined and all(one in folded or one in path for one in self.qualifiers)

    def is_set(self, folded: str) -> bool:
        """Whether a text of settings in lower case sets its keys, one inside the other."""
        end = 0
        for key in self.keys:
            at = re.compile(rf"(?<![\w-]){re.escape(key)}[\"']?\s*[:=.{{\]]").search(folded, end)
            if at is None:
                return False
            end = at.end()
        return end > 0

    def is_path(self, path: str) -> bool:
        """Whether it is a path in lower case, or the end of it, or ends with it."""
        return f"/{path}".endswith(self.path) or ("/" in path and self.path.endswith(f"/{path}"))


def quotations(text: str) -> list[str]:
    """What stands between marks of quotation on one line."""
    return [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]


def literals_of(text: str) -> list[Literal]:
    """The literals of a question, the quoted ones first."""
    found: dict[str, Literal] = {}
    single = [one.lstrip(_BEFORE).rstrip(_BEHIND) for one in _PIECE.findall(text)]
    named = [one.partition("=")[0] for one in single if "=" in one]
    for piece in (*quotations(text), *(_LINE.sub("", one) for one in single), *named):
        written = piece.strip()
        own = runs(written) if len(written) <= _MOST_CHARACTERS else []
        if not _is_telling(own):
            continue
        literal = Literal(written, own, is_compound=_COMPOUND.fullmatch(written) is not None)
        if literal.phrase:
            found.setdefault(literal.written, literal)
    return list(found.values())[:_MOST]


def _is_telling(own: Sequence[str]) -> bool:
    """Whether a piece with these runs has words enough that it is not there by chance."""
    unspaced = sum(len(run) for run in own if is_unspaced(run))
    rest = sum(len(split_identifier(run)) for run in own if not is_unspaced(run))
    return rest + unspaced * _PARTS // _UNSPACED >= _PARTS


def _goes_on(text: str, place: int, skipped: int = 0) -> bool:
    """Whether a word goes on across a place in a text, behind some skipped characters."""
    return (
        0 < place < len(text) - skipped
        and _is_letter(text[place - 1])
        and _is_letter(text[place + skipped])
    )


def _goes_on_with_hyphen(text: str, place: int) -> bool:
    """The same of a word with hyphens: ``--no-cache`` is not meant by ``--no-cache-dir``."""
    if text[place : place + 1] == "-":
        return _goes_on(text, place, 1)
    return _goes_on(text, place - 1, 1) if text[place - 1] == "-" else _goes_on(text, place)


def _is_letter(one: str) -> bool:
    return (one.isalnum() or one == "_") and not is_unspaced(one)
