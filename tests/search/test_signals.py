from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_agent.search import signals
from rag_agent.search.matches import ChunkMatch, FileMatch
from rag_agent.search.question import Question
from rag_agent.store import StoredChunk
from rag_agent.tokens import query_words
from rag_agent.types import Chunk, Definition, Kind, Root, Source, StoredDocument


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


def coverage(text: str, path: str) -> float:
    return signals.name_coverage(ask(text), file(path))


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
    return signals.definition(ask(text), file("a.py", [definition], asked=True))


def test_a_class_weighs_more_than_a_function_and_a_long_one_more_than_a_short() -> None:
    assert defined("HTTPSHandler", CLASS) > defined("HTTPSHandler", FUNCTION) > 0
    assert defined("HTTPSHandler", CLASS) > defined("HTTPSHandler", SHORT) > 0


def test_a_name_written_as_a_name_weighs_more_than_a_word_that_is_also_one() -> None:
    timeout = Definition("Timeout", "type", 1, 40)
    assert defined("where does Timeout happen", timeout) > defined("where timeout happens", timeout)
    assert defined("timeout", timeout) == pytest.approx(defined("Timeout", timeout))


def test_a_definition_that_was_not_asked_for_weighs_nothing() -> None:
    assert signals.definition(ask("HTTPSHandler"), file("a.py", [CLASS])) == 0.0


def test_the_best_defined_name_counts_by_what_it_shares_with_the_question() -> None:
    near = file(
        "a.py", [Definition("x", "function", 1, 2), Definition("parse_qs", "function", 3, 9)]
    )
    far = file("b.py", [Definition("parse_everything_else_too", "function", 1, 9)])
    asked = ask("parse qs")
    assert signals.name_match(asked, near) > signals.name_match(asked, far) > 0
    assert signals.name_match(asked, file("c.py")) == 0.0


@pytest.mark.parametrize(
    ("signal", "path"),
    [
        (signals.test, "tests/core/url.py"),
        (signals.test, "src/url_test.go"),
        (signals.test, "src/test_url.py"),
        (signals.test, "src/UrlTests.cs"),
        (signals.test, "web/url.spec.ts"),
        (signals.test, "pkg/testdata/url.json"),
        (signals.test, "conftest.py"),
        (signals.example, "examples/url.py"),
        (signals.example, "docs_src/url.py"),
        (signals.example, "src/url_example.go"),
        (signals.vendored, "third_party/url.c"),
        (signals.vendored, "web/vendor/jquery.js"),
        (signals.vendored, "web/jquery.min.js"),
        (signals.vendored, "dist/url.js"),
    ],
)
def test_tests_examples_and_copies_are_known_by_their_paths(
    signal: signals.Measure, path: str
) -> None:
    assert signal(ask("parse a url"), file(path)) == 1.0


@pytest.mark.parametrize(
    "path",
    [
        "src/url.py",
        "src/contest.py",
        "src/latest/url.py",
        "src/attestation.go",
        "spectrum.ts",
        "newsletter.py",
    ],
)
def test_names_that_merely_contain_such_words_are_not(path: str) -> None:
    for signal in (signals.test, signals.example, signals.vendored):
        assert signal(ask("parse a url"), file(path)) == 0.0


@pytest.mark.parametrize(
    ("signal", "path", "question"),
    [
        (signals.test, "tests/url.py", "how do the tests mock the network"),
        (signals.test, "tests/url.py", "testing url parsing"),
        (signals.example, "examples/url.py", "an example of url parsing"),
        (signals.vendored, "vendor/url.py", "which vendored libraries are there"),
    ],
)
def test_no_penalty_when_the_question_is_about_them(
    signal: signals.Measure, path: str, question: str
) -> None:
    assert signal(ask(question), file(path)) == 0.0


@pytest.mark.parametrize("path", ["CHANGELOG.md", "docs/release-notes.md", "HISTORY"])
def test_a_changelog_is_known_by_its_name_unless_changes_are_asked_for(path: str) -> None:
    changelog = file(path, kind="prose")
    assert signals.history(ask("parse a url"), changelog) == 1.0
    assert signals.history(ask("what changed in the last release"), changelog) == 0.0


@pytest.mark.parametrize(
    ("path", "kind"), [("src/history.py", "code"), ("newsletter.md", "prose"), ("a.md", "prose")]
)
def test_code_and_other_documents_are_no_changelogs(path: str, kind: Kind) -> None:
    assert signals.history(ask("parse a url"), file(path, kind=kind)) == 0.0


def test_a_document_yields_to_code_unless_documents_are_asked_for() -> None:
    readme = file("README.md", kind="prose")
    assert signals.prose(ask("parse a url"), readme) == 1.0
    assert signals.prose(ask("the guide to url parsing"), readme) == 0.0
    assert signals.prose(ask("parse a url"), file("url.py")) == 0.0


def test_every_signal_has_a_name_of_its_own_and_a_phrase() -> None:
    names = [signal.name for signal in signals.SIGNALS]
    assert len(set(names)) == len(names)
    assert not {signals.WORDS, signals.MEANING} & set(names)
    assert all(signal.phrase for signal in signals.SIGNALS)
