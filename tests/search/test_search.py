from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_agent.chunk import chunk
from rag_agent.errors import EmbedError, QueryError
from rag_agent.search import SearchOptions, explain, search
from rag_agent.store import Store
from rag_agent.types import Document, SearchResults, Source

if TYPE_CHECKING:
    from rag_agent.types import Matrix, Vector

FILES = {
    "src/urls.py": "def parse_query(text):\n    '''Parse a query string into a dictionary.'''\n",
    "src/http.py": "def send(request):\n    '''Send a request; its query is not parsed here.'''\n",
    "src/color.py": "def mix(red, blue):\n    '''Mix two colours.'''\n",
    "tests/test_urls.py": "def test_parse_query():\n    '''Parse a query string.'''\n",
    "docs/guide.md": "# Guide\n\nHow a query string becomes a dictionary when you parse it.\n",
}


class Compass:
    """An embedder with two dimensions, whose directions the test knows."""

    fingerprint = "compass"
    dim = 2

    def __init__(self, degrees: float = 0.0) -> None:
        self.degrees = degrees

    def embed_passages(self, texts: Any) -> Matrix:
        raise AssertionError("a search embeds no passages")

    def embed_query(self, text: str) -> Vector:
        return direction(self.degrees)


def direction(degrees: float) -> Vector:
    radians = np.radians(degrees)
    return np.array([np.cos(radians), np.sin(radians)], dtype=np.float32)


def point(store: Store, degrees: dict[str, float]) -> None:
    """Give every chunk of each of these files a vector in a direction."""
    model = store.model(Compass.fingerprint, Compass.dim)
    for root in store.roots():
        for path, document in store.documents(root).items():
            if path in degrees:
                ids = [chunk.id for chunk in store.chunks_of(document.id)]
                vectors = np.stack([direction(degrees[path])] * len(ids))
                store.put_vectors(model, ids, vectors)


def paths(results: SearchResults) -> list[str]:
    """The files in their order; what says the same as a hit comes right after it."""
    return [path for hit in results for path in (hit.path, *hit.copies)]


def find(store: Store, query: str, **options: Any) -> list[str]:
    return paths(search(store, query, embedder=None, **options))


def test_the_best_match_by_words_is_first_and_every_file_comes_once(indexed: Any) -> None:
    found = find(indexed(FILES), "parse a query string into a dictionary")
    assert found[0] == "src/urls.py"
    assert {"src/urls.py", "src/http.py", "docs/guide.md"} <= set(found)
    assert len(found) == len(set(found))
    assert "src/color.py" not in found


def test_any_word_of_the_question_is_enough(indexed: Any) -> None:
    assert find(indexed(FILES), "colours of a distributed ledger") == ["src/color.py"]


def test_a_test_comes_after_what_it_tests_unless_tests_are_asked_for(indexed: Any) -> None:
    store = indexed({"src/urls.py": FILES["src/urls.py"], "tests/urls.py": FILES["src/urls.py"]})
    assert find(store, "parse query") == ["src/urls.py", "tests/urls.py"]
    signals = search(store, "parse query in the tests", embedder=None).hits[0].signals
    assert "test" not in signals


def test_the_definition_of_a_name_is_before_its_uses(indexed: Any) -> None:
    use = "".join(f"value{n} = Resolver()\n" for n in range(8))
    definition = (
        "class Resolver:\n    '''Finds things.'''\n\n    def run(self):\n        return 1\n"
    )
    results = search(indexed({"a/use.py": use, "b/main.py": definition}), "Resolver", embedder=None)
    assert paths(results) == ["b/main.py", "a/use.py"]
    assert "definition" in results.hits[0].signals


def test_a_file_is_found_by_its_path_alone(indexed: Any) -> None:
    store = indexed({"billing/stripe.py": "x = 1\n", "billing/other.py": "y = 2\n"})
    assert find(store, "stripe")[0] == "billing/stripe.py"


def test_the_score_is_the_sum_of_its_signals_and_orders(indexed: Any) -> None:
    store = indexed(FILES)
    point(store, {"src/urls.py": 10, "src/http.py": 80, "src/color.py": 40})
    results = search(store, "parse query strings", embedder=Compass())
    scores = [hit.score for hit in results]
    assert scores == sorted(scores, reverse=True)
    for hit in results:
        assert hit.score == pytest.approx(sum(hit.signals.values()))


