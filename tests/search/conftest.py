from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rag_agent.chunk import chunk
from rag_agent.extract import extract
from rag_agent.store import Store
from rag_agent.types import Source


class Indexer:
    """Makes stores on disk that hold given files, as a sync would have put them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: list[Store] = []

    def __call__(self, files: Mapping[str, str]) -> Store:
        store = Store.open(self._folder / f"rag{len(self._stores)}.db")
        self._stores.append(store)
        root = store.add_root(str(self._folder / "project"))
        for path, text in files.items():
            data = text.encode("utf-8")
            document = extract(data, path)
            source = Source(len(data), 1, hashlib.sha256(data).hexdigest())
            store.put(root, document, source, chunk(document))
        store.refresh_statistics()
        return store

    def once(self, files: Mapping[str, str]) -> Store:
        """The first store made; for tests that run many times and only read."""
        return self._stores[0] if self._stores else self(files)

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Indexer]:
    indexer = Indexer(tmp_path)
    yield indexer
    indexer.close()
