"""Columns and loops: a search and a hook must put files in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from rag_agent.search import dense, fusion, measuring, ranking
from rag_agent.search.candidates import find_candidates
from rag_agent.search.columns import Candidates
from rag_agent.search.facts import Corpus, Facts, corpus_of
from rag_agent.search.hybrid import Ranking
from rag_agent.search.question import read_question
from rag_agent.search.signals import SIGNALS, Signal
from rag_agent.search.weights import HYBRID, WORDS_ONLY
from rag_agent.store import Store

_BODIES = ("parse a query string", "send a request", "open the cache of sockets", "colour of red")
_PATHS = (
    "src/urls.py src/parser/index.js tests/test_urls.py docs/guide.md examples/parse.py "
    "vendor/jquery.min.js src/internal/cache.rs lib/legacy/old_query.c CHANGELOG.md Makefile "
    "src/Cache/SocketCache.java locale/de/query.json include/socket.h src/__init__.py"
).split()
QUESTIONS = (
    "how is a query string parsed",
    "parse_query",
    "SocketCache",
    "tests of the socket cache",
    "where does urls.py open sockets of the request cache, and how long is a colour kept in the "
    "legacy query parser before the documentation says that it is old",
    "guide",
    "what is in src/urls.py",
    "return 'parse a query string'",
    "where is Query_string::parse_string called?",
    "--query-string",
)


def _files() -> Mapping[str, str]:
    files = {}
    for number, path in enumerate(_PATHS):
        body = _BODIES[number % len(_BODIES)]
        lines = [
            f"def {word}_{body.split()[-1]}(x):\n    return '{body} {word * (number % 3)}'\n"
            for word in ("parse", "Query", "run")
        ]
        text = "\n".join(lines * (1 + number % 4 * 6))
        files[path] = f"# Query guide\n\n{text}" if path.endswith(".md") else text
    return files


class _Embedder:
    fingerprint = "random"
    dim = 8

    def embed_query(self, text: str) -> Any:
        return np.random.default_rng(len(text)).standard_normal(8).astype(np.float32)


@pytest.fixture(params=["words", "vectors", "some vectors", "cards"])
def store(indexed: Any, request: pytest.FixtureRequest) -> Store:
    made: Store = indexed(_files())
    if request.param == "words":
        return made
    model = made.model(_Embedder.fingerprint, _Embedder.dim)
    numbers = np.random.default_rng(0)
    cards = made.pending_cards(model, 100)[:: 2 if request.param == "some vectors" else 1]
    made.put_cards(model, cards, numbers.standard_normal((len(cards), 8)).astype(np.float32))
    pending = [one.id for one in made.pending(model, 1000)]
    wanted = {"vectors": pending, "some vectors": pending[::3], "cards": []}[request.param]
    made.put_vectors(model, wanted, numbers.standard_normal((len(wanted), 8)).astype(np.float32))
    return made


def _candidates(store: Store, text: str) -> tuple[Candidates, Corpus]:
    question, _ = read_question(store, text)
    embedder: Any = _Embedder()
    reading = dense.read_meaning(store, embedder, text)
    linked = {document: 1 / document for document in range(1, 9)}
    with store.snapshot():
        return find_candidates(store, question, reading, None, linked), corpus_of(store)


@pytest.mark.parametrize("text", QUESTIONS)
def test_every_signal_is_the_same_in_columns_as_file_by_file(store: Store, text: str) -> None:
    files, corpus = _candidates(store, text)
    expected = fusion.scaled([Facts(files.question, file, corpus) for file in files])
    found = ranking.scaled(files, corpus)
    assert set(found) == {signal.key for signal in SIGNALS}
    for key, values in expected.items():
        numbers = [np.nan if value is None else value for value in values]
        np.testing.assert_allclose(found[key], numbers, rtol=0, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("text", QUESTIONS)
def test_the_parts_of_scores_are_those_that_a_hook_has(
    store: Store, text: str, alpha: float
) -> None:
    files, corpus = _candidates(store, text)
    expected = fusion.score(files.question, [*files], alpha, corpus)
    ranked = Ranking(files, alpha, corpus)
    assert len(ranked) == len(expected)
    by_path = {file.shown_path: parts for file, parts in zip(files, expected, strict=True)}
    for scored in ranked:
        assert scored.signals == pytest.approx(by_path[scored.file.shown_path], abs=1e-12)
    scores = [scored.score for scored in ranked]
    assert scores == sorted(scores, reverse=True)


def test_files_that_a_damaged_copy_puts_elsewhere_are_left_out(indexed: Any) -> None:
    store = indexed(_files())
    files, corpus = _candidates(store, QUESTIONS[0])
    files.documents = [document + 1000 for document in files.documents]  # as its owners say
    assert [*Ranking(files, 0.4, corpus)] == []
    files, corpus = _candidates(store, QUESTIONS[0])
    files.documents[0] += 1000
    assert len(Ranking(files, 0.4, corpus)) == len(files) - 1


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_promising_files_have_the_scores_that_they_have_among_all(
    store: Store, text: str
) -> None:
    files, corpus = _candidates(store, text)
    everything = {one.file.shown_path: one.signals for one in Ranking(files, 0.4, corpus)}
    some = Ranking(files, 0.4, corpus, most=6)
    assert min(6, len(everything)) <= len(some) <= len(everything)
    for one in some:
        assert one.signals == pytest.approx(everything[one.file.shown_path], abs=1e-12)
    best = list(everything)[:2]
    assert [one.file.shown_path for one in some[:2]] == best


def test_a_name_that_only_the_path_has_makes_a_file_promising(indexed: Any) -> None:
    prose = "The socket cache keeps sockets. A cache of sockets is a socket cache.\n" * 3
    many = {f"src/part{number}.py": f"# {prose}" for number in range(60)}
    store = indexed(many | {"src/socket_cache.py": "def run():\n    return 1\n"})
    files, corpus = _candidates(store, "socket cache")
    promising = {one.file.shown_path for one in Ranking(files, 0.4, corpus, most=10)}
    assert "src/socket_cache.py" in promising


def test_what_is_linked_with_the_start_of_a_search_gains_by_how_near_it_is(store: Store) -> None:
    files, corpus = _candidates(store, QUESTIONS[0])
    gains = {s.file.document.id: s.signals.get("links", 0.0) for s in Ranking(files, 0.4, corpus)}
    near = sorted(document for document in gains if document < 9)
    assert len(near) > 2
    assert [gains[document] for document in near] == sorted(
        (gains[document] for document in near), reverse=True
    )
    assert gains[near[0]] == pytest.approx(near[1] / near[0] * gains[near[1]])
    assert {gain for document, gain in gains.items() if document > 8} <= {0.0}


def test_a_question_that_nothing_answers_has_no_ranking(indexed: Any) -> None:
    files, corpus = _candidates(indexed(_files()), "zzz")
    assert [*Ranking(files, 0.4, corpus)] == []


def test_files_that_are_alike_stand_in_the_order_of_their_paths(indexed: Any) -> None:
    same = "def parse(query):\n    '''Parse a query.'''\n"
    store = indexed({f"src/{name}/url.py": same for name in "ecadb"})
    files, corpus = _candidates(store, "parse a query")
    files.near[:] = 0
    paths = [scored.file.shown_path for scored in Ranking(files, 0.4, corpus)]
    assert paths == [f"src/{name}/url.py" for name in "abcde"]


def _with(signal: Signal, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ranking, measuring, fusion):
        monkeypatch.setattr(module, "SIGNALS", (*SIGNALS, signal))
    for module in (ranking, fusion):
        monkeypatch.setattr(module, "HYBRID", {**HYBRID, signal.key: (0.3, 0.1, 0.2)})
        monkeypatch.setattr(module, "WORDS_ONLY", {**WORDS_ONLY, signal.key: (0.3, 0.1, 0.2)})


NEW = [
    Signal("size", "long path", lambda facts: float(facts.path.depth), "maximum"),
    Signal("size", "what matched", lambda facts: facts.whole + len(facts.passages), "maximum"),
    Signal("size", "its file", lambda facts: len(facts.file.chunks) / 10),
]


@pytest.mark.parametrize("signal", NEW, ids=lambda signal: signal.name)
def test_a_new_signal_is_one_row_and_counts(
    indexed: Any, signal: Signal, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, corpus = _candidates(indexed(_files()), QUESTIONS[0])
    before = [one.score for one in Ranking(files, 0.4, corpus)]
    _with(signal, monkeypatch)
    scores = ranking.score(files, 0.4, corpus)
    loops = fusion.score(files.question, list(files), 0.4, corpus)
    for place, own in enumerate(loops):
        table = dict(zip(scores.names, scores.parts[:, place].tolist(), strict=True))
        assert {name: value for name, value in table.items() if value} == pytest.approx(own)
    assert [one.score for one in Ranking(files, 0.4, corpus)] != before


def test_a_search_gathers_no_facts_file_by_file(
    indexed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, corpus = _candidates(indexed(_files()), QUESTIONS[0])
    light, heavy, _ = NEW
    gathered: list[object] = []
    monkeypatch.setattr(measuring, "Facts", lambda *given: gathered.append(given) or Facts(*given))
    _with(light, monkeypatch)  # of path, kind and question alone
    ranking.score(files, 0.4, corpus)
    # It would not be wrong, but slow: a signal that looks at more deserves a column in measuring.
    assert gathered == []
    _with(heavy, monkeypatch)
    ranking.score(files, 0.4, corpus)
    assert len(gathered) == len(files)
