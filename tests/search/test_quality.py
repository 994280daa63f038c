"""Search over this package's own source: a floor under the ranking, not a measure of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_agent
from rag_agent.chunk import chunk
from rag_agent.embed import load, passage_text
from rag_agent.eval import read_run, read_topics, run_queries, score_run
from rag_agent.extract import extract
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import SearchResults, Source

_PACKAGE = Path(rag_agent.__file__).parent
_TOPICS = Path(__file__).parents[2] / "fixtures" / "eval" / "rag_agent.jsonl"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("own") / "rag.db") as opened:
        root = opened.add_root(str(_PACKAGE))
        for path in sorted(_PACKAGE.rglob("*.py")):
            data = path.read_bytes()
            document = extract(data, path.relative_to(_PACKAGE).as_posix())
            source = Source(len(data), 1, hashlib.sha256(data).hexdigest())
            opened.put(root, document, source, chunk(document))
        opened.refresh_statistics()
        yield opened


def test_questions_about_this_package_find_their_files_by_words(
    store: Store, tmp_path: Path
) -> None:
    def by_words(query: str, limit: int) -> SearchResults:
        return search(store, query, embedder=None, limit=limit)

    topics = read_topics(_TOPICS)
    run_queries(by_words, topics, tmp_path / "run.jsonl")
    scored = score_run(topics, read_run(tmp_path / "run.jsonl"), by="kind")
    assert scored["total"]["recall10"]["micro"] > 0.9
    assert scored["total"]["ndcg10"]["micro"] > 0.75
    assert scored["by"]["symbol"]["hit1"]["micro"] == 1.0


def test_the_packaged_model_finds_what_shares_no_word(tmp_path: Path) -> None:
    texts = {
        "money.md": "Customers pay their invoice with a credit card.",
        "weather.md": "Tomorrow it rains in the mountains, with thunder at night.",
        "animals.md": "Dogs bark, cats purr, and horses gallop.",
    }
    embedder = load()
    with Store.open(tmp_path / "rag.db") as store:
        root = store.add_root(str(tmp_path))
        for path, text in texts.items():
            document = extract(text.encode("utf-8"), path)
            store.put(root, document, Source(len(text), 1, path), chunk(document))
        model = store.model(embedder.fingerprint, embedder.dim)
        pending = store.pending(model, 10)
        headed = [passage_text(p.path, p.title, p.heading, p.text) for p in pending]
        store.put_vectors(model, [p.id for p in pending], embedder.embed_passages(headed))
        results = search(store, "forecast of storms", embedder=embedder)
        assert results.mode == "hybrid"
        assert results.hits[0].path == "weather.md"
        assert results.hits[0].evidence.coverage == 0.0
