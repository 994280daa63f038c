from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_agent.progress import silent
from rag_agent.store import Store
from rag_agent.sync import known
from rag_agent.sync.known import Known
from rag_agent.sync.sync import finish, sync_documents
from rag_agent.sync.walk import rules_from, walk
from rag_agent.types import Chunk, Document, Passage, Root, Source

_RULES = rules_from((), (), (), 2_000_000, 64_000_000)
_PATHS = st.lists(
    st.text("ab-/.é\U0001f600", min_size=1, max_size=6).map(lambda text: f"{text}x"),
    unique=True,
    max_size=12,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("store") / "rag.db") as opened:
        yield opened


def put(store: Store, root: Root, path: str) -> None:
    chunk = Chunk(path, 1, 1, "words", passages=(Passage(1, 1, "words"),))
    store.put(root, Document(path, "prose", "words"), Source(5, 1, "0"), [chunk])


@given(stored=_PATHS, asked=_PATHS, sort=st.booleans(), page=st.integers(1, 4), adds=st.booleans())
def test_every_document_is_taken_once_or_left(
    store: Store, stored: list[str], asked: list[str], sort: bool, page: int, adds: bool
) -> None:
    root = store.add_root("/a tree")
    store.forget([document.id for document in store.documents(root).values()])
    for path in stored:
        put(store, root, path)
    size, known._PAGE = known._PAGE, page
    try:
        here = Known(store, root, "")
        taken = []
        for path in sorted(asked) if sort else asked:
            document = here.take(path)
            taken.extend([document.path] if document else [])
            if adds:  # as a sync does: what comes new now is not what was known
                put(store, root, path)
        left = [document.path for document in here.left()]
    finally:
        known._PAGE = size
    new = set(asked) - set(stored)
    assert sorted(set(taken) - new) == sorted(set(stored) & set(asked))
    assert set(stored) - set(asked) <= set(left) <= (set(stored) - set(asked)) | new
    if sort:
        assert (set(taken) & new, set(left) & new) == (set(), set())


def test_the_walk_goes_in_the_order_of_the_store(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for path in ("a-b.md", "a/b.md", "a.md", "a/b/c.md", "B.md", "ä.md", "a/Z.md", "a0.md"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("words\n", encoding="utf-8")
    with Store.open(tmp_path / "rag.db") as opened:
        root = opened.add_root(str(tree))
        sync_documents(opened, root, _RULES, silent)
        walked = [candidate.path for candidate in walk(tree, _RULES, lambda skipped: None)]
        assert len(walked) == 8
        assert walked == [d.path for d in opened.documents_after(root, "", "", 100)]


def test_a_sync_holds_little_of_a_file(tmp_path: Path) -> None:
    """So that the memory of 10,000 files is as that of 10."""

    def peak(files: int, name: str) -> int:
        tree = tmp_path / name
        for number in range(files):
            file = tree / f"{number // 50:03}" / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# Note {number}\n\nsome words\n", encoding="utf-8")
        with Store.open(tmp_path / f"{name}.db") as opened:
            root = opened.add_root(str(tree))
            most = 0
            for _ in ("all are new", "none is new"):
                tracemalloc.start()
                done = sync_documents(opened, root, _RULES, silent)
                most = max(most, tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
                finish(opened, complete=True)
            assert done.unchanged == files
        return most

    peak(1_100, "first")  # what is loaded once, and words that are remembered, up to a number
    few, many = peak(100, "few"), peak(1_100, "many")
    assert (many - few) / 1_000 < 600  # bytes; 440 measured, 960 with every document at once
