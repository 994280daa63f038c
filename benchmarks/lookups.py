"""Draw lookups from indexes: what people paste or type to find the place where just that stands.

Drawn are error messages (with their placeholders filled), options, constants, keys of settings and
sentences of documents that stand in few files, and paths and names of files. All of the files that
have the piece answer, with the lines where it stands, and what defines ``module.name``. The same
are drawn every time.

    python benchmarks/lookups.py WORK/stores --out lookups.jsonl
    python scripts/evaluate.py lookups.jsonl _roots.json --work WORK --passages --by kind

WORK/stores are the indexes that `make eval` leaves, which are only read; _roots.json says what they
were made of. A line of the file is a question as `rag-agent eval run` reads it, its kind what is
looked for. `rag-agent eval compare` tells two runs of it apart.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rag_agent.errors import RagError
from rag_agent.eval.naming import prefix_below
from rag_agent.store import Store
from rag_agent.types import Chunk

_FEW = 3  # files that may have a piece: of what more have, none is the place
_TRIES = 400  # pieces of a kind that are looked for in all files
_PATHS = 6  # of each index, asked for whole and by their names

# Neither what stands between two strings, nor a text in three quotation marks, nor what is drawn.
_STRING = re.compile(
    r"(?<!class=)(?<!className=)(?:(?<![\w\"])\"([^\s\"<>,;](?:[^\"\\\n]|\\.){20,140}(?<![(<]))\"(?!\")"
    r"|(?<![\w'])'([^\s'<>,;](?:[^'\\\n]|\\.){20,140}(?<![(<]))'(?!'))"
)
_PLACEHOLDER = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-+#0-9.]*[lhz]*(?:[sdiufgxXpqrvc](?![a-z])|@)"
    r"|[#$]?\{+[^{}\n]*\}+|\\\([^)\n]*\)|\$[A-Za-z_]\w*"
)
_WORD = re.compile(r"[('`]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[]).,:;!?'`]*")
_ESCAPE = re.compile(r"\\(.)")
_NUMBERED = re.compile(r"%.*[diufgxX]$")
_NUMBERS, _WORDS = ("42", "7", "404"), ("foo", "main", "abc", "data/list", "first")
# Without the variables of style sheets.
_OPTION = re.compile(r"(?<![\w-])(?<!var\()--[a-z][a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])(?!\s*:)")
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b")
_GUARD = re.compile(r"#\s*ifndef\s+(\w+)\s+#\s*define\s+\1\b")
_KEY_NAME = r"([a-z][a-z0-9]+(?:[._-][a-z][a-z0-9]*){2,4})"
_QUOTED_KEY = re.compile(rf"(?<=[\"'`]){_KEY_NAME}(?=[\"'`])")
_KEY_WITH_VALUE = re.compile(rf"(?m)^[ \t]*{_KEY_NAME}[ \t]*[=:]")
_ADDRESS = re.compile(r"^www\.|\.(?:com|org|net|io|dev|gz|zip|jpg|png|html|txt|xml)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
# Between the words of a sentence; in code each of its lines may begin as a comment does.
_BETWEEN = r"\s+(?:[/#*!;>%-]+\s+)*"
_MARKUP = re.compile(r"[|<>{}\[\]*#]|::|http")


@dataclass(frozen=True)
class File:
    """A file of an index: its path, whether it is code, prose or data, its text, what it defines.

    ``defined`` has the lines of each name in lower case.
    """

    path: str
    kind: str
    text: str
    defined: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """What is looked for: the pieces of a file, what is asked with one, and how many are drawn.

    A name is found where it is no part of a longer one; of a message the placeholders are filled.
    """

    name: str
    pieces: Callable[[File], Iterator[str]]
    forms: tuple[str, ...]
    count: int
    is_name: bool = True
    is_message: bool = False


@dataclass(frozen=True)
class Place:
    """Lines of a file, both ends included; None if all of it is meant."""

    path: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Lookup:
    """What is asked, of which kind, the piece in it as it stands in the files, and where."""

    kind: str
    query: str
    piece: str
    places: Sequence[Place]


def main() -> int:
    """Draw and write; returns 1 if nothing could be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stores", type=Path, nargs="+", help="folders of indexes (NAME/rag.db)")
    parser.add_argument("--out", type=Path, required=True, help="the questions to write")
    parser.add_argument("--seed", default="lookups", help="others are drawn with another")
    arguments = parser.parse_args()
    rows: list[Mapping[str, object]] = []
    for database in sorted(path for folder in arguments.stores for path in folder.rglob("rag.db")):
        name = database.parent.name
        try:
            with Store.open(database, readonly=True) as store:
                rows += topics(store, name, arguments.seed)
        except RagError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    arguments.out.write_text(lines, encoding="utf-8", newline="\n")
    for kind, number in Counter(row["kind"] for row in rows).items():
        print(f"{number:6,} {kind}")
    return 0 if rows else 1


