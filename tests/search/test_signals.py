from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_agent.search import signals
from rag_agent.search.definitions import Likeness
from rag_agent.search.facts import Corpus, Facts
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.path_classes import CLASSES, path_facts
from rag_agent.search.question import Question
from rag_agent.store import StoredChunk
from rag_agent.tokens import query_words
from rag_agent.types import Chunk, Definition, Kind, Root, Source, StoredDocument

CORPUS = Corpus(100.0, {"python": 1.0})


def ask(text: str) -> Question:
    words = query_words(text)
    return Question(text, words, dict.fromkeys(words, 2.0), names=tuple(text.split()))


def file(
    path: str,
    definitions: Sequence[Definition] = (),
    *,
    asked: bool = False,
    kind: Kind = "code",
) -> FileMatch:
    document = StoredDocument(1, Root(1, "/r"), path, kind, "", "", Source(1, 1, ""), 1, False)
    chunk = Chunk(path, 1, 9, "text", definitions=tuple(definitions))
    match = ChunkMatch(
        StoredChunk(1, document, chunk, path), asked=tuple(definitions) if asked else ()
    )
    return FileMatch(document, path, (match,))


def facts(text: str, found: FileMatch) -> Facts:
    return Facts(ask(text), found, CORPUS)


def coverage(text: str, path: str) -> float:
    return signals.name_coverage(facts(text, file(path)))


def measured(key: str, text: str, found: FileMatch) -> float:
    signal = next(signal for signal in signals.SIGNALS if signal.key == key)
    return signal.measure(facts(text, found)) or 0.0


def test_the_more_of_its_name_the_question_has_the_more_a_file_gains() -> None:
    assert (
        coverage("parse a url", "lib/url_parse.py") > coverage("parse it", "lib/url_parse.py") > 0
    )
    assert coverage("parse a url", "url.py") == 1.0
    assert coverage("open a socket", "url.py") == 0.0


def test_a_word_that_begins_alike_counts_less_than_the_word_itself() -> None:
    assert coverage("authentication flow", "auth.py") == pytest.approx(0.7)
    assert coverage("cancel", "cat.py") == 0.0  # three letters are too few


@pytest.mark.parametrize(
    "path",
    ["router/index.ts", "router/__init__.py", "router/mod.rs", "src/router/init.lua"],
)
def test_a_plain_name_is_known_by_its_folder(path: str) -> None:
    assert coverage("how does the router work", path) == 1.0


def test_a_plain_name_without_a_folder_is_its_own_name() -> None:
    assert coverage("main entry", "main.go") == 1.0


CLASS = Definition("HTTPSHandler", "type", 1, 40)
FUNCTION = Definition("HTTPSHandler", "function", 1, 40)
SHORT = Definition("HTTPSHandler", "type", 1, 2)


def defined(text: str, definition: Definition) -> float:
    return signals.definition(facts(text, file("a.py", [definition], asked=True)))


def test_a_class_weighs_more_than_a_function_and_a_long_one_more_than_a_short() -> None:
    assert defined("HTTPSHandler", CLASS) > defined("HTTPSHandler", FUNCTION) > 0
    assert defined("HTTPSHandler", CLASS) > defined("HTTPSHandler", SHORT) > 0


def test_a_name_written_as_a_name_weighs_more_than_a_word_that_is_also_one() -> None:
    timeout = Definition("Timeout", "type", 1, 40)
    assert defined("where does Timeout happen", timeout) > defined("where timeout happens", timeout)
    assert defined("timeout", timeout) == pytest.approx(defined("Timeout", timeout))


def test_a_definition_that_was_not_asked_for_weighs_nothing() -> None:
    assert signals.definition(facts("HTTPSHandler", file("a.py", [CLASS]))) == 0.0


