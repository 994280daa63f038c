"""``/rag`` inside a coding agent: one line of text in place of a shell's words."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from rag_agent.commands.completion import complete, index_values
from rag_agent.commands.help import slash_overview
from rag_agent.commands.layout import one_line, plain, printable
from rag_agent.commands.parsing import Call, Usage, parse
from rag_agent.commands.registry import VERBS, Opener, Result
from rag_agent.errors import RagError
from rag_agent.paths import expanded
from rag_agent.progress import Progress, Report

PROGRAM = "/rag"
_CELLS = 24  # of the bar, as pi-local-rag's
_STAGES = {"scan": "Scanning", "extract": "Indexing", "embed": "Embedding", "rerank": "Ranking"}
_UNITS = {"embed": "chunks", "rerank": "passages"}
_MOST_OFFERED = 100  # candidates; a list in an agent's editor is read, not scrolled
_SPECIAL = set(" \t\"'\\")


def parse_line(line: str) -> Call:
    """The verb that the text behind ``/rag`` calls; nothing calls ``status``.

    Raises:
        Usage: it calls none that makes sense here.
    """
    words = split(line) or ["status"]
    call = parse(words, PROGRAM)
    if call.verb.terminal:
        raise Usage(f"{PROGRAM}: {call.verb.name} is for a terminal: `rag-agent {call.verb.name}`")
    return call


def split(line: str) -> list[str]:
    """Words as a shell splits them; where a quote is not closed, as spaces do."""
    # With the rules of POSIX a backslash would vanish from Windows' paths.
    words = shlex.shlex(line, posix=True, punctuation_chars=False)
    words.whitespace_split = True
    words.commenters = ""
    if os.name == "nt":
        words.escape = ""
    try:
        return list(words)
    except ValueError:
        return line.split()


def run(call: Call, open_index: Opener, report: Report) -> dict[str, object]:
    """What the verb has to say, as bridges show it: ``text`` without styles, and its ``level``."""
    try:
        if call.verb.name == "help" and not call.arguments.verb:
            result = Result({}, slash_overview())
        else:
            result = call.verb.run(open_index, call.arguments, report)
    except (RagError, Usage) as error:
        return problem(call.verb.name, error)
    text = "\n".join(part for part in (result.text, result.problem) if part)
    return {
        "verb": call.verb.name,
        "level": "error" if result.problem else "info",
        "text": printable(plain(text)),
        "data": result.data,
    }


def problem(verb: str, error: Exception) -> dict[str, object]:
    """An error as the answer of a verb; help that was asked for is none."""
    asked = isinstance(error, Usage) and error.code == 0
    text = error.message if isinstance(error, Usage) else str(error)
    return {
        "verb": verb,
        "level": "info" if asked else "error",
        "text": printable(plain(text)).strip(),
        "data": None,
    }


def offers(line: str, base: Path, open_index: Opener) -> list[dict[str, str]]:
    """What may complete the text behind ``/rag ``: whole lines, each with what to show for it."""
    before, current = _cursor(line)
    stem = line[: len(line) - len(current)]
    found = complete(before, current, index_values(open_index))
    offered = [
        {"value": stem + _quoted(c.word), "label": c.word, "description": c.help}
        for c in found.candidates
        if _sensible(before, c.word) and c.word == one_line(c.word)
    ]
    if found.files:
        offered += [
            {"value": stem + _quoted(name), "label": name, "description": ""}
            for name in _paths(current, base)
            if name == one_line(name)
        ]
    return offered[:_MOST_OFFERED]


def progress_lines(progress: Progress) -> str:
    """A status line and a widget of three lines, as pi-local-rag shows them."""
    stage = _STAGES[progress.stage]
    unit = _UNITS.get(progress.stage, "files")
    done, total, item = progress.done, progress.total, one_line(progress.item)
    if not total:
        return f"■ {stage} │ {done:,} {unit}\n\nfile: {item}\n{done:,} {unit}"
    share = min(1.0, done / total)
    filled = int(share * _CELLS)
    bar = "█" * filled + "░" * (_CELLS - filled) + f" {share:.0%}"
    if progress.stage == "extract":
        counted = f"{done - progress.unchanged:,} indexed · {progress.unchanged:,} unchanged"
        status = (
            f"■ {stage} {share:.0%} │ {done:,}/{total:,} files │ {progress.unchanged:,} unchanged"
        )
    else:
        counted = f"{done:,} of {total:,} {unit}"
        status = f"■ {stage} {share:.0%} │ {done:,}/{total:,} {unit}"
    return f"{status}\n{bar}\nfile: {item}\ndone: {counted}"


def _cursor(line: str) -> tuple[list[str], str]:
    """The words before the one at the end of the line, and that one as it is written so far."""
    if not line or line[-1].isspace():
        return split(line), ""
    current = line.split()[-1]
    return split(line[: len(line) - len(current)]), current


def _quoted(word: str) -> str:
    return shlex.quote(word) if _SPECIAL & set(word) else word


def _sensible(before: list[str], word: str) -> bool:
    """Whether a candidate makes sense here: no verbs for a terminal, no options of one."""
    if before and before[0] != "help":
        return word not in ("--json", "--no-color", "--verbose")
    verbs = [v for name, v in VERBS.items() if word in (name, name.partition(" ")[0])]
    return any(not v.terminal for v in verbs)


def _paths(current: str, base: Path) -> list[str]:
    """Files and folders that begin like this, below ``base`` where the path is relative."""
    folder, _, start = current.rpartition("/")
    inside = base / expanded(folder + "/" if current.startswith("/") and not folder else folder)
    try:
        entries = sorted(inside.iterdir(), key=lambda p: (not p.is_dir(), p.name))
    except (OSError, RuntimeError, ValueError):
        return []
    prefix = f"{folder}/" if folder or current.startswith("/") else ""
    return [
        f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in entries
        if entry.name.startswith(start) and (start or not entry.name.startswith("."))
    ]