def test_what_is_near_in_meaning_is_found_without_a_common_word(indexed: Any) -> None:
    store = indexed(FILES)
    point(store, {"src/urls.py": 90, "src/http.py": 80, "src/color.py": 5})
    results = search(store, "zebra", embedder=Compass(0))
    assert results.mode == "hybrid"
    assert paths(results)[0] == "src/color.py"
    assert results.hits[0].evidence.cosine == pytest.approx(np.cos(np.radians(5)), abs=1e-5)


def test_alpha_moves_the_ranking_from_meaning_to_words(indexed: Any) -> None:
    files = {"one.txt": "alpha beta gamma", "two.txt": "alpha", "three.txt": "delta"}
    store = indexed(files)
    point(store, {"one.txt": 90, "two.txt": 0, "three.txt": 70})
    by_meaning = search(store, "beta gamma", embedder=Compass(), options=SearchOptions(alpha=0.0))
    by_words = search(store, "beta gamma", embedder=Compass(), options=SearchOptions(alpha=1.0))
    assert (paths(by_meaning)[0], paths(by_words)[0]) == ("two.txt", "one.txt")


def test_a_filter_narrows_before_ranking(indexed: Any) -> None:
    noise = {f"src/noise{n}.py": "needle " * 30 for n in range(250)}
    store = indexed({**noise, "docs/one.md": "a needle", "docs/two.md": "the needle again"})
    point(store, dict.fromkeys(noise, 0.0) | {"docs/one.md": 85, "docs/two.md": 88})
    found = search(store, "needle", embedder=Compass(), where="path:docs/*", limit=5)
    assert sorted(paths(found)) == ["docs/one.md", "docs/two.md"]


def test_a_definition_cannot_come_in_past_the_filter(indexed: Any) -> None:
    store = indexed({"src/a.py": "class Needle:\n    x = 1\n", "docs/a.md": "Needle\n"})
    assert find(store, "Needle", where="kind:prose") == ["docs/a.md"]


@pytest.mark.parametrize("degrees", [None, 0.0])
@pytest.mark.parametrize(
    ("where", "shown"), [("page:2", {2}), ("page:2-3", {2, 3}), ("-page:1", {2, 3})]
)
def test_a_page_narrows_to_its_own_lines_however_the_document_is_found(
    indexed: Any, where: str, shown: set[int], degrees: float | None
) -> None:
    store = indexed({"other.md": "needle\n"})
    # Found by its name as well, of which each page could be shown.
    text = "\n".join(f"Page {page} has {'needle ' * 60}{page}." for page in (1, 2, 3))
    document = Document(path="needle.pdf", kind="prose", text=text, pages=(1, 2, 3), converted=True)
    store.put(store.roots()[0], document, Source(1, 1, "0" * 64), chunk(document))
    embedder = None
    if degrees is not None:
        embedder = Compass()
        point(store, {"needle.pdf": degrees, "other.md": degrees})
    found = search(store, "needle", embedder=embedder, where=where)
    assert ("other.md" in paths(found)) == where.startswith("-")
    hit = next(one for one in found if one.path == "needle.pdf")
    chunks = [hit.chunk, *hit.more]
    assert {(one.start, one.end) for one in chunks} == {(page, page) for page in shown}


def test_a_filter_that_does_not_parse_is_an_error(indexed: Any) -> None:
    with pytest.raises(QueryError, match="unknown filter field 'colour'"):
        find(indexed(FILES), "parse", where="colour:red")


def test_the_limit_holds_and_must_be_positive(indexed: Any) -> None:
    store = indexed(FILES)
    assert len(find(store, "parse query", limit=2)) == 2
    with pytest.raises(QueryError, match="limit is 0"):
        find(store, "parse query", limit=0)


def test_without_an_embedder_words_rank_and_a_note_says_so(indexed: Any) -> None:
    results = search(indexed(FILES), "parse", embedder=None)
    assert results.mode == "lexical"
    assert results.notes == ("Ranked by words only: no embedding model is loaded.",)
    assert results.hits[0].evidence.cosine is None


def test_before_anything_is_embedded_words_rank_and_a_note_says_so(indexed: Any) -> None:
    results = search(indexed(FILES), "parse", embedder=Compass())
    assert (results.mode, len(results)) == ("lexical", 4)
    assert "nothing is embedded" in results.notes[0]


def test_a_model_that_fails_leaves_a_search_by_words_that_says_why(indexed: Any) -> None:
    class Broken(Compass):
        def embed_query(self, text: str) -> Vector:
            raise EmbedError("the model file is damaged; reinstall rag_agent")

    store = indexed(FILES)
    point(store, {"src/urls.py": 0})
    results = search(store, "parse", embedder=Broken())
    assert results.mode == "lexical"
    assert results.notes == (
        "Ranked by words only: the model file is damaged; reinstall rag_agent",
    )


