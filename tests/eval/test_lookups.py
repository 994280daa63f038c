"""Lookups as benchmarks/lookups.py draws them out of an index."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rag_agent.eval import read_run, read_topics, run_queries, score_run
from rag_agent.index import Index
from rag_agent.paths import database
from rag_agent.search import search
from rag_agent.store import Store

# Programs beside the package, not part of it; at the end, so that they hide nothing.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import lookups
from lookups import File, Place

_FILES = {
    "src/cache.py": 'RETRY_LIMIT = 3\n\n\ndef load(path):\n    raise OSError("cannot read the'
    ' cache file %s twice")\n\n\ndef kept():\n    return settings["cache.folder.name"]\n',
    "src/main.py": 'from cache import RETRY_LIMIT\n\nparser.add_argument("--no-cache")\n',
    "src/other.py": 'NO_RETRY_LIMIT = 0\nparser.add_argument("--no-cache-folder")\n',
    "src/shop/folders.py": "# Everything that was read once is kept\n# in a folder beside the"
    " project.\ndef cached(path): ...\n",
    "docs/api.md": "`shop.folders.cached` is in `src.shop.folders`, `shop.gone.cached` is not.\n",
    "README.md": "# Shop\n\nEverything that was read once is kept\nin a folder beside the project."
    " See below.\n",
}
_SENTENCE = "Everything that was read once is kept in a folder beside the project."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lookups") / "shop"
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    with Index(root, root.parent / "stores" / "shop", "environment") as index:
        index.sync(root, vectors=False)
        return database(index.folder)


def files() -> list[File]:
    kinds = {".py": "code", ".md": "prose"}
    return [File(path, kinds[Path(path).suffix], text) for path, text in _FILES.items()]


def drawn(path: Path) -> dict[str, lookups.Lookup]:
    with Store.open(path, readonly=True) as opened:
        return {one.piece: one for one in lookups.drawn(lookups.read(opened), "seed")}


def test_files_are_read_as_they_were_indexed(store: Path) -> None:
    with Store.open(store, readonly=True) as opened:
        found = {file.path: (file.kind, file.text) for file in lookups.read(opened)}
    expected = {file.path: (file.kind, file.text.rstrip("\n")) for file in files()}
    assert {path: (kind, text.rstrip("\n")) for path, (kind, text) in found.items()} == expected


def test_every_file_that_has_a_piece_answers(store: Path) -> None:
    assert drawn(store)["RETRY_LIMIT"].places == [
        Place("src/cache.py", 1, 1),
        Place("src/main.py", 1, 1),
    ]


def test_a_part_of_a_longer_name_is_no_place_of_it(store: Path) -> None:
    found = drawn(store)
    assert found["--no-cache"].places == [Place("src/main.py", 3, 3)]
    assert found["--no-cache-folder"].places == [Place("src/other.py", 2, 2)]


def test_a_message_is_asked_for_as_the_program_says_it(store: Path) -> None:
    message = drawn(store)["cannot read the cache file %s twice"]
    assert message.places == [Place("src/cache.py", 5, 5)]
    assert "cannot read the cache file" in message.query
    assert "twice" in message.query
    assert "%s" not in message.query


def test_a_sentence_may_go_over_the_end_of_a_line(store: Path) -> None:
    assert drawn(store)[_SENTENCE].places == [
        Place("README.md", 3, 4),
        Place("src/shop/folders.py", 1, 2),
    ]


def test_a_key_is_answered_by_what_it_is_a_name_of(store: Path) -> None:
    found = {
        piece: [place.path for place in drawn(store)[piece].places]
        for piece in ("shop.folders.cached", "src.shop.folders", "shop.gone.cached")
    }
    assert found == {
        "shop.folders.cached": ["docs/api.md", "src/shop/folders.py"],
        "src.shop.folders": ["docs/api.md", "src/shop/folders.py"],
        "shop.gone.cached": ["docs/api.md"],
    }


def test_keys_and_paths_are_asked_for(store: Path) -> None:
    found = drawn(store)
    assert found["cache.folder.name"].places == [Place("src/cache.py", 9, 9)]
    assert found["src/other.py"].places == [Place("src/other.py")]
    assert found["other.py"].kind == "file name"


def test_what_many_files_have_is_not_looked_for() -> None:
    few = [File(f"{name}.py", "code", "TOO_COMMON = 1") for name in "abc"]
    assert len(lookups.places_of("TOO_COMMON", few, is_name=True)) == 3
    many = [*few, File("d.py", "code", "TOO_COMMON = 1")]
    assert lookups.places_of("TOO_COMMON", many, is_name=True) == []


def test_a_hyphen_goes_on_with_names_that_have_some() -> None:
    file = File("run.sh", "code", "echo ${SOME_NAME-none} --no-cache-folder")
    assert lookups.places_of("SOME_NAME", [file], is_name=True) == [Place("run.sh", 1, 1)]
    assert lookups.places_of("--no-cache", [file], is_name=True) == []


def test_another_seed_draws_others_and_the_same_the_same() -> None:
    many = [
        File(f"{name}.py", "code", f'raise OSError("the file {name} is read no more than once")')
        for name in ("one", "two", "six", "ten", "first", "second", "third", "last", "next", "some")
    ]
    first, again, other = ([*lookups.drawn(many, seed)] for seed in ("a", "a", "b"))
    assert first == again
    assert first != other


def test_the_drawn_are_questions_that_an_index_answers(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "lookups.jsonl"
    command = ["lookups.py", str(store.parent.parent), "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        assert lookups.main() == 0
    topics = read_topics(out)
    assert {topic.repo for topic in topics} == {"shop"}
    with Store.open(store, readonly=True) as opened:
        run_queries(
            lambda query, limit: search(opened, query, embedder=None, limit=limit),
            topics,
            tmp_path / "run.jsonl",
        )
    scored = score_run(topics, read_run(tmp_path / "run.jsonl"), by="kind")
    assert set(scored["by"]) == {
        *(kind.name for kind in lookups.KINDS),
        "path",
        "file name",
    }
    assert all(means["hit1"]["micro"] > 0.5 for means in scored["by"].values())