def topics(store: Store, name: str, seed: str) -> list[Mapping[str, object]]:
    """The lookups of one index as questions, their paths below the checkout of that name."""
    if not (roots := store.roots()):
        return []
    above = prefix_below(Path(roots[0].path), name)
    return [
        {
            "id": f"lookup-{name}-{number}",
            "set": "lookups",
            "repo": name,
            "kind": lookup.kind,
            "query": lookup.query,
            "piece": lookup.piece,
            "relevant": [_relevant(place, above) for place in lookup.places],
        }
        for number, lookup in enumerate(drawn(read(store), f"{seed} {name}"), start=1)
    ]


def read(store: Store) -> list[File]:
    """The files of the first tracked folder in the order of their paths, as they were indexed."""
    root = store.roots()[0]
    files = []
    for path, document in sorted(store.documents(root).items()):
        chunks = [one.chunk for one in store.chunks_of(document.id)]
        defined = {
            one.name.lower(): (one.start, one.end) for chunk in chunks for one in chunk.definitions
        }
        files.append(File(path, document.kind, _text(chunks), defined))
    return files


def drawn(files: Sequence[File], seed: str) -> Iterator[Lookup]:
    """The lookups in these files; each kind is drawn without regard to the others."""
    for kind in KINDS:
        yield from _of_texts(kind, files, random.Random(f"{seed} {kind.name}"))
    yield from _of_paths(files, random.Random(f"{seed} paths"))


def places_of(piece: str, files: Sequence[File], *, is_name: bool) -> list[Place]:
    """Where a piece stands, whatever its lines are.

    Nowhere if so many files have it that none of them is meant.
    """
    words = piece.split()
    telling = max(words, key=len)
    whole = _BETWEEN.join(map(re.escape, words))
    # A hyphen goes on with names that have some; ``${SOME_NAME-default}`` has the name.
    letter = r"[\w-]" if "-" in piece else r"\w"
    pattern = re.compile(rf"(?<!{letter}){whole}(?!{letter})" if is_name else whole)
    places: list[Place] = []
    for file in files:
        if telling in file.text:
            places += [_place(file, match) for match in pattern.finditer(file.text)]
        if len({place.path for place in places}) > _FEW:
            return []
    return list(dict.fromkeys(places))


def defining(name: str, files: Sequence[File]) -> list[Place]:
    """What ``module.name`` is a name of: that definition, or a file with such a path.

    Nowhere if there are many.
    """
    *before, last = name.lower().split(".")
    places: list[Place] = []
    for file in files if before else ():
        path, text = file.path.lower(), file.text.lower()
        if f"/{path.rpartition('.')[0]}".endswith("/" + "/".join((*before, last))):
            places.append(Place(file.path))
        elif last in file.defined and all(one in path or one in text for one in before):
            places.append(Place(file.path, *file.defined[last]))
    return places if len(places) <= _FEW else []


def _of_texts(kind: Kind, files: Sequence[File], dice: random.Random) -> Iterator[Lookup]:
    endings = {PurePosixPath(file.path).suffix for file in files} - {""}
    pieces = sorted({piece for file in files for piece in kind.pieces(file)})
    dice.shuffle(pieces)
    left = kind.count
    for piece in pieces[:_TRIES]:
        if not left:
            return
        if kind.is_name and PurePosixPath(piece).suffix in endings:
            continue  # it is called like a file
        if places := places_of(piece, files, is_name=kind.is_name):
            left -= 1
            places += defining(piece, files) if kind.is_name else []
            said = _filled(piece, dice) if kind.is_message else piece
            yield Lookup(kind.name, _asked(dice, kind.forms, said), piece, places)


