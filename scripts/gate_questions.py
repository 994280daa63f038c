"""What scripts/fit_gate.py asks the indexes: labelled questions, plain ones for names, turns."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from rag_agent.context.gate import silence
from rag_agent.eval.topics import read_topics
from rag_agent.search.definitions import written_as_code

TURNS = Path(__file__).resolve().parent.parent / "fixtures" / "eval" / "turns.jsonl"
QUESTIONS = 20  # of its own and of others, for each index
INDEXES_OF_A_TURN = 8
NAMES = 12  # the same of questions for a name, and a third as many for a file
FORMS = (
    "where is {} defined?",
    "what does {} do",
    "explain {}",
    "{}",
    "Where is {} implemented?",
    "show me {}",
    "what arguments does {} take?",
    "how does {} work",
    "wo ist {} definiert?",
    "why does {} return early here?",
    "{}は何をしますか",
    "fix the bug in {}",
    "add a test for {}",
    "who calls {}?",
)
# What people paste: messages, options, constants, keys of settings.
PIECES = (
    (
        r'"([A-Z]?[a-z]+(?: [\w.,:%{}()-]+){3,15})"',
        ("{}", 'I get "{}", why?', "{}\nfix this", "woher kommt {}"),
    ),
    (
        r"(?<![\w-])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)\b",
        ("what does {} do", "{}", "add a test for {}"),
    ),
    (r"\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b", ("where is {} used", "what does {} mean?", "{}")),
    (r"(?<![\w./-])([a-z][a-z0-9]+(?:[._-][a-z0-9]+){2,4})(?![\w/(])", ("where is {} set?", "{}")),
)
PASTED = 4  # of each
FORMS_OF_A_FILE = ("{}", "what is in {}?", "explain {} to me", "refactor {}", "was macht {}?")


def plan(pairs: Iterator[tuple[Path, Path]]) -> Iterator[tuple[Path, list[tuple[str, str]]]]:
    """For each index what to ask it."""
    own: dict[Path, list[str]] = {}
    for topics, stores in pairs:
        for topic in read_topics(topics):
            own.setdefault(stores / (topic.repo or topics.name), []).append(topic.query)
    turns = read_turns()
    for store, queries in sorted(own.items()):
        others = [
            query
            for other, asked in own.items()
            if other.parent == store.parent and other.name != store.name
            for query in asked
        ]
        texts = [("own", query) for query in drawn(queries, QUESTIONS, "own")]
        near = [one for one in own if one.parent == store.parent and one != store]
        texts += by_name(store, near)
        texts += by_piece(store, near)
        texts += [("foreign", query) for query in drawn(others, QUESTIONS, str(store.name))]
        names = [str(other) for other in own]
        texts += [
            ("turn", turn)
            for turn in turns
            if silence(turn) is None and str(store) in drawn(names, INDEXES_OF_A_TURN, turn)
        ]
        yield store, texts


def by_name(store: Path, others: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Questions for what the index defines and the files it has, and for what others have."""
    for take, count, forms in (
        (defined_names, NAMES, FORMS),
        (file_names, NAMES // 3, FORMS_OF_A_FILE),
    ):
        here = take(store)
        known = {name.lower() for name in here}
        foreign = {name for other in others for name in drawn(take(other), NAMES, str(store))}
        strange = [name for name in sorted(foreign) if name.lower() not in known]
        for kind, names in (("named", here), ("stranger", strange)):
            for name in drawn(names, count, kind + store.name):
                yield kind, forms[digest(name)[0] % len(forms)].format(name)


def by_piece(store: Path, others: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """What stands in the index as people paste it, and what stands only in others."""
    here = "\n".join(texts_of(store))
    for pattern, forms in PIECES:
        own = pieces(store, pattern)
        foreign = {
            piece for other in others for piece in drawn(pieces(other, pattern), 4, store.name)
        }
        strange = [piece for piece in sorted(foreign) if piece not in here]
        for kind, found in (("pasted", own), ("elsewhere", strange)):
            for piece in drawn(found, PASTED, kind + store.name):
                yield kind, forms[digest(piece)[0] % len(forms)].format(piece)


@cache
def pieces(store: Path, pattern: str) -> tuple[str, ...]:
    """What a pattern finds in the texts of an index."""
    found = {piece for text in texts_of(store) for piece in re.findall(pattern, text)}
    return tuple(sorted(found))


@cache
def texts_of(store: Path) -> tuple[str, ...]:
    """The texts of the chunks of an index."""
    return tuple(read(store, "SELECT text FROM document_chunks"))


@cache
def defined_names(store: Path) -> tuple[str, ...]:
    """What the index defines, as people write it: half of what could be words in backticks."""
    rows = read(store, "SELECT DISTINCT name FROM definitions")
    names = sorted(name for name in rows if re.fullmatch(r"[^\W\d]\w{3,40}", name))
    return tuple(name if is_plain(name) else f"`{name}`" for name in names)


def is_plain(name: str) -> bool:
    """Whether a name is asked for without backticks."""
    return written_as_code(name) or digest(name)[1] % 2 == 0


@cache
def file_names(store: Path) -> tuple[str, ...]:
    """The files of code and text that the index has, by name and partly with a folder."""
    paths = read(store, "SELECT path FROM documents WHERE kind <> 'data'")
    names = ["/".join(path.split("/")[-1 - digest(path)[0] % 2 :]) for path in sorted(paths)]
    return tuple(dict.fromkeys(name for name in names if "." in name.strip(".")))


def read(store: Path, statement: str) -> list[str]:
    """The first column of an index."""
    with closing(sqlite3.connect(f"{(store / 'rag.db').as_uri()}?mode=ro", uri=True)) as database:
        return [row[0] for row in database.execute(statement)]


def read_turns() -> list[str]:
    """The turns that need no search."""
    rows = map(json.loads, TURNS.read_text(encoding="utf-8").splitlines())
    return [row["text"] for row in rows if row.get("wants") is False]


def drawn(texts: Sequence[str], count: int, seed: str) -> list[str]:
    """A sample that is the same in every call."""
    return sorted(texts, key=lambda text: digest(seed + text))[:count]


def digest(text: str) -> bytes:
    """What draws and splits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
