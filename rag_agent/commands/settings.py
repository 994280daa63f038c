"""Verbs that change what is indexed and what is injected."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from rag_agent.commands.layout import columns, one_line
from rag_agent.commands.registry import Argument, Opener, Result, verb
from rag_agent.errors import ConfigError
from rag_agent.progress import Report

if TYPE_CHECKING:
    from rag_agent.config import Config

_TAKES_EFFECT = "run `rag-agent refresh` to apply it to the index"


@verb(
    "exclude",
    "files to leave out, as gitignore-style patterns",
    Argument("pattern", "PATTERN adds it, -PATTERN removes it, none lists them", many="*",
             values="excluded", dashes=True),
)  # fmt: skip
def exclude(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """List or change the exclude patterns."""
    with open_index() as opened:
        patterns = list(opened.config.exclude_patterns)
        before = list(patterns)
        for word in arguments.pattern:
            if not word.strip("- "):
                raise ConfigError("an empty pattern excludes nothing; name one such as 'docs/*'")
            if not word.startswith("-"):
                patterns.extend([word] if word not in patterns else [])
            elif word[1:] in patterns:
                patterns.remove(word[1:])
            else:
                raise ConfigError(
                    f"{word[1:]!r} is not among the exclude patterns: {_listed(patterns)}"
                )
        if patterns != before:
            opened.configure(exclude_patterns=tuple(patterns))
    changed = f"; {_TAKES_EFFECT}" if patterns != before else ""
    return Result({"exclude_patterns": patterns}, f"exclude patterns: {_listed(patterns)}{changed}")


@verb(
    "ext",
    "the extensions that are indexed",
    Argument("action", "what to do (default: list)", many="?", default="list",
             choices=("list", "add", "remove", "reset")),
    Argument("ext", "extensions such as .tpl or tpl", metavar="EXT", many="*", values="extension"),
)  # fmt: skip
def ext(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """List or change the extension allowlist."""
    wanted = [_extension(word) for word in arguments.ext]
    if arguments.action in ("add", "remove") and not wanted:
        raise ConfigError(f"name an extension: `rag-agent ext {arguments.action} .tpl`")
    if arguments.action in ("list", "reset") and wanted:
        raise ConfigError(f"`rag-agent ext {arguments.action}` takes no extension")
    if arguments.action == "add":
        _check_addable(wanted)
    with open_index() as opened:
        before = opened.config
        extra, excluded = set(before.extra_extensions), set(before.exclude_extensions)
        for name in wanted:
            excluded.discard(name)
            extra.discard(name)
            if arguments.action == "add" and name not in _known():
                extra.add(name)
            elif arguments.action == "remove" and name in _known():
                excluded.add(name)
        if arguments.action == "reset":
            extra, excluded = set(), set()
        changes = {
            "extra_extensions": tuple(sorted(extra)),
            "exclude_extensions": tuple(sorted(excluded)),
        }
        same = (before.extra_extensions, before.exclude_extensions) == tuple(changes.values())
        config = before if arguments.action == "list" or same else opened.configure(**changes)
    effective = extensions(config)
    data = {
        "extensions": effective,
        "extra": sorted(extra),
        "excluded": sorted(excluded),
    }
    if arguments.action != "list":
        return Result(data, _changes(arguments.action, wanted, extensions(before), effective))
    text = f"{len(effective)} extensions:\n{columns([*map(one_line, effective)])}"
    if extra or excluded:
        text += f"\nadded: {_listed(sorted(extra))} · removed: {_listed(sorted(excluded))}"
    return Result(data, text)


@verb("on", "turn automatic injection on")
def on(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Enable automatic injection."""
    return _injection(open_index, enabled=True)


@verb("off", "turn automatic injection off; the search tools stay")
def off(open_index: Opener, arguments: Namespace, report: Report) -> Result:
    """Disable automatic injection."""
    return _injection(open_index, enabled=False)


def extensions(config: Config) -> list[str]:
    """The extensions that are indexed under this configuration, sorted."""
    return sorted((_known() | set(config.extra_extensions)) - set(config.exclude_extensions))


def _known() -> set[str]:
    """The extensions that are indexed without any setting."""
    from rag_agent.extract.languages import LANGUAGES

    return {name for name in LANGUAGES if name.startswith(".")}


def _changes(action: str, wanted: list[str], before: list[str], after: list[str]) -> str:
    """One line that says what an action changed, and what was so already."""
    added = sorted(set(after) - set(before))
    removed = sorted(set(before) - set(after))
    same = [name for name in dict.fromkeys(wanted) if name not in (*added, *removed)]
    parts = []
    if added:
        parts.append(f"{_listed(added)} will be indexed")
    if removed:
        parts.append(f"{_listed(removed)} will not be indexed any more")
    if same and action == "add":
        parts.append(f"{_listed(same)} {'is' if len(same) == 1 else 'are'} indexed already")
    elif same:
        parts.append(f"{_listed(same)} {'was' if len(same) == 1 else 'were'} not indexed")
    if added or removed:
        parts.append(_TAKES_EFFECT)
    return "; ".join(parts) or "the extensions are the standard ones already"


def _injection(open_index: Opener, *, enabled: bool) -> Result:
    with open_index() as opened:
        if opened.config.rag_enabled != enabled:
            opened.configure(rag_enabled=enabled)
    return Result(
        {"rag_enabled": enabled}, f"RAG auto-injection {'enabled' if enabled else 'disabled'}"
    )


def _check_addable(extensions: list[str]) -> None:
    """Raises ConfigError for files of which nothing would be indexed all the same."""
    from rag_agent.secret_files import secret_file
    from rag_agent.sync.content import reject_name

    for extension in extensions:
        why = secret_file(f"/a{extension}") or secret_file(f"/{extension}")
        if why is None and (rejected := reject_name(f"a{extension}")) is not None:
            why = rejected[0]
        if why is not None:
            raise ConfigError(f"{extension} files are never indexed: {why}")


def _extension(word: str) -> str:
    name = word.strip().removeprefix("*").lower()
    name = name if name.startswith(".") else f".{name}"
    if len(name) < 2 or any(c in name for c in "*?/\\ "):
        raise ConfigError(f"{word!r} is not an extension; write it as .tpl or tpl")
    return name


def _listed(items: list[str]) -> str:
    return " ".join(map(one_line, items)) or "none"
