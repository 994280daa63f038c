"""How often what is pasted or typed out of a project finds the place where just that stands.

From the files of every index lookups are drawn: error messages (with their placeholders filled),
options, constants, keys of settings, sentences of documents, paths and names of files, each in
few files; these are what answers. Printed is, by kind, how often one of them is the first hit, one
of the first three, and how often what is shown of it has the piece. The same are drawn every time.

    python benchmarks/lookups.py WORK/stores --words

WORK/stores are the indexes that `make eval` leaves; the files they were made of are still there.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_agent.embed import load
from rag_agent.embed.models import DEFAULT
from rag_agent.errors import RagError
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import Embedder

_LARGEST = 400_000  # characters of a file that is looked at
_TRIES = 400  # pieces that are looked for in all files, of each kind
_DOCUMENTS = (".md", ".rst", ".adoc")
_NOT_CODE = (*_DOCUMENTS, ".txt", ".json", ".yml", ".yaml", ".html")
_PLACEHOLDER = re.compile(r"%[-+#0-9.]*[lz]*[sdiufxXqvc]|[#$]?\{[^{}\n]*\}|\\\([^)]*\)")
_ESCAPE = re.compile(r"\\(.)")
_FILLINGS = ("foo", "42", "main", "7", "abc")
_BLANK = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


@dataclass(frozen=True)
class Kind:
    """Pieces of some files, in how many files one may stand, and what is asked with it.

    ``pieces`` are those of one file by its path and text; ``count`` is how many are drawn.
    """

    pieces: str
    forms: tuple[str, ...]
    count: int
    files: int = 1
    where: str = ""


@dataclass(frozen=True)
class Lookup:
    """What is asked, the piece in it as it stands in the files, and these."""

    kind: str
    query: str
    piece: str
    files: frozenset[str]


_MESSAGE = r'"((?:[^"\\\n]|\\.){20,140})"|\'((?:[^\'\\\n]|\\.){20,140})\''
KINDS: Mapping[str, Kind] = {
    "message": Kind(_MESSAGE, ("{}",), 8, where="code"),
    'I get "message", why?': Kind(_MESSAGE, ('I get "{}", why?',), 6, where="code"),
    "--some-option": Kind(
        r"(?<![\w-])(--[a-z][a-z0-9]+-[a-z0-9]+(?:-[a-z0-9]+)*)\b", ("what does {} do",), 5, 3
    ),
    "SOME_CONSTANT": Kind(
        r"\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b",
        ("where is {} used", "what does {} mean", "{}"),
        5,
        2,
        where="code",
    ),
    "a.config.key": Kind(
        r"(?<![\w./-])([a-z][a-z0-9]+(?:[._-][a-z0-9]+){2,4})(?![\w/])",
        ("where is {} set", "{}", "what is {}"),
        5,
        2,
    ),
    "a sentence of a document": Kind("", ("{}",), 6, where="documents"),
}
PATHS = {"a/path.py": ("{}", "what is in {}", "explain {}"), "path.py": ("{}", "what does {} do")}


def main() -> int:
    """Draw, ask and print; returns 1 without an index."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stores", type=Path, nargs="+", help="folders of indexes, or of one")
    parser.add_argument("--words", action="store_true", help="search by words alone")
    arguments = parser.parse_args()
    embedder = None if arguments.words else load(DEFAULT)
    found: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    databases = [path for folder in arguments.stores for path in sorted(folder.rglob("rag.db"))]
    for database in databases:
        try:
            with Store.open(database, readonly=True) as store:
                print(database.parent.name, file=sys.stderr, flush=True)
                for lookup in drawn(store, random.Random(database.parent.name)):
                    found[lookup.kind].append(asked(store, lookup, embedder))
        except RagError as error:
            print(f"{database.parent.name} is left out: {error}", file=sys.stderr)
    print_table(found)
    return 0 if found else 1


