"""The gate over a part of this package's own source, with the packaged model and by words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_agent
from rag_agent.chunk import chunk
from rag_agent.config import Config
from rag_agent.context import build_context
from rag_agent.embed import load, passage_text
from rag_agent.extract import extract
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import Context, Embedder, Source

_PACKAGE = Path(rag_agent.__file__).parent
_FOLDERS = ("search", "context")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("own") / "rag.db") as opened:
        root = opened.add_root(str(_PACKAGE))
        for path in sorted(file for name in _FOLDERS for file in (_PACKAGE / name).glob("*.py")):
            data = path.read_bytes()
            document = extract(data, path.relative_to(_PACKAGE).as_posix())
            source = Source(len(data), 1, hashlib.sha256(data).hexdigest())
            opened.put(root, document, source, chunk(document))
        opened.refresh_statistics()
        model = opened.model(embedder.fingerprint, embedder.dim)
        pending = opened.pending(model, 10_000)
        texts = [passage_text(each.path, each.title, each.heading, each.text) for each in pending]
        opened.put_vectors(model, [each.id for each in pending], embedder.embed_passages(texts))
        yield opened


def injected(store: Store, embedder: Embedder | None, prompt: str) -> Context:
    return build_context(
        prompt,
        lambda query: search(store, query, embedder=embedder, limit=5),
        threshold=Config().rag_score_threshold,
    )


NAMED = [
    ("where is find_candidates defined?", "search/candidates.py"),
    ("what does FileMatch do", "search/matches.py"),
    ("search/places.py", "search/places.py"),
    ("what is in places.py?", "search/places.py"),
    ("explain choose_places", "search/passages.py"),
    ("points_at_file", "search/pointing.py"),
    ("who calls `silence`?", "context/gate.py"),
    ("add a test for path_facts", "search/path_classes.py"),
    ("wo ist by_file definiert?", "search/matches.py"),
]
FOREIGN = [
    "where is open_socket defined?",
    "what does TrainTimetable do",
    "trains/timetable.py",
    "explain render_invoice",
    "add a test for parse_iban",
]


@pytest.mark.parametrize(("prompt", "path"), NAMED)
@pytest.mark.parametrize("mode", ["with vectors", "by words"])
def test_a_plain_question_for_a_name_of_the_project_is_answered(
    store: Store, embedder: Embedder, prompt: str, path: str, mode: str
) -> None:
    context = injected(store, embedder if mode == "with vectors" else None, prompt)
    assert path in [hit.path for hit in context.hits], context.reasons


@pytest.mark.parametrize("prompt", FOREIGN)
@pytest.mark.parametrize("mode", ["with vectors", "by words"])
def test_a_plain_question_for_a_name_that_is_not_there_gets_nothing(
    store: Store, embedder: Embedder, prompt: str, mode: str
) -> None:
    context = injected(store, embedder if mode == "with vectors" else None, prompt)
    assert context.text == "", context.reasons