def _of_paths(files: Sequence[File], dice: random.Random) -> Iterator[Lookup]:
    """Of files with a text, so that there is something to ask of them."""
    paths = [file.path for file in files if file.text]
    for path in dice.sample(paths, min(_PATHS, len(paths))):
        name = PurePosixPath(path).name
        for kind, piece in (("path", path), ("file name", name)):
            same = [file.path for file in files if f"/{file.path}".endswith(f"/{piece}")]
            if len(same) <= _FEW and (kind == "file name" or piece != name):
                yield Lookup(kind, _asked(dice, PATH_FORMS, piece), piece, [*map(Place, same)])


def _asked(dice: random.Random, forms: Sequence[str], piece: str) -> str:
    return dice.choice(forms).format(piece)


def _messages(file: File) -> Iterator[str]:
    """Strings of prose in code that is no test: what a program may say."""
    if file.kind != "code" or re.search("test|spec|example", file.path.lower()):
        return
    for match in _STRING.finditer(file.text):
        text = match[1] or match[2]
        said = _PLACEHOLDER.sub("", text).split()
        words = sum(_WORD.fullmatch(one) is not None for one in said)
        if words >= 4 and words > 0.7 * len(said) and "http" not in text:
            yield text.strip()


def _options(file: File) -> Iterator[str]:
    yield from _OPTION.findall(file.text)


def _constants(file: File) -> Iterator[str]:
    """Those of code, without what guards a header against being read twice."""
    if file.kind == "code":
        guards = set(_GUARD.findall(file.text))
        yield from (name for name in _CONSTANT.findall(file.text) if name not in guards)


def _keys(file: File) -> Iterator[str]:
    """Those that are quoted, and those to which a file of settings gives a value."""
    found = _QUOTED_KEY.findall(file.text)
    if file.kind == "data":
        found += _KEY_WITH_VALUE.findall(file.text)
    for key in found:
        if "." in key and not _ADDRESS.search(key):  # "state-of-the-art" is none
            yield key


def _sentences(file: File) -> Iterator[str]:
    """Sentences of documents; markup and addresses are not typed."""
    if file.kind != "prose":
        return
    for piece in _SENTENCE_END.split(file.text):
        sentence = " ".join(piece.split())
        is_long = 50 < len(sentence) < 220 and len(sentence.split()) >= 9
        is_whole = sentence[:1].isupper() and sentence.endswith((".", "!", "?"))
        if is_long and is_whole and not _MARKUP.search(sentence):
            yield sentence


KINDS = (
    Kind("message", _messages, ("{}",), 8, is_name=False, is_message=True),
    Kind("message, why", _messages, ('I get "{}", why?',), 6, is_name=False, is_message=True),
    Kind("option", _options, ("what does {} do", "{}"), 5),
    Kind("constant", _constants, ("where is {} used", "what does {} mean", "{}"), 5),
    Kind("key", _keys, ("where is {} set", "what is {}", "{}"), 5),
    Kind("sentence", _sentences, ("{}",), 6, is_name=False),
)
PATH_FORMS = ("{}", "what is in {}", "explain {}")


def _filled(piece: str, dice: random.Random) -> str:
    """A message as a program says it."""

    def filling(match: re.Match[str]) -> str:
        return dice.choice(_NUMBERS if _NUMBERED.match(match[0]) else _WORDS)

    said = _PLACEHOLDER.sub(filling, piece)
    return _ESCAPE.sub(lambda match: {"n": " ", "t": " "}.get(match[1], match[1]), said)


def _text(chunks: Sequence[Chunk]) -> str:
    """The text of a file; what its index leaves out is an empty line."""
    lines: dict[int, str] = {}
    for chunk in chunks:
        lines.update(enumerate(chunk.text.split("\n"), start=chunk.start))
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))


def _place(file: File, match: re.Match[str]) -> Place:
    start = file.text.count("\n", 0, match.start()) + 1
    return Place(file.path, start, start + match[0].count("\n"))


def _relevant(place: Place, above: str) -> Mapping[str, object]:
    path = f"{above}/{place.path}" if above else place.path
    if place.start is None:
        return {"path": path}
    return {"path": path, "start": place.start, "end": place.end}


if __name__ == "__main__":
    sys.exit(main())