def test_what_else_an_embedder_raises_is_raised_where_the_search_was_called(indexed: Any) -> None:
    class Odd(Compass):
        def embed_query(self, text: str) -> Vector:
            raise ZeroDivisionError

    store = indexed(FILES)
    point(store, {"src/urls.py": 0})
    with pytest.raises(ZeroDivisionError):
        search(store, "parse", embedder=Odd())


def test_a_question_that_is_refused_is_not_embedded(indexed: Any) -> None:
    class Never(Compass):
        def embed_query(self, text: str) -> Vector:
            raise AssertionError(text)

    store = indexed(FILES)
    point(store, {"src/urls.py": 0})
    with pytest.raises(QueryError, match="empty"):
        search(store, " ", embedder=Never())
    with pytest.raises(QueryError, match="year"):
        search(store, "parse", embedder=Never(), where="year:soon")


@pytest.mark.parametrize(
    "late",
    [
        "atexit.register(ask)",
        "Thread(target=lambda: (main_thread().join(), ask())).start()",
    ],
)
def test_a_search_by_meaning_works_while_the_program_ends(indexed: Any, late: str) -> None:
    store = indexed(FILES)
    point(store, {"src/urls.py": 0})
    program = f"""
import atexit, sys
from threading import Thread, main_thread
import numpy as np
from pathlib import Path
from rag_agent.search import search
from rag_agent.store import Store

class East:
    fingerprint, dim = "compass", 2
    def embed_query(self, text):
        return np.array([1, 0], dtype=np.float32)

def ask():
    with Store.open(Path(sys.argv[1]), readonly=True) as store:
        print(search(store, "dictionary", embedder=East()).mode)

ask()
{late}
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(store.path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["hybrid"] * 2, "")


def test_a_file_whose_vectors_are_to_come_keeps_its_place_by_words(indexed: Any) -> None:
    store = indexed(FILES)
    point(store, {"src/http.py": 0, "src/color.py": 60, "docs/guide.md": 85})
    results = search(store, "parse a query string into a dictionary", embedder=Compass())
    assert paths(results)[0] == "src/urls.py"
    assert results.notes == ("2 chunks are not embedded yet and were ranked by words only.",)


def test_a_hit_shows_its_best_chunk_and_at_most_two_more_of_the_file(indexed: Any) -> None:
    parts = [f"## Part {n}\n\n" + ("needle " * n + "\n\n" + "filler text\n" * 60) for n in range(6)]
    store = indexed({"long.md": "# Long\n\n" + "\n".join(parts), "b.md": "other"})
    (hit,) = search(store, "needle", embedder=None).hits
    shown = [hit.chunk, *hit.more]
    assert len(shown) == 3
    assert hit.chunk.text.count("needle") == 5
    assert len({chunk.start for chunk in shown}) == 3
    assert all("needle" in chunk.text for chunk in shown)


def test_two_roots_show_absolute_paths(indexed: Any, tmp_path: Any) -> None:
    store = indexed(FILES)
    (root,) = store.roots()
    store.add_root(str(tmp_path / "elsewhere"))
    (hit,) = search(store, "colours", embedder=None).hits
    assert hit.path == hit.chunk.path == f"{Path(root.path).as_posix()}/src/color.py"


def test_evidence_does_not_depend_on_the_other_hits(indexed: Any) -> None:
    alone = search(indexed(FILES), "colours of a distributed ledger", embedder=None)
    (hit,) = alone.hits  # the best there is …
    assert hit.evidence.coverage < 0.4  # … and yet most of the question is not in it


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_is_an_error(indexed: Any, query: str) -> None:
    with pytest.raises(QueryError, match="the query is empty"):
        find(indexed(FILES), query)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'; DROP TABLE documents; --",
        "AND OR NOT",
        "text:parse*",
        "NEAR(a b)",
        "???",
        "\0",
        "^",
    ],
)
def test_syntax_of_sql_and_fts_is_only_text(indexed: Any, query: str) -> None:
    store = indexed(FILES)
    search(store, query, embedder=None)
    assert find(store, "parse")[0] == "src/urls.py"


def test_fts_operators_do_not_change_what_the_words_find(indexed: Any) -> None:
    store = indexed(FILES)
    assert set(find(store, 'NOT "parse" AND query*')) == set(find(store, "parse query"))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("向量检索的实现", "检索"),
        ("データベースの索引を作成する", "索引"),
        ("검색 색인을 만든다", "색인"),
        ("naïve Bayes", "naive"),
        ("\uff46\uff55\uff4c\uff4c", "full"),
        ("поиск документов", "поиск"),
    ],
)
def test_other_scripts_are_found(indexed: Any, text: str, query: str) -> None:
    store = indexed({"a.txt": text, "b.txt": "something else"})
    assert find(store, query) == ["a.txt"]


def test_a_query_of_a_hundred_thousand_characters_finds_its_rare_word(indexed: Any) -> None:
    store = indexed(FILES)
    results = search(store, "the query " * 10_000 + "colours", embedder=None)
    assert "src/color.py" in paths(results)


@given(query=st.text(min_size=1).filter(str.strip), where=st.sampled_from(["", "kind:code"]))
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_every_text_is_a_valid_query(indexed: Any, query: str, where: str) -> None:
    store = indexed.once(FILES)
    results = search(store, query + " parse", embedder=None, where=where)
    assert results.hits
    search(store, query, embedder=None, where=where)


def test_an_explanation_names_each_part_and_the_evidence(indexed: Any) -> None:
    store = indexed(FILES)
    point(store, {"src/urls.py": 10, "src/http.py": 80, "src/color.py": 40})
    hit = search(store, "parse query", embedder=Compass()).hits[0]
    lines = explain(hit)
    told = [value for value in hit.signals.values() if abs(value) >= 0.005]
    assert len(lines) == len(told) + 1
    assert any("words of the question" in line for line in lines)
    assert lines[-1].startswith("evidence: ")
    assert "cosine 0.98" in lines[-1]


def test_an_explanation_says_which_words_and_names_were_found(indexed: Any) -> None:
    results = search(indexed(FILES), "where is parse_query called by zebras", embedder=None)
    best = next(hit for hit in results if hit.path == "src/urls.py")
    lines = explain(best, results.query)
    assert "words not found there: called, zebras" in lines
    (found,) = (line for line in lines if line.startswith("words found"))
    assert "parse_query" in found
    assert "defines parse_query" in lines


def test_an_explanation_names_words_as_they_were_written(indexed: Any) -> None:
    results = search(indexed(FILES), "parse_query of runtimeRetries 全文検索", embedder=None)
    lines = explain(results.hits[0], results.query)
    assert "words not found there: runtimeRetries, runtime, retries, 全文検索" in lines


def test_an_explanation_says_in_which_lines_it_stands_as_it_was_written(indexed: Any) -> None:
    text = "x = 1\n" * 8 + "add('--drop-cache')\n" + "x = 1\n" * 4 + "say('--drop-cache')\n"
    store = indexed({"src/drop.py": text})
    (hit, *_) = search(store, "what does --drop-cache do", embedder=None).hits
    assert hit.exact == (9, 14)
    lines = explain(hit, "what does --drop-cache do")
    assert "has it as it is written in lines 9, 14" in lines


def test_an_explanation_says_how_far_a_hit_is_behind_and_why(indexed: Any) -> None:
    first, second, *_ = search(indexed(FILES), "parse query", embedder=None)
    (line,) = (line for line in explain(second, above=first) if "behind" in line)
    gap = first.score - second.score
    assert line.startswith(f"{gap:.2f} behind the hit above it, mostly by this: ")
    assert not any("behind" in line for line in explain(first))
    assert "as good as the hit above it" in explain(first, above=first)


def test_an_explanation_of_a_long_question_stays_short(indexed: Any) -> None:
    question = "parse query " + " ".join(f"zebra{number}x" for number in range(200))
    hit = search(indexed(FILES), question, embedder=None).hits[0]
    assert max(map(len, explain(hit, question))) < 300


def test_a_question_that_repeats_itself_is_not_answered_any_better(indexed: Any) -> None:
    store = indexed(FILES)
    question = "parse the query string of a lost parcel"
    once, often = (
        search(store, f"{question} " * times, embedder=None).hits[0].evidence for times in (1, 20)
    )
    # Its last words come to weigh as much as the first, so that it is another question.
    assert often.passage <= once.passage
    assert (often.words, often.familiar) == (once.words, once.familiar)
    one, many = (
        search(store, "parse " * times, embedder=None).hits[0].evidence for times in (1, 20)
    )
    assert many.passage == pytest.approx(one.passage)
    assert 0.0 < once.familiar < 1.0
