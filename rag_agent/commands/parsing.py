"""Words to a verb and its arguments, by argparse parsers built from the registry."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from rag_agent.commands.registry import VERBS, Argument, Verb

GLOBAL_OPTIONS = (
    Argument("--json", "print one JSON document on stdout and nothing else"),
    Argument("--no-color", "no colours (they are used on a terminal only; NO_COLOR works too)"),
    Argument("--verbose", "say on stderr what is being done, and tracebacks of failures"),
)
PROGRAM_OPTIONS = (
    Argument("--version", "print the version"),
    Argument("--help", "show the verbs, and behind a verb how it is used"),
)
"""What stands where a verb would."""
_SHORT = {"--verbose": "-v", "--limit": "-n"}
# Stands before a word that begins with a dash and is a value all the same: argparse knows no way
# to say so but "--", which the person would have to write.
_VALUE = "\0"


class Usage(Exception):
    """The words cannot be understood (``code`` 2), or ask for help (0); ``message`` answers."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """A verb with its arguments, ready to run."""

    verb: Verb
    arguments: argparse.Namespace


def parse(words: Sequence[str], program: str = "rag-agent") -> Call:
    """The verb that ``words`` call, with its arguments.

    Raises:
        Usage: they call none, or not in this way, or ask for help.
    """
    first = next((i for i, word in enumerate(words) if not word.startswith("-")), None)
    if first is None:
        raise Usage(f"usage: {program} VERB …\n{program}: name a verb; `{program} help` lists them")
    before, rest = list(words[:first]), list(words[first:])
    name = rest.pop(0)
    if rest and f"{name} {rest[0]}" in VERBS:
        name = f"{name} {rest.pop(0)}"
    found = VERBS.get(name)
    if found is None:
        raise Usage(f"{program}: {_unknown(name, rest)}; `{program} help` lists the verbs")
    words_of_verb = _protected(found, _with_values(found, rest))
    try:
        parsed = parser(found, program).parse_args([*before, *words_of_verb])
    except Usage as usage:
        hint = _hint(found, rest, program) if usage.code else ""
        raise Usage(usage.message + hint, usage.code) from None
    return Call(found, parsed)


def parser(verb: Verb, program: str = "rag-agent") -> argparse.ArgumentParser:
    """The parser of one verb; its help is the verb's help."""
    result = _Parser(
        prog=f"{program} {verb.name}",
        usage=f"{program} {verb.usage} [--json]",
        description=f"{verb.help[0].upper()}{verb.help[1:]}.\n\n{verb.detail}".rstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for argument in (*verb.arguments, *GLOBAL_OPTIONS):
        _add(result, argument)
    return result


def option_strings(argument: Argument) -> tuple[str, ...]:
    """Every way to write an option: ``--limit`` and ``-n``."""
    short = _SHORT.get(argument.name)
    return (argument.name,) if short is None else (argument.name, short)


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the process: the server parses with it too."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{self.format_usage()}{self.prog}: {message.replace(_VALUE, '')}")

    def print_help(self, file: object = None) -> NoReturn:
        raise Usage(self.format_help(), code=0)


def _add(parser: argparse.ArgumentParser, argument: Argument) -> None:
    help = argument.help.replace("%", "%%")  # argparse fills in %(default)s and the like
    if argument.option and not argument.metavar:
        parser.add_argument(*option_strings(argument), action="store_true", help=help)
    elif argument.option:
        parser.add_argument(
            *option_strings(argument),
            metavar=argument.metavar,
            type=argument.type,
            default=argument.default,
            choices=argument.choices or None,
            required=argument.required,
            help=help,
        )
    else:
        parser.add_argument(
            argument.name,
            metavar=argument.metavar or argument.name.upper(),
            nargs=argument.many or None,
            type=_value if argument.dashes else argument.type,
            default=argument.default,
            choices=argument.choices or None,
            help=help,
        )


def _value(word: str) -> str:
    return word.removeprefix(_VALUE)


def _with_values(verb: Verb, words: list[str]) -> list[str]:
    """``--where -path:a`` as ``--where=-path:a``: argparse takes no value that begins so."""
    arguments = [*verb.arguments, *GLOBAL_OPTIONS]
    options = {"-h", "--help", "--", *(way for one in arguments for way in option_strings(one))}
    takes_value = {one.name for one in arguments if one.option and one.metavar}
    joined: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return [*joined, *words[place:]]
        if joined and joined[-1] in takes_value and word.startswith("-") and word not in options:
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined


def _protected(verb: Verb, words: list[str]) -> list[str]:
    """``-vendor/`` is a pattern to remove, not the options -v, -e, -n."""
    if not any(argument.dashes and not argument.option for argument in verb.arguments):
        return words
    options = {"-h", "--help", "--"}
    for argument in (*verb.arguments, *GLOBAL_OPTIONS):
        options.update(option_strings(argument))
    return [f"{_VALUE}{w}" if w.startswith("-") and w not in options else w for w in words]


def _hint(verb: Verb, words: Sequence[str], program: str) -> str:
    """How to ask for an option, where words of a question were taken for one of ours."""
    free = [argument.name for argument in verb.arguments if argument.many and not argument.option]
    own = {way for one in (*verb.arguments, *GLOBAL_OPTIONS) for way in option_strings(one)}
    foreign = [word for word in words if word.startswith("-") and word.split("=")[0] not in own]
    if not free or not foreign or "--" in words:
        return ""
    return f"; to ask for {foreign[0]} itself: {program} {verb.name} -- {foreign[0]}"


def _unknown(name: str, rest: Sequence[str]) -> str:
    group = [known for known in VERBS if known.startswith(f"{name} ")]
    if group:
        ways = ", ".join(f"`{known}`" for known in group)
        return f"{name} {rest[0]!r} is not known, {ways} are" if rest else f"one of {ways} is meant"
    import difflib

    near = difflib.get_close_matches(name, VERBS, n=1)
    return f"no verb {name!r}" + (f", did you mean {near[0]!r}?" if near else "")
