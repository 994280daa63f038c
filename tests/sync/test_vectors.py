from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from rag_agent import embed
from rag_agent.embed import EmbeddingCache
from rag_agent.progress import Progress, Report, silent
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.sync.sync import finish, sync_documents
from rag_agent.sync.vectors import Embedded, embed_pending
from rag_agent.sync.walk import rules_from
from rag_agent.types import Embedder

FILES = {
    "mailer.py": "# Delivers electronic mail over SMTP.\n\ndef transmit():\n    return 1\n",
    "parser.py": "# Reads numbers out of text.\n\ndef parse():\n    return 2\n",
    "colours.py": "# Mixes red with blue.\n\ndef mix():\n    return 3\n",
    "docs/cooking.md": "# Soup\n\nBoil the vegetables for an hour.\n",
}
ABOUT_MAIL = "send letters via the internet"  # without any word of the files


class Tree:
    """A folder of files, its index, and the real model."""

    def __init__(self, folder: Path, store: Store, embedder: Embedder) -> None:
        self.folder = folder
        self.store = store
        self.embedder = embedder
        self.cache = EmbeddingCache(folder.parent / "cache")
        self.root = store.add_root(str(folder))
        self.model = store.model(embedder.fingerprint, embedder.dim)
        self.clock = 1_700_000_000

    def write(self, files: dict[str, str]) -> None:
        self.clock += 10
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            os.utime(file, (self.clock, self.clock))
        sync_documents(self.store, self.root, rules_from((), (), (), 2_000_000, 64_000_000), silent)
        finish(self.store, complete=True)

    def embed(
        self, report: Report = silent, *, limit: int | None = None, trust: bool = True
    ) -> Embedded:
        return embed_pending(
            self.store,
            self.embedder,
            self.cache,
            report,
            lock=nullcontext,
            limit=limit,
            trust_cache=trust,
        )

    @property
    def pending(self) -> tuple[int, int]:
        """Cards and chunks without a vector."""
        cards = self.store.pending_cards(self.model, 1000)
        return len(cards), self.store.count_pending(self.model)


class Interrupted(Exception):
    """Raised by a report."""


def until_chunks_begin(tree: Tree) -> Report:
    """Interrupts when every file has its card."""

    def report(progress: Progress) -> None:
        if tree.pending[0] == 0:
            raise Interrupted

    return report


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return embed.load()


@pytest.fixture
def tree(tmp_path: Path, embedder: Embedder) -> Iterator[Tree]:
    folder = tmp_path / "project"
    folder.mkdir()
    with Store.open(tmp_path / "rag.db") as store:
        tree = Tree(folder, store, embedder)
        yield tree
        tree.cache.close()


def test_every_file_has_its_card_before_any_chunk_has_its_vector(tree: Tree) -> None:
    tree.write(FILES)
    seen: list[tuple[int, int]] = []

    def report(progress: Progress) -> None:
        seen.append(tree.pending)

    done = tree.embed(report)
    assert seen == [(4, 4), (0, 4), (0, 0)]
    assert done == Embedded(computed=4, reused=0, cards=4)


def test_progress_counts_chunks_and_never_goes_back(tree: Tree) -> None:
    tree.write(FILES)
    reports: list[Progress] = []
    tree.embed(reports.append)
    assert [(p.stage, p.done, p.total) for p in reports] == [
        ("embed", 0, 4),
        ("embed", 0, 4),
        ("embed", 4, 4),
    ]


def test_right_after_the_cards_a_file_is_found_by_meaning_alone(tree: Tree) -> None:
    tree.write(FILES)
    assert search(tree.store, ABOUT_MAIL, embedder=None).hits == ()
    with pytest.raises(Interrupted):
        tree.embed(until_chunks_begin(tree))
    found = search(tree.store, ABOUT_MAIL, embedder=tree.embedder)
    assert (found.mode, found.hits[0].path) == ("hybrid", "mailer.py")
    assert found.hits[0].chunk.text.startswith("# Delivers electronic mail")
    assert found.notes == (
        "4 chunks are not embedded yet; their files were found by words and by a summary of each.",
    )


def test_a_filter_narrows_what_cards_find(tree: Tree) -> None:
    tree.write(FILES)
    with pytest.raises(Interrupted):
        tree.embed(until_chunks_begin(tree))
    found = search(tree.store, ABOUT_MAIL, embedder=tree.embedder, where="kind:prose")
    assert [hit.path for hit in found.hits] == ["docs/cooking.md"]


def test_with_all_chunks_embedded_cards_bring_no_further_files(tree: Tree) -> None:
    tree.write(FILES)
    tree.embed()
    found = search(tree.store, ABOUT_MAIL, embedder=tree.embedder)
    assert found.notes == ()
    assert found.hits[0].path == "mailer.py"
    assert found.hits[0].evidence.cosine is not None


def test_an_interrupted_embedding_goes_on_where_it_stopped(tree: Tree) -> None:
    tree.write(FILES)
    with pytest.raises(Interrupted):
        tree.embed(until_chunks_begin(tree))
    assert tree.pending == (0, 4)
    assert tree.embed() == Embedded(computed=4, reused=0, cards=0)
    assert tree.pending == (0, 0)


def test_a_changed_name_makes_a_new_card_and_a_changed_line_none(tree: Tree) -> None:
    tree.write(FILES)
    tree.embed()
    filler = "".join(f"value_{n} = {n}\n" for n in range(200))
    long = FILES["mailer.py"] + filler
    tree.write({"mailer.py": long})
    tree.embed()
    tree.write({"mailer.py": long.replace("value_199 = 199", "value_199 = 200")})
    done = tree.embed()
    assert (done.computed, done.cards) == (1, 0)
    tree.write({"mailer.py": long.replace("transmit", "dispatch")})
    assert tree.embed().cards == 1


def test_the_same_card_is_computed_once_and_then_comes_from_the_cache(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write(FILES)
    tree.embed()
    tree.store.forget_vectors()
    assert tree.pending == (4, 4)
    embedded: list[str] = []
    original = tree.embedder.embed_passages
    monkeypatch.setattr(
        tree.embedder, "embed_passages", lambda texts: (embedded.extend(texts), original(texts))[1]
    )
    assert tree.embed() == Embedded(computed=0, reused=4, cards=4)
    assert embedded == []
    tree.store.forget_vectors()
    assert tree.embed(trust=False) == Embedded(computed=4, reused=0, cards=4)
    assert len(embedded) == 8


def test_a_limit_holds_for_cards_and_for_chunks(tree: Tree) -> None:
    tree.write(FILES)
    assert tree.embed(limit=3) == Embedded(computed=3, reused=0, cards=3)
    assert tree.pending == (1, 1)
    assert tree.embed(limit=3) == Embedded(computed=1, reused=0, cards=1)
