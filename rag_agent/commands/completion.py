"""Completion: what may come next on a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_agent.commands.parsing import GLOBAL_OPTIONS, PROGRAM_OPTIONS, option_strings
from rag_agent.commands.registry import VERBS, Argument, Opener, Values, Verb

if TYPE_CHECKING:
    from rag_agent.config import Config

ValueSource = Callable[[Values, Sequence[str]], Iterable[str]]
"""The values that depend on the index, such as the extensions in use: from their kind and the
positionals that stand before."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may stand at the cursor, and what it is."""

    word: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What may stand at the cursor; ``files`` asks the shell for its own file names as well."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False


def complete(
    before: Sequence[str], current: str, values: ValueSource = lambda kind, words: ()
) -> Completion:
    """What may replace ``current`` after the words ``before`` it, the program not among them."""
    names = [word for word in before if not word.startswith("-")]
    if not names:
        found = [*_verbs(), *_options((*GLOBAL_OPTIONS, *PROGRAM_OPTIONS))]
        return Completion(_starting(current, found))
    group = _group(names[0])
    if group and len(names) == 1:
        return Completion(_starting(current, group))
    verb = VERBS.get(f"{names[0]} {names[1]}" if group else names[0])
    if verb is None:
        return Completion()
    rest = list(before)
    for name in verb.name.split():
        rest.remove(name)
    return _arguments(verb, rest, current, values)


def _arguments(verb: Verb, before: Sequence[str], current: str, values: ValueSource) -> Completion:
    known = (*verb.arguments, *GLOBAL_OPTIONS)
    options = {text: a for a in known if a.option for text in option_strings(a)}
    pending = options.get(before[-1]) if before else None
    if pending is not None and pending.metavar:
        return _values(pending, (), current, values)
    given = _positionals(before, options)
    argument = _expected(verb, len(given))
    found = Completion()
    if argument is not None and (argument.dashes or not current.startswith("-")):
        found = _values(argument, given, current, values)
    if current.startswith("-"):
        offered = _starting(current, _options(known))
        found = Completion((*found.candidates, *offered), found.files)
    return found


def _positionals(before: Iterable[str], options: Mapping[str, Argument]) -> list[str]:
    found: list[str] = []
    value = False
    for word in before:
        if value:
            value = False
        elif word in options:
            value = bool(options[word].metavar)
        else:
            found.append(word)
    return found


def _expected(verb: Verb, given: int) -> Argument | None:
    positionals = [argument for argument in verb.arguments if not argument.option]
    if given < len(positionals):
        return positionals[given]
    last = positionals[-1] if positionals else None
    return last if last is not None and last.many in ("*", "+") else None


def _values(
    argument: Argument, given: Sequence[str], current: str, values: ValueSource
) -> Completion:
    if argument.values == "path":
        return Completion(files=True)
    if argument.values == "verb":
        offered = _verbs() if not given else _group(given[0]) if len(given) == 1 else []
        return Completion(_starting(current, offered))
    words = argument.choices or (values(argument.values, given) if argument.values else ())
    return Completion(
        _starting(current, [Candidate(word) for word in words if word not in given]),
        files=argument.values == "excluded" and not current.startswith("-"),
    )


def _verbs() -> list[Candidate]:
    """One candidate a verb, and one for each group of verbs."""
    found: dict[str, Candidate] = {}
    for name, verb in VERBS.items():
        first, _, second = name.partition(" ")
        help = ", ".join(v for v in VERBS if v.startswith(f"{first} ")) if second else verb.help
        found.setdefault(first, Candidate(first, help))
    return list(found.values())


def _group(first: str) -> list[Candidate]:
    """The second words of a group of verbs; nothing where ``first`` is a verb by itself."""
    return [
        Candidate(name.partition(" ")[2], verb.help)
        for name, verb in VERBS.items()
        if name.startswith(f"{first} ")
    ]


def _options(arguments: Iterable[Argument]) -> list[Candidate]:
    return [Candidate(a.name, a.help) for a in arguments if a.option]


def _starting(current: str, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    return tuple(c for c in candidates if c.word.startswith(current))


def index_values(open_index: Opener) -> ValueSource:
    """What completes the arguments whose values depend on the index."""

    def values(kind: Values, given: Sequence[str]) -> Iterable[str]:
        from rag_agent import hosts
        from rag_agent.commands.settings import extensions

        if kind == "host":
            return hosts.names()
        with open_index() as opened:
            if kind == "document":
                return [opened.shown_path(document) for document in opened.find("")]
            settings: Config = opened.config
        if kind == "excluded":
            return [f"-{pattern}" for pattern in settings.exclude_patterns]
        if kind == "extension" and list(given[:1]) == ["remove"]:
            return extensions(settings)
        if kind == "extension" and list(given[:1]) == ["add"]:
            return settings.exclude_extensions
        return ()

    return values