def drawn(store: Store, dice: random.Random) -> Iterator[Lookup]:
    """The lookups of one index."""
    (root, *_) = store.roots()
    texts = {path: _read(Path(root.path) / path) for path in sorted(store.documents(root))}
    for name, kind in KINDS.items():
        pieces = sorted(set(_pieces(kind, texts)))
        dice.shuffle(pieces)
        left = kind.count
        for piece in pieces[:_TRIES]:
            files = frozenset(path for path, text in texts.items() if piece in text)
            if left and 1 <= len(files) <= kind.files:
                left -= 1
                yield Lookup(
                    name, dice.choice(kind.forms).format(_filled(piece, dice)), piece, files
                )
    for path in dice.sample(sorted(texts), min(6, len(texts))):
        name = path.rpartition("/")[2]
        for kind_of_path, piece in zip(PATHS, (path, name), strict=True):
            same = frozenset(one for one in texts if f"/{one}".endswith(f"/{piece}"))
            if len(same) < 3:
                form = dice.choice(PATHS[kind_of_path])
                yield Lookup(kind_of_path, form.format(piece), "", same)


def asked(store: Store, lookup: Lookup, embedder: Embedder | None) -> tuple[int, bool]:
    """At which place one of the files is, 0 for none of ten, and whether the piece is shown."""
    hits = search(store, lookup.query, embedder=embedder, limit=10).hits
    piece = " ".join(lookup.piece.split())
    for place, hit in enumerate(hits, 1):
        if hit.chunk.path in lookup.files:
            shown = (" ".join(chunk.text.split()) for chunk in (hit.chunk, *hit.more))
            return place, any(piece in text for text in shown)
    return 0, False


def print_table(found: Mapping[str, Sequence[tuple[int, bool]]]) -> None:
    """The shares of each kind."""
    print(
        "| asked | lookups | first | of the first three | shown |\n"
        "| --- | ---: | ---: | ---: | ---: |"
    )
    for kind, results in found.items():
        count = len(results)
        first = sum(place == 1 for place, _ in results) / count
        three = sum(1 <= place <= 3 for place, _ in results) / count
        shown = sum(is_shown for _, is_shown in results) / count
        last = f"{shown:.2f}" if kind in KINDS else ""
        print(f"| {kind} | {count} | {first:.2f} | {three:.2f} | {last} |")


def _pieces(kind: Kind, texts: Mapping[str, str]) -> Iterator[str]:
    for path, text in texts.items():
        folded = path.lower()
        if kind.where == "documents":
            if folded.endswith(_DOCUMENTS):
                yield from _sentences(text)
        elif not (kind.where == "code" and folded.endswith(_NOT_CODE)):
            if kind.pieces is _MESSAGE and re.search("test|spec|example", folded):
                continue
            found = ("".join(match.groups("")) for match in re.finditer(kind.pieces, text))
            yield from (one for one in found if kind.pieces is not _MESSAGE or _is_message(one))


def _is_message(text: str) -> bool:
    words = re.findall(r"[A-Za-z']{2,}", text)
    is_prose = len(words) >= 4 and text.count(" ") >= 3
    return is_prose and len(" ".join(words)) > 0.6 * len(text) and "http" not in text


def _sentences(text: str) -> Iterator[str]:
    """Sentences as they stand there on one line: markup and addresses are not typed."""
    for piece in _BLANK.split(text):
        is_long = 50 < len(piece) < 220 and len(piece.split()) >= 9
        if is_long and piece[0].isalpha() and not re.search(r"[|<>{}\[\]\n]|http", piece):
            yield piece


def _filled(piece: str, dice: random.Random) -> str:
    """A message as a program says it."""
    said = _PLACEHOLDER.sub(lambda _: dice.choice(_FILLINGS), piece)
    return _ESCAPE.sub(lambda match: {"n": " ", "t": " "}.get(match[1], match[1]), said)


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text if len(text) <= _LARGEST else ""


if __name__ == "__main__":
    sys.exit(main())
