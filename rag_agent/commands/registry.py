"""The verbs: one table that the command line, ``/rag``, help and completion are made from."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.index import Index

Values = Literal["", "path", "document", "extension", "excluded", "verb", "host"]
"""What completes an argument beside its choices: files on disk, indexed documents, the extensions
in use, the exclude patterns, the verbs, the coding agents."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One positional or option of a verb, as the parser, the help and the completion need it.

    ``name`` is a word (positional) or begins with ``--``; an option without ``metavar`` is a
    switch. ``many`` is argparse's nargs. ``dashes`` lets words that begin with a dash be values.
    """

    name: str
    help: str
    metavar: str = ""
    many: Literal["", "?", "*", "+"] = ""
    type: Callable[[str], object] = str
    default: object = None
    choices: tuple[str, ...] = ()
    values: Values = ""
    required: bool = False
    dashes: bool = False

    @property
    def option(self) -> bool:
        """Whether this is an option and not a positional."""
        return self.name.startswith("--")

    @property
    def usage(self) -> str:
        """How the usage line writes it: ``QUERY…``, ``[PATH]``, ``[--limit N]``."""
        word = "|".join(self.choices) if self.choices else self.metavar or self.name.upper()
        if self.option:
            shown = f"{self.name} {word}" if self.metavar else self.name
            return shown if self.required else f"[{shown}]"
        if self.many in ("+", "*"):
            word += "…"
        return f"[{word}]" if self.many in ("?", "*") else word


@dataclass(frozen=True, slots=True)
class Result:
    """What a verb has to say: ``data`` for programs (JSON-able), ``text`` for people.

    ``problem`` is empty, or one line that says what is wrong and what to do: the verb did its work
    and what it found is not well, which ends the process with 1.
    """

    data: object
    text: str
    problem: str = ""


Opener = Callable[[], "AbstractContextManager[Index]"]
"""Opens the index in scope; the context closes it, unless somebody else owns it."""

Run = Callable[[Opener, Namespace, Report], Result]


@dataclass(frozen=True, slots=True)
class Verb:
    """One command.

    ``resumes`` marks long work that keeps what is done when interrupted, and says how to go on.
    ``terminal`` marks what makes no sense as a ``/rag`` command inside an agent.
    """

    name: str
    help: str
    run: Run
    arguments: tuple[Argument, ...] = ()
    detail: str = ""
    resumes: str = ""
    terminal: bool = False

    @property
    def usage(self) -> str:
        """The verb with its arguments: ``index [PATH]``."""
        return " ".join([self.name, *(argument.usage for argument in self.arguments)])


GOES_ON = "the same command goes on from there"
"""What most of the long work ``resumes`` by."""

VERBS: dict[str, Verb] = {}
"""By name, in the order in which help shows them. A name of two words is a verb of a group."""


def verb(
    name: str,
    help: str,
    *arguments: Argument,
    detail: str = "",
    resumes: str = "",
    terminal: bool = False,
) -> Callable[[Run], Run]:
    """Register the decorated function as the verb ``name``."""

    def register(run: Run) -> Run:
        VERBS[name] = Verb(name, help, run, arguments, detail, resumes, terminal)
        return run

    return register
