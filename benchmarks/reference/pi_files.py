"""What pi-local-rag 0.4.1 indexes of a folder, and how it cuts it.

Described from its constants.ts and chunking.ts (release 0.4.1 of github.com/vahidkowsari/
pi-local-rag, MIT), written anew. ``.gitignore`` files of the project are not honoured. Its list
names ``.env``, ``.gitignore`` and ``.dockerfile``, but to Node the name ``.env`` has no extension:
only such as ``local.env`` are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TEXT = frozenset(
    """
    .md .mdx .txt .rst .ts .tsx .js .jsx .mjs .cjs .py .rs .go .java .kt .kts .scala .c .cc .cpp
    .cxx .h .hpp .hxx .cs .fs .vb .swift .m .mm .rb .php .pl .lua .dart .ex .exs .erl .clj .cljs
    .edn .vue .svelte .astro .css .scss .sass .less .html .htm .json .jsonc .yaml .yml .toml .ini
    .xml .csv .tsv .sh .bash .zsh .fish .ps1 .sql .graphql .gql .proto .env .gitignore .dockerfile
    .tf .hcl
    """.split()
)
BINARY = frozenset({".pdf", ".docx"})
SKIPPED_FOLDERS = frozenset(
    "node_modules .git .next dist build __pycache__ .venv venv .cache".split()
)

_TEXT_BYTES = 500_000
_BINARY_BYTES = 10_000_000

_LINES = 50
_LOOK_BACK = 15  # of these last lines of a chunk, the last blank one may end it
_SHORTEST = 11  # but no chunk is cut shorter than this many lines and one
_CHARACTERS = 20  # a chunk needs more than this to be kept


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk. Lines count from 1 and include both ends."""

    start: int
    end: int
    text: str


def collect(folder: Path) -> Iterator[Path]:
    """The files that are indexed, folders in the order of their names' bytes, as Node lists them.

    Hidden folders and SKIPPED_FOLDERS are left out, hidden files are not.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name)):
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED_FOLDERS and not entry.name.startswith("."):
                yield from collect(Path(entry.path))
            continue
        ending = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122  Path("a.").suffix differs
        limit = _TEXT_BYTES if ending in TEXT else _BINARY_BYTES if ending in BINARY else 0
        if limit and entry.is_file() and entry.stat().st_size < limit:
            yield Path(entry.path)


def read(path: Path) -> str:
    """The text of a file; HTML as Markdown, whose lines are then those that chunks count.

    pi-local-rag converts with turndown, mammoth and pdf-parse (and recognises scanned pages where
    tesseract is installed); here it is markdownify, mammoth and pdfminer.

    Raises:
        Exception: what those libraries raise for a file that they cannot read, and OSError.
    """
    ending = path.suffix.lower()
    if ending == ".pdf":
        from pdfminer.high_level import extract_text

        return str(extract_text(path))
    if ending == ".docx":
        import mammoth

        with path.open("rb") as stream:
            return str(mammoth.extract_raw_text(stream).value)
    # Node reads byte for byte what is no UTF-8 as U+FFFD, and keeps "\r" before "\n".
    text = path.read_bytes().decode("utf-8", "replace")
    return _markdown(text) if ending in (".html", ".htm") else text


def chunk(text: str) -> list[Piece]:
    """50 lines each, without overlap; a blank line among the last 14 ends a chunk earlier."""
    lines = text.split("\n")
    pieces: list[Piece] = []
    start = 0
    while start < len(lines):
        end = min(start + _LINES, len(lines))
        lowest = max(start + _SHORTEST, end - _LOOK_BACK + 1)
        blank = (at for at in range(end - 1, lowest - 1, -1) if not lines[at].strip())
        end = next(blank, end - 1) + 1
        piece = "\n".join(lines[start:end])
        if len(piece.strip()) > _CHARACTERS:
            pieces.append(Piece(start + 1, end, piece))
        start = end
    return pieces


def _markdown(html: str) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    for tag in soup(["script", "style", "nav", "footer"]):
        tag.decompose()
    return str(MarkdownConverter(heading_style="ATX").convert_soup(soup))