def test_the_best_defined_name_counts_by_what_it_shares_with_the_question() -> None:
    asked = ask("parse qs")
    near = [Definition("x", "function", 1, 2), Definition("parse_qs", "function", 3, 9)]
    far = [Definition("parse_everything_else_too", "function", 1, 9)]
    assert Likeness(asked, near).best > Likeness(asked, far).best > 0
    assert Likeness(asked, near).whole > Likeness(asked, far).whole == 0
    assert Likeness(asked, []).best == 0.0


def test_names_of_types_and_of_functions_are_told_apart() -> None:
    found = Likeness(ask("url parser"), [Definition("UrlParser", "type", 1, 9)])
    assert found.of_types == found.best > 0
    assert found.of_functions == 0.0


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("test", "tests/core/url.py"),
        ("test", "src/url_test.go"),
        ("test", "src/test_url.py"),
        ("test", "src/UrlTests.cs"),
        ("test", "web/url.spec.ts"),
        ("test", "pkg/testdata/url.json"),
        ("test", "conftest.py"),
        ("example", "examples/url.py"),
        ("example", "docs_src/url.py"),
        ("example", "src/url_example.go"),
        ("vendored", "third_party/url.c"),
        ("vendored", "web/vendor/jquery.js"),
        ("vendored", "web/jquery.min.js"),
        ("vendored", "dist/url.js"),
        ("changelog", "CHANGELOG.md"),
        ("changelog", "docs/release-notes.md"),
        ("changelog", "HISTORY"),
        ("internal", "absl/container/internal/url.h"),
        ("legacy", "src/url_legacy.py"),
        ("legacy", "api/v1/url.py"),
        ("generated", "api/url.pb.go"),
        ("generated", "types/url.d.ts"),
        ("documentation", "docs/url.md"),
        ("settings", "config/url.yaml"),
        ("settings", "Makefile"),
        ("translation", "src/locales/url.json"),
        ("tooling", "scripts/url.sh"),
        ("header", "include/url.hpp"),
    ],
)
def test_classes_of_files_are_known_by_their_paths(name: str, path: str) -> None:
    assert name in path_facts(path).classes
    asked = sorted(CLASSES[name].asked)[:1]
    about = Question("", dict.fromkeys(["url", *asked], 1.0), dict.fromkeys(["url", *asked], 1.0))
    of_class = [signal for signal in signals.SIGNALS if signal.name == name]
    assert len(of_class) == 1 + len(asked)
    for signal in of_class:
        wanted = signal.part == signals.ASKED_FOR
        assert signal.measure(facts("parse a url", file(path))) == float(not wanted)
        assert signal.measure(Facts(about, file(path), CORPUS)) == float(wanted or not asked)


@pytest.mark.parametrize(
    "path",
    [
        "src/url.py",
        "src/contest.py",
        "src/latest/url.py",
        "src/attestation.go",
        "spectrum.ts",
        "newsletter.py",
        "src/golden.py",
        "TEST",
    ],
)
def test_names_that_merely_contain_such_words_are_in_no_class(path: str) -> None:
    assert set(path_facts(path).classes) <= {"test"} & {path.lower()}


def test_a_document_yields_to_code_unless_documents_are_asked_for() -> None:
    readme = file("README.md", kind="prose")
    assert measured("document: document", "parse a url", readme) == 1.0
    assert measured("document: document", "the guide to url parsing", readme) == 0.0
    assert measured("document: document", "parse a url", file("url.py")) == 0.0


def test_a_file_that_the_question_names_with_its_ending_is_told_from_one_it_does_not() -> None:
    assert measured("file name: with its ending", "what is in url_parse.py", file("url_parse.py"))
    assert not measured("file name: with its ending", "parse a url", file("url_parse.py"))


def test_every_signal_has_a_key_of_its_own_and_belongs_to_a_part_with_a_phrase() -> None:
    keys = [signal.key for signal in signals.SIGNALS]
    assert len(set(keys)) == len(keys)
    assert {signal.part for signal in signals.SIGNALS} == signals.PARTS.keys()
