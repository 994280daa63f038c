"""Whether a question points at a file: with its name, a line of it, or a thing it defines."""

from __future__ import annotations

import re

from rag_agent.search.asking import ASKING
from rag_agent.search.definitions import written_as_code
from rag_agent.tokens import words

TYPE_CHECKING = False  # typing costs a hook more than this module
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rag_agent.search.question import Question
    from rag_agent.types import Definition

_AMONG_OTHERS = 0.8  # words, a name that is written as one: the question may be about these
_PLAIN = 0.6  # a plain word that is all that is asked for: "explain rank", but also "the error?"
_CAPITAL = 0.6  # one inside a sentence: "the Store", but also "Python" and "Friday"
_GOES_ON = re.compile(r"[\w-]|\.\w")  # behind a name that is the beginning of a longer one
_NO_PATH = re.compile(r"[^\w./\\-]")
# Where Python installs packages: what follows is a path in the sources of the package.
_INSTALLED = ("site-packages/", "dist-packages/")
_FEW = 1 + max(map(len, _INSTALLED))
# Behind a file's name, a line of it as compilers, stack traces and people write it: a.py:12,
# a.py(12), a.py#L12, "a.py", line 12; in lower case.
_LINE = re.compile(r"""["'`]?(?:[,:]?\s?(?:on\s|at\s)?lines?\s|:|\(|\#l)(\d{1,7})(?!\d|\.\d)""")
_OTHER_CASE = 0.6  # of a name, as a factor; "writelock" may be WriteLock, but also another thing


def points_at_definition(question: Question, definitions: Iterable[Definition]) -> float:
    """How clearly the question names the clearest of these definitions, in [0, 1].

    1 for a name that is all that the question asks for, written as only names are: ``like_this``,
    ``_this`` or ``likeThis``, in backticks, with a call's parenthesis, behind ``::``. Less where it
    asks for more, where it has the name in another case or as a plain word, and for a word with a
    capital inside a sentence. 0 for words that happen to be names.
    """
    names = {definition.name for definition in definitions}
    return max((_clearness(question, name) for name in names), default=0.0)


def points_at_file(question: Question, path: str) -> float:
    """1 if the question has the file's name with its ending, and no other folder before it."""
    return float(any(True for _ in _ends_of(question, path)))


def lines_given(question: Question, path: str) -> tuple[int, ...]:
    """The lines of a file that the question gives with its name, as a stack trace does."""
    found = (_LINE.match(question.lower, end) for end in _ends_of(question, path))
    return tuple(sorted({int(line[1]) for line in found if line}))


def gives_lines(question: Question) -> bool:
    """Whether the question can give a line of any file."""
    return _LINE.search(question.lower) is not None


def strangeness(question: Question) -> float:
    """Share of the names written as code in the question that no passage holds, in [0, 1]."""
    if question.strangeness is None:  # every file that is found is asked
        names = [name for name in question.names if written_as_code(name)]
        strange = [name for name in names if not question.absent.isdisjoint(words(name)[:1])]
        question.strangeness = len(strange) / len(names) if names else 0.0
    return question.strangeness


def _ends_of(question: Question, path: str) -> Iterator[int]:
    """Where the question goes on behind the file's name, wherever no other folder is before it."""
    name = path.rpartition("/")[2].lower()
    if "." not in name.strip(".") or name not in question.lower:
        return
    whole = f"/{path.lower()}"
    for folder, end in _folders_before(name, question.lower, len(whole)):
        if _is_end_of(f"{folder}{name}", whole):
            yield end


def _folders_before(name: str, text: str, most: int) -> Iterator[tuple[str, int]]:
    """What is written right before a file's name wherever it stands by itself, "" or folders.

    With where the name ends.

    Of folders the last ``most`` characters and a few; of a path that has the name several times
    what is before the last. A pattern that looks for all of a path at once takes minutes for a long
    text without spaces.
    """
    end, known, last = 0, "", -1
    while (start := text.find(name, end)) >= 0:
        end = start + len(name)
        if _GOES_ON.match(text, end):
            continue
        before = text[max(0, start - most - _FEW) : start]
        others = [other.end() for other in _NO_PATH.finditer(before)]
        before = before[others[-1] :] if others else before
        if before and before[-1] not in "/\\":
            continue
        if last >= 0 and _NO_PATH.search(text, last, start):
            yield known, last
        known, last = before, end
    if last >= 0:
        yield known, last


def _clearness(question: Question, name: str) -> float:
    folded = name.lower()
    if folded not in question.folded_names:
        return 0.0
    return max(
        _as_written(question, given) * (1.0 if given == name else _OTHER_CASE)
        for given in question.names
        if given.lower() == folded
    )


def _as_written(question: Question, given: str) -> float:
    # A longer name that has this one in it is text without spaces around it.
    others = [one for one in question.names if given not in one]
    alone = all(one.lower() in ASKING for one in others)
    if written_as_code(given) or given[0] == "_" or _marked_as_code(given, question.text):
        return 1.0 if alone else _AMONG_OTHERS
    if alone and given.lower() not in ASKING:
        return _PLAIN
    inside = rf"[^\W\d][,;]?[ ]+{re.escape(given)}\b"
    return _CAPITAL if given[0].isupper() and re.search(inside, question.text) else 0.0


def _marked_as_code(given: str, text: str) -> bool:
    name = re.escape(given)
    # A fence of three backticks holds a listing, in which everything is a name.
    quoted = rf"(?<!`)`[^`\s]{{0,100}}(?<!\w){name}(?!\w)[^`\s]{{0,100}}`(?!`)"
    return re.search(rf"{quoted}|\b{name}\(|::{name}\b", text) is not None


def _is_end_of(written: str, path: str) -> bool:
    """Whether a path ends with what was written, or the other way round (an absolute path)."""
    plain = "/" + written.replace("\\", "/").removeprefix("./").lstrip("/")
    for folder in _INSTALLED:
        plain = "/" + plain.rpartition(folder)[2].lstrip("/")
    return path.endswith(plain) or plain.endswith(path)
