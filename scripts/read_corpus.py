"""Read every file of some folders as a sync would, and say what became of each.

    python scripts/read_corpus.py FOLDER… [--json OUT.jsonl] [--index] [--no-ocr]

Every file that the walk admits goes through the real reading (content rules, extraction in the
worker, masking). Prints one line a format and reason, the slowest files and the peak memory of
this process and of the workers. ``--index`` also syncs each folder into a store of its own in a
temporary folder. ``--json`` writes one line a file, as it is done.

Ends with 1 if a file was neither read nor named with its reason, was read without any text and
without a word about that, crashed its parser, or took much longer than the limit allows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TextIO

from rag_agent.config import Config
from rag_agent.errors import ExtractError
from rag_agent.extract import close
from rag_agent.extract.languages import language_of
from rag_agent.extract.ocr import NEEDED, PAGE_SECONDS, OcrRules, state
from rag_agent.extract.sandbox import SECONDS
from rag_agent.index import Index
from rag_agent.sync import reasons
from rag_agent.sync.sync import read_document
from rag_agent.sync.walk import Candidate, WalkRules, rules_from, walk
from rag_agent.types import Document, Skipped

READ = "read"
SILENT = "read without text, not a word why"
CRASHED = "parser crashed"
_SLACK = 1.5  # times the limit: starting a worker and ending one take their time, too
_SHOWN = 12
_FIGURES = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. Pages are those with text, by OCR, with neither, and blank ones."""

    path: str
    format: str
    outcome: str
    detail: str = ""
    size: int = 0
    seconds: float = 0.0
    characters: int = 0
    pages: tuple[int, int, int, int] = (0, 0, 0, 0)
    warnings: tuple[str, ...] = ()


def main() -> int:
    """Run over the folders; the exit code is 0 when nothing is unmentioned, crashed or late."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write one line a file")
    parser.add_argument("--index", action="store_true", help="also sync each into a store")
    parser.add_argument("--no-ocr", action="store_true", help="leave tesseract out")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit, for the verdict")
    arguments = parser.parse_args()
    folders = [folder.resolve(strict=True) for folder in arguments.folders]
    # Line by line, so that after a crash the last line names the file before.
    with (arguments.json or Path(os.devnull)).open("w", encoding="utf-8", buffering=1) as log:
        outcomes = [
            o
            for folder in folders
            for o in read_folder(folder, log, _rules(ocr=not arguments.no_ocr))
        ]
    close()  # so that the system counts the worker's memory
    memory = peak_memory()
    faults = [fault for folder in folders for fault in unmentioned(folder, outcomes)]
    faults += [fault for outcome in outcomes for fault in judged(outcome, arguments.seconds)]
    print_table(outcomes)
    print_slowest(outcomes)
    print(memory)
    if arguments.index:
        for folder in folders:
            faults += sync_folder(folder)
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{len(outcomes):,} files, {len(faults):,} faults")
    return 1 if faults else 0


def read_folder(folder: Path, log: TextIO, rules: WalkRules) -> Iterator[Outcome]:
    """The outcome of each file and of each folder that is left out, with absolute paths."""
    skipped: list[Skipped] = []
    engine = state(rules.ocr)
    for candidate in walk(folder, rules, skipped.append):
        outcome = read(folder, candidate, rules, engine)
        log.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
        yield outcome
    for one in skipped:
        outcome = Outcome(f"{folder}/{one.path}", _format(one.path), one.reason, one.detail)
        log.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")
        yield outcome


def read(folder: Path, candidate: Candidate, rules: WalkRules, engine: str) -> Outcome:
    """One file through the real reading."""
    started = time.monotonic()
    document, reason, detail = None, "", ""
    try:
        document = _document(candidate, rules, engine)
    except ExtractError as error:
        reason, detail = error.reason, error.detail
    except OSError as error:
        reason, detail = "unreadable", str(error)
    seconds = time.monotonic() - started
    path, name = f"{folder}/{candidate.path}", _format(candidate.path)
    if document is None:
        return Outcome(path, name, reason, detail, candidate.size, round(seconds, 3))
    has_text = bool(document.text.strip())
    return Outcome(
        path,
        name,
        READ if has_text or document.warnings or not candidate.size else SILENT,
        "" if has_text else "; ".join(document.warnings) or "empty",
        candidate.size,
        round(seconds, 3),
        len(document.text),
        pages_of(document),
        document.warnings,
    )


def _document(candidate: Candidate, rules: WalkRules, engine: str) -> Document:
    """As a sync reads it in the end: pictures and pages without text by OCR, where there is one."""
    document = None
    try:
        document, _ = read_document(candidate, rules)
        if not engine or document.coverage is None or not document.coverage.without:
            return document
    except ExtractError as error:
        if not engine or error.reason != NEEDED:
            raise
    try:
        return read_document(candidate, rules, engine=engine)[0]
    except ExtractError as error:
        if document is None:
            raise
        return replace(document, warnings=(*document.warnings, f"OCR: {error.reason}"))


def pages_of(document: Document) -> tuple[int, int, int, int]:
    """How many pages have text of their own, text by OCR, none though drawn on, nothing at all."""
    c = document.coverage
    if c is None:
        return 0, 0, 0, 0
    return c.text, c.ocr, c.without, max(0, len(document.pages) - c.text - c.ocr - c.without)


def unmentioned(folder: Path, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Files on the disk that no outcome names, by themselves or by a folder above them."""
    named = {outcome.path for outcome in outcomes}
    for parent, _, files in os.walk(folder):
        for file in files:
            path = Path(parent, file)
            above = (f"{a.as_posix()}/" for a in path.parents)
            if path.as_posix() not in named and not any(a in named for a in above):
                yield f"{path}: unmentioned"


