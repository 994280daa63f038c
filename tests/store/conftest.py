from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_agent.store import Store, migrations
from rag_agent.types import Chunk, Definition, Document, Passage, Root, Source

Put = Callable[..., int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database file inside a project folder, not there yet."""
    folder = tmp_path / "project" / ".pi" / "rag"
    folder.mkdir(parents=True)
    return folder / "rag.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


@pytest.fixture
def root(store: Store, tmp_path: Path) -> Root:
    return store.add_root(str(tmp_path / "project"))


@pytest.fixture(scope="session")
def put() -> Put:
    """``put(store, root, path, *texts, **fields)``: one chunk of one passage for each text."""

    def put(
        store: Store,
        root: Root,
        path: str,
        *texts: str,
        heading: str = "",
        names: tuple[str, ...] = (),
        mtime: int = 1_770_000_000,
        sha256: str = "0" * 64,
        words_only: Collection[str] = (),
        **fields: Any,
    ) -> int:
        fields.setdefault("kind", "prose")
        document = Document(path=path, text="\n".join(texts), **fields)
        chunks = []
        line = 1
        for text in texts:
            end = line + text.count("\n")
            chunks.append(
                Chunk(
                    path=path,
                    start=line,
                    end=end,
                    text=text,
                    heading=heading,
                    definitions=tuple(Definition(name, "function", line, end) for name in names),
                    passages=(Passage(line, end, text),) if text.strip() else (),
                    embedded=text not in words_only,
                )
            )
            line = end + 1
        source = Source(len(document.text), mtime * 1_000_000_000, sha256)
        return store.put(root, document, source, chunks)

    return put


# What undoes each step of the schema, the last one first; a new step gets a row.
_UNDONE = {
    "_pages": (
        "DROP INDEX documents_scanned",
        "ALTER TABLE documents DROP COLUMN coverage",
        "DROP INDEX chunks_unembedded",
        "ALTER TABLE document_chunks DROP COLUMN embedded",
    ),
    "_details": tuple(
        f"ALTER TABLE documents DROP COLUMN {column.partition(' ')[0]}"
        for column in migrations._DETAILS
    ),
    "_links": (
        "DROP TABLE link_names",
        "DROP INDEX documents_by_name",
        "ALTER TABLE documents DROP COLUMN name",
    ),
    "_languages": ("DROP INDEX documents_languages",),
    "_file_cards": ("DROP TABLE cards", "ALTER TABLE documents DROP COLUMN card_digest"),
}


@pytest.fixture(scope="session")
def before_step() -> Callable[[Store, str], None]:
    """``before_step(store, "_links")`` makes a database one of the format before that step."""

    def undo(store: Store, step: str) -> None:
        steps = [known.__name__ for known in migrations._STEPS]
        for name in reversed(steps[steps.index(step) :]):
            for statement in _UNDONE[name]:
                store._database.rows(statement)
        store._database.rows(f"PRAGMA user_version = {steps.index(step)}")

    return undo
