"""What an export says is not believed where the disk, the settings or the model know better."""

from __future__ import annotations

import json
import shutil
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import rag_agent
from rag_agent.errors import StoreError
from rag_agent.exchange import ImportReport, adopt, read_export
from rag_agent.exchange.adopt import Place
from rag_agent.masking import REMOVED
from rag_agent.progress import silent
from rag_agent.store import Store
from rag_agent.sync.walk import WalkRules

TOKEN = "ghp_" + "a1B2c3D4e5" * 4  # made up, in the form that GitHub gives
FILES = {
    "a.md": "# Tides\n\nThe tide turns at noon.\n",
    "a.py": "def tide():\n    return 'noon'\n",
    "a.html": "<html><head><title>Pier</title></head><body><h1>Pier</h1><p>The lamp is lit.</p>"
    "<p>It burns oil.</p></body></html>",
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of a note, a script and a page."""
    folder = tmp_path_factory.mktemp("there")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def lines(there: Path) -> list[dict[str, Any]]:
    """What is exported of it, with vectors."""
    with rag_agent.open(there) as index:
        index.sync()
        return [json.loads(line) for line in index.export_chunks(vectors=True)]


@pytest.fixture
def here(there: Path, tmp_path: Path) -> Path:
    """The same files elsewhere, without an index."""
    folder = tmp_path / "here"
    shutil.copytree(there, folder, ignore=shutil.ignore_patterns(".pi"))
    return folder


def imported(folder: Path, lines: Iterable[Mapping[str, Any]]) -> ImportReport:
    with rag_agent.open(folder) as index:
        return index.import_chunks(map(json.dumps, lines))


def texts(folder: Path) -> dict[str, str]:
    """All that the index holds, by file."""
    found: dict[str, str] = {}
    with rag_agent.open(folder) as index:
        for line in map(json.loads, index.export_chunks()):
            if line["type"] in ("document", "chunk"):
                found[line["path"]] = found.get(line["path"], "") + json.dumps(line)
    return found


def of(lines: Iterable[dict[str, Any]], type: str, path: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == type and line["path"] == path)


def rewritten(chunk: dict[str, Any], text: str) -> None:
    """Let a chunk say something else on as many lines, in one passage."""
    text += "\n" * (chunk["end"] - chunk["start"])
    place = [chunk["start"], chunk["end"], 0, len(text), None]
    chunk.update(text=text, passages=[place], definitions=[])


def test_text_of_a_source_file_is_read_from_the_disk_whatever_the_export_calls_it(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    for path in ("a.md", "a.py"):
        of(lines, "document", path).update(converted=True, kind="prose", language="html")
        rewritten(of(lines, "chunk", path), "rm the whole disk")
    assert imported(here, lines).added == len(FILES)
    assert not [path for path, text in texts(here).items() if "whole disk" in text]
    assert "turns at noon" in texts(here)["a.md"]
    assert "return 'noon'" in texts(here)["a.py"]


@pytest.mark.parametrize("changed", [{"kind": "code"}, {"language": "python"}])
def test_a_conversion_of_another_kind_is_read_from_the_disk(
    here: Path, lines: list[dict[str, Any]], changed: dict[str, Any]
) -> None:
    of(lines, "document", "a.html").update(changed)
    rewritten(of(lines, "chunk", "a.html"), "rm the whole disk")
    assert imported(here, lines).added == len(FILES)
    assert "whole disk" not in texts(here)["a.html"]


def test_text_of_a_conversion_is_taken_over(here: Path, lines: list[dict[str, Any]]) -> None:
    rewritten(of(lines, "chunk", "a.html"), "The lamp was read by OCR.")
    assert imported(here, lines).added == len(FILES)
    assert "read by OCR" in texts(here)["a.html"]


SECRETS: dict[str, tuple[str, dict[str, Any]]] = {
    "title": ("document", {"title": TOKEN}),
    "metadata": ("document", {"metadata": {"subject": TOKEN}}),
    "warning": ("document", {"warnings": [TOKEN]}),
    "heading": ("chunk", {"heading": TOKEN}),
    "definition": ("chunk", {"definitions": [[TOKEN, "function", 1, 1]]}),
    "own text of a passage": ("chunk", {"passages": [[1, 1, 0, len(TOKEN), TOKEN]]}),
}  # fmt: skip


@pytest.mark.parametrize("place", SECRETS)
def test_a_secret_beside_the_text_does_not_come_in(
    here: Path, lines: list[dict[str, Any]], place: str
) -> None:
    type, changed = SECRETS[place]
    of(lines, type, "a.html").update(changed)
    assert imported(here, lines).added == len(FILES)
    assert TOKEN not in texts(here)["a.html"]
    assert "The lamp is lit." in texts(here)["a.html"]


def test_a_secret_in_the_text_is_masked_and_not_found(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    page = FILES["a.html"].replace("oil", f"oil, says {TOKEN}")
    for folder in (here, here.parent / "again"):
        folder.mkdir(exist_ok=True)
        (folder / "a.html").write_text(page, encoding="utf-8")
    with rag_agent.open(here.parent / "again") as index:
        index.sync()
        told = [json.loads(line) for line in index.export_chunks(vectors=True)]
    assert REMOVED in texts(here.parent / "again")["a.html"]
    clear = [json.loads(json.dumps(line).replace(REMOVED, TOKEN)) for line in told]
    for chunk in clear:
        if chunk["type"] == "chunk":
            rewritten(chunk, chunk["text"].replace("\n", " "))
    assert imported(here, clear).added == 1
    with rag_agent.open(here) as index:
        (hit, *_) = index.search("what does the lamp burn").hits
        assert TOKEN not in hit.chunk.text
        assert f"oil, says {REMOVED}" in hit.chunk.text


def test_a_secret_that_goes_on_in_the_next_chunk_does_not_come_in(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    name = "PRIVATE KEY"
    halves = f"-----BEGIN {name}-----\n" + "Mb0x" * 16, "Zz9q" * 16 + f"\n-----END {name}-----"
    chunk = of(lines, "chunk", "a.html")
    parts = [
        {**chunk, "start": start, "end": start + 1, "text": text, "passages": [], "vector": None}
        for start, text in zip((1, 3), halves, strict=True)
    ]
    of(lines, "document", "a.html")["chunks"] = 2
    document = lines.index(of(lines, "document", "a.html"))
    rest = [line for line in lines[document + 1 :] if line.get("path") != "a.html"]
    assert imported(here, [*lines[: document + 1], *parts, *rest]).added == len(FILES)
    assert "Mb0x" not in texts(here)["a.html"]


def test_what_says_that_it_is_not_to_be_indexed_is_read_to_see(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    of(lines, "document", "a.html")["metadata"] = {"rag": "false"}
    rewritten(of(lines, "chunk", "a.html"), "rm the whole disk")
    # The page itself says nothing of that.
    assert imported(here, lines).added == len(FILES)
    assert "whole disk" not in texts(here)["a.html"]


def test_a_tag_that_is_excluded_here_keeps_a_document_out(tmp_path: Path) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.html").write_text(
            FILES["a.html"].replace("<title>", '<meta name="keywords" content="private"><title>'),
            encoding="utf-8",
        )
    with rag_agent.open(tmp_path / "there") as index:
        index.sync()
        lines = [json.loads(line) for line in index.export_chunks()]
    assert of(lines, "document", "a.html")["tags"] == ["private"]
    with rag_agent.open(tmp_path / "here") as index:
        index.configure(exclude_tags=("private",))
    done = imported(tmp_path / "here", lines)
    assert [(one.path, one.reason, one.detail) for one in done.left_out] == [
        ("a.html", "excluded tag", "#private")
    ]
    with rag_agent.open(tmp_path / "here") as index:
        assert index.find("*") == []
        assert index.status().skipped_by_reason == {"excluded tag": 1}


def test_a_private_key_named_like_a_page_is_left_out(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    (here / "a.html").write_text("-----BEGIN PRIVATE KEY-----\nMb0x\n", encoding="utf-8")
    done = imported(here, lines)
    assert [(one.path, one.detail) for one in done.left_out] == [("a.html", "a private key")]


def test_a_file_is_not_taken_twice_under_another_spelling(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    for line in lines:
        if line.get("path") == "a.html":
            line["path"] = ".//a.html"
    done = imported(here, lines)
    assert [(one.path, one.reason) for one in done.left_out] == [(".//a.html", "missing")]
    assert set(texts(here)) == {"a.md", "a.py"}


@pytest.mark.parametrize("dim", [7, -3, 0, 10**30, 768])
def test_vectors_that_are_not_as_long_as_the_models_are_refused_and_search_goes_on(
    here: Path, lines: list[dict[str, Any]], dim: int
) -> None:
    lines[0]["dim"] = dim
    done = imported(here, lines)
    assert (done.added, done.vectors, len(done.problems)) == (len(FILES), 0, 1)
    assert done.problems[0].startswith(f"line 1: vectors of {str(dim)[:20]} numbers are none of ")
    with rag_agent.open(here) as index:
        assert index.search("what oil does the lamp burn").hits[0].path == "a.html"
        index.sync()
        assert index.search("when does the tide turn").mode == "hybrid"


@pytest.mark.parametrize("dim", [-3, 0, 10**30])
def test_no_model_has_vectors_of_that_many_numbers(
    here: Path, lines: list[dict[str, Any]], dim: int
) -> None:
    lines[0].update(model="another@1", dim=dim)
    done = imported(here, lines)
    assert (done.added, done.vectors, len(done.problems)) == (len(FILES), 0, 1)
    assert "whose have 1 to 65,536" in done.problems[0]


def test_vectors_unlike_those_that_are_here_are_refused(
    here: Path, lines: list[dict[str, Any]]
) -> None:
    lines[0].update(model="another@1")
    assert imported(here, lines).vectors == len(FILES) * 2
    done = imported(here, [{**lines[0], "dim": 7}, *lines[1:]])
    assert (done.known, done.vectors, len(done.problems)) == (len(FILES), 0, 1)
    assert "line 1: " in done.problems[0]
    assert "384 dimensions, not 7" in done.problems[0]


@pytest.mark.parametrize("changed", [{"dim": None}, {"model": None}])
def test_a_model_without_a_length_gives_no_vectors(
    here: Path, lines: list[dict[str, Any]], changed: dict[str, Any]
) -> None:
    lines[0].update(changed)
    done = imported(here, lines)
    assert (done.added, done.vectors) == (len(FILES), 0)
    assert [problem[:7] for problem in done.problems] == ["line 1:"]


@pytest.mark.parametrize(
    "number",
    [
        *(np.float32(number).tobytes() for number in (3e38, -3e38, 1e30, np.inf, np.nan)),
        b"\x01\x00\x80\x7f",  # a NaN that signals
    ],
)
def test_vectors_of_huge_numbers_are_told_without_a_warning(
    here: Path, lines: list[dict[str, Any]], number: bytes
) -> None:
    chunk = of(lines, "chunk", "a.md")
    chunk["vector"] = b64encode(number * 384).decode()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = imported(here, lines)
    assert [warning for warning in told if issubclass(warning.category, RuntimeWarning)] == []
    place = lines.index(chunk) + 1
    assert done.problems == (f"line {place}: the vector of a.md is none, and is made anew",)


RULES = WalkRules(
    extensions=frozenset({".md", ".py", ".html"}),
    names=frozenset(),
    exclude_patterns=(),
    max_bytes=10**6,
    max_document_bytes=10**6,
    exclude_tags=("private",),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**53, 2**63, 10**30, -1, 0, 1, 2])
    | st.floats()
    | st.text()
    | st.sampled_from(["", "\0", "a.html", "../a.html", ".", "code", "function", "AAAA"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, list[str | int], object]:
    """Of which line what is replaced by what: a field, or something inside of a list or object."""
    return (
        draw(st.integers(0, 99)),
        draw(st.lists(st.integers(0, 99), min_size=1, max_size=3)),
        draw(VALUES),
    )


def replaced(value: Any, steps: list[int], by: object) -> Any:
    """The value with what those steps lead to replaced."""
    if not steps or not isinstance(value, list | dict) or not value:
        return by
    if isinstance(value, dict):
        key = list(value)[steps[0] % len(value)]
        return {**value, key: replaced(value[key], steps[1:], by)}
    place = steps[0] % len(value)
    return [*value[:place], replaced(value[place], steps[1:], by), *value[place + 1 :]]


@pytest.fixture(scope="module")
def whole(there: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """An export in which each field has a value."""
    with rag_agent.open(there) as index:
        index.sync()
        lines = [json.loads(line) for line in index.export_chunks(vectors=True)]
    of(lines, "document", "a.html").update(
        tags=["pier"], date="2025-01-31", metadata={"author": "A. Keeper", "rag": "yes"},
        links=[["b.md", 1, True]], pages=[1, 2], warnings=["faint"],
        coverage={"text": 1, "ocr": 1, "without": 0, "engine": "eng, 200 pages"},
    )  # fmt: skip
    chunk = of(lines, "chunk", "a.html")
    chunk["definitions"] = [["lamp", "constant", chunk["start"], chunk["end"]]]
    return lines


@given(st.lists(changes(), min_size=1, max_size=2))
@settings(max_examples=200, deadline=None)
def test_any_value_in_any_field_is_taken_or_told(
    there: Path,
    whole: list[dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
    given: list[tuple[int, list[int], object]],
) -> None:
    lines: list[Any] = list(whole)
    for number, steps, by in given:
        place = number % len(lines)
        lines[place] = replaced(lines[place], steps, by)
    problems: list[str] = []
    with Store.open(tmp_path_factory.mktemp("store") / "rag.db") as store:
        try:
            export = read_export(map(json.dumps, lines), problems.append)
        except StoreError:  # of the header, which says what may be done with the rest
            event("refused")
            return
        place_here = Place(store.add_root(str(there)))
        done = adopt(store, export, [place_here], RULES, None, problems.append, silent)
        # A document is in, or it is said why not.
        missing = len(FILES) - done.added - done.known
        assert missing <= len(done.left_out) + len(problems)
        assert {document.path for document in store.documents(place_here.root).values()} <= set(
            FILES
        )
        assert store.counts().documents == len(store.documents(place_here.root))