def judged(outcome: Outcome, limit: float) -> Iterator[str]:
    """What must not have happened to a file."""
    if outcome.outcome in (SILENT, CRASHED):
        yield f"{outcome.path}: {outcome.outcome} {outcome.detail}".rstrip()
    if outcome.seconds > (limit + sum(outcome.pages[1:3]) * PAGE_SECONDS) * _SLACK:
        yield f"{outcome.path}: took {outcome.seconds:.0f} s"


def print_table(outcomes: Sequence[Outcome]) -> None:
    """One line a format and outcome: files, megabytes, seconds, pages, and an example."""
    print(
        f"{'format':12} {'outcome':28} {'files':>6} {'MB':>8} {'s':>8}  pages text/OCR/none/blank"
    )
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(_group(outcome), []).append(outcome)
    for (name, what), group in sorted(groups.items()):
        size = sum(one.size for one in group) / 1e6
        seconds = sum(one.seconds for one in group)
        pages = [sum(one.pages[kind] for one in group) for kind in range(4)]
        shown = "/".join(f"{count:,}" for count in pages) if any(pages) else ""
        print(f"{name:12} {what:28} {len(group):6,} {size:8.1f} {seconds:8.1f}  {shown}".rstrip())
    print_details(outcomes)


def _group(outcome: Outcome) -> tuple[str, str]:
    if outcome.outcome == reasons.FILE_TYPE:
        return "(others)", outcome.outcome  # a line for each of their endings would hide the rest
    if outcome.outcome == READ and not outcome.characters and outcome.size:
        return outcome.format, f"{READ}, no text"
    return outcome.format, outcome.outcome


def print_details(outcomes: Sequence[Outcome]) -> None:
    """What was said of files that were opened, most often first, figures left out."""
    said = Counter(
        f"{one.format}: {one.outcome} ({_FIGURES.sub('#', detail)})"
        for one in outcomes
        if one.size
        for detail in {one.detail, *one.warnings}
        if detail
    )
    print("\nwhat was said:")
    for line, count in said.most_common():
        print(f"{count:6,} {line}")


def print_slowest(outcomes: Sequence[Outcome]) -> None:
    """The files that took longest."""
    print("\nslowest:")
    for one in sorted(outcomes, key=lambda one: -one.seconds)[:_SHOWN]:
        print(f"{one.seconds:8.2f} s  {one.size / 1e6:6.2f} MB  {one.outcome:16} {one.path}")
    print()


def peak_memory() -> str:
    """Largest resident size so far of this process, and of a worker that has ended."""
    try:
        import resource
    except ImportError:
        return "peak memory: this system does not tell"
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    own, others = (
        resource.getrusage(who).ru_maxrss * unit / 1e6
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f"peak memory: this process {own:,.0f} MB, a worker {others:,.0f} MB"


def sync_folder(folder: Path) -> Iterator[str]:
    """Sync the folder by words into a store that is thrown away; what it left unmentioned."""
    with tempfile.TemporaryDirectory() as scratch:
        index = Index(folder, Path(scratch), "environment")
        with index:
            done = index.sync(folder, vectors=False)
            documents = index.find("*")
            named = {document.path for document in documents} | {s.path for s in done.skipped}
        print(
            f"sync {folder}: {done.added:,} files, {done.chunks:,} chunks, "
            f"{len(done.skipped):,} skipped, {len(done.warnings):,} warnings, {done.seconds:.1f} s"
        )
        outcomes = [Outcome(f"{folder}/{path}", "", "") for path in named]
        yield from unmentioned(folder, outcomes)
    print(peak_memory())


def _rules(*, ocr: bool) -> WalkRules:
    default = Config()
    return rules_from(
        (),
        (),
        (),
        default.max_file_bytes,
        default.max_document_bytes,
        ocr=OcrRules() if ocr else OcrRules(pages=0),
    )


def _format(path: str) -> str:
    language = language_of(path)
    if language is not None:
        return language.name
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].lower()[:12] if "." in name else "none"


if __name__ == "__main__":
    sys.exit(main())
