from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rag_agent
from rag_agent import extract, paths
from rag_agent.extract import sandbox
from rag_agent.sync import texts
from rag_agent.sync.texts import TextCache
from rag_agent.types import Coverage, Document, Link

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
DOCUMENT = Document(
    path="docs/a.pdf",
    kind="prose",
    text="# Tide ≈ 2 m\n\nwords\n",
    language="pdf",
    title="Tides",
    tags=("harbour",),
    date="2026-01-31",
    metadata={"author": "Ó. Sæmundsson"},
    links=(Link("b.md", 3, wiki=True),),
    pages=(1, 3),
    converted=True,
    warnings=("1 of 2 pages have no text",),
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, which this test has for itself."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(paths, "cache_folder", lambda: folder)
    return folder


def project(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes((FORMATS / name).read_bytes())
    return folder


def index(folder: Path, anew: bool = False, trust: bool = True) -> dict[str, str]:
    """Sync words; the text of each document by its path."""
    environ = {"PI_RAG_DIR": str(folder.parent / f"{folder.name}-store")}
    with rag_agent.open(folder, environ=environ) as opened:
        opened.sync(folder, vectors=False, anew=anew, trust_cache=trust)
        found = opened.search("tide water berth", limit=20).hits
        return {hit.path.rpartition("/")[2]: hit.chunk.text for hit in found}


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def workers() -> int:
    """How many workers run for this process: none starts before something is to be parsed."""
    return int(sandbox.SHARED._process is not None)


def test_a_document_comes_back_as_it_was_under_the_path_that_asks(tmp_path: Path) -> None:
    TextCache(tmp_path).put(DOCUMENT, "abc")
    found = TextCache(tmp_path)
    assert found.get("docs/a.pdf", "abc") == DOCUMENT
    assert found.get("elsewhere/b.pdf", "abc") == replace(DOCUMENT, path="elsewhere/b.pdf")
    assert found.get("docs/a.pdf", "abd") is None
    assert found.get("docs/a.docx", "abc") is None


def test_what_ocr_has_read_is_kept_apart_by_what_ocr_that_was(tmp_path: Path) -> None:
    here = TextCache(tmp_path)
    here.put(replace(DOCUMENT, text="as it is"), "abc")
    here.put(replace(DOCUMENT, text="by OCR"), "abc", "eng, 200 pages")
    found = [here.get("a.pdf", "abc", engine) for engine in ("", "eng, 200 pages", "deu")]
    assert [document and document.text for document in found] == ["as it is", "by OCR", None]


@pytest.mark.parametrize(
    "seen", [Coverage(without=2, engine="eng", failed=1), Coverage(without=2, engine="")]
)
def test_what_ocr_has_not_read_to_its_end_is_not_kept(tmp_path: Path, seen: Coverage) -> None:
    here = TextCache(tmp_path)
    here.put(replace(DOCUMENT, coverage=seen), "abc", "eng")
    assert here.get("a.pdf", "abc", "eng") is None
    here.put(replace(DOCUMENT, coverage=Coverage(without=2, engine="eng")), "abc", "eng")
    assert here.get("a.pdf", "abc", "eng") is not None


def test_what_is_text_already_is_not_kept(tmp_path: Path) -> None:
    here = TextCache(tmp_path)
    here.put(replace(DOCUMENT, path="a.md", converted=False), "abc")
    assert here.get("a.md", "abc") is None
    assert not (tmp_path / texts.FILE).exists()


def test_another_version_of_extraction_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TextCache(tmp_path).put(DOCUMENT, "abc")
    monkeypatch.setattr(texts, "_PIPELINE", "another")
    assert TextCache(tmp_path).get("docs/a.pdf", "abc") is None


def test_who_does_not_trust_the_cache_replaces_what_is_in_it(tmp_path: Path) -> None:
    TextCache(tmp_path).put(DOCUMENT, "abc")
    doubting = TextCache(tmp_path, trusted=False)
    assert doubting.get("docs/a.pdf", "abc") is None
    doubting.put(replace(DOCUMENT, text="better"), "abc")
    found = TextCache(tmp_path).get("docs/a.pdf", "abc")
    assert found is not None
    assert found.text == "better"


def test_the_file_stays_within_its_limit_and_the_newest_stay_in_it(tmp_path: Path) -> None:
    here = TextCache(tmp_path, limit=1_000_000)
    for number in range(60):
        noise = os.urandom(30_000).hex()  # which does not compress below its 30 kB
        here.put(replace(DOCUMENT, text=noise), str(number))
    assert [here.get("a.pdf", str(number)) is not None for number in (0, 59)] == [False, True]
    here.close()
    assert (tmp_path / texts.FILE).stat().st_size < 1_300_000


def test_a_document_too_large_for_the_cache_pushes_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_LARGEST", 10_000)
    here = TextCache(tmp_path)
    here.put(DOCUMENT, "small")
    here.put(replace(DOCUMENT, text=os.urandom(20_000).hex()), "large")
    assert here.get("a.pdf", "large") is None
    assert here.get("docs/a.pdf", "small") == DOCUMENT


@pytest.mark.parametrize("broken", [b"no zlib", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_an_entry_that_cannot_be_read_is_as_none(tmp_path: Path, broken: bytes) -> None:
    here = TextCache(tmp_path)
    key = texts._key("a.pdf", "abc", "")
    assert key is not None
    here._file.put([(key, broken)])
    assert here.get("a.pdf", "abc") is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits; the profile is private")
def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    here = TextCache(tmp_path / "cache")
    here.put(DOCUMENT, "abc")
    modes = {p.name: p.stat().st_mode & 0o077 for p in (tmp_path / "cache").glob("texts.db*")}
    assert set(modes) >= {"texts.db", "texts.db-wal"}
    assert set(modes.values()) == {0}


_FILL = """
import sys
from pathlib import Path
from rag_agent.sync.texts import TextCache
from rag_agent.types import Document
for number in range(30):
    document = Document("a.pdf", "prose", f"{sys.argv[2]} {number}", converted=True)
    TextCache(Path(sys.argv[1])).put(document, f"{sys.argv[2]} {number}")
"""


def test_several_processes_fill_one_cache(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    running = [
        subprocess.Popen([sys.executable, "-c", _FILL, str(tmp_path), name]) for name in names
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    here = TextCache(tmp_path)
    assert all(here.get("a.pdf", f"{name} {n}") for name in names for n in range(30))


def test_chunking_again_parses_nothing(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "survey.pdf", "tender.docx", "page.html", "notes.md")
    first = index(folder)
    assert workers() == 1
    assert len(first) > 2
    extract.close()
    assert index(folder, anew=True) == first
    assert workers() == 0
    # Another worktree, with an index of its own.
    other = project(tmp_path / "two", "survey.pdf", "tender.docx", "page.html", "notes.md")
    assert index(other) == first
    assert workers() == 0


def test_forcing_parses_again(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "tender.docx")
    index(folder)
    extract.close()
    index(folder, anew=True, trust=False)
    assert workers() == 1


def test_a_changed_document_is_parsed(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "page.html")
    index(folder)
    extract.close()
    (folder / "page.html").write_text("<p>the tide turns", encoding="utf-8")
    assert index(folder) == {"page.html": "the tide turns"}
    assert workers() == 1


def test_a_damaged_cache_costs_nothing_but_the_parsing(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "tender.docx")
    first = index(folder)
    (cache / texts.FILE).write_bytes(b"no database" * 1000)
    for log in cache.glob("texts.db-*"):
        log.unlink()
    assert index(folder, anew=True) == first


def test_secrets_are_masked_before_anything_is_kept(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    secret = "ghp_" + "".join(chr(ord("a") + number * 7 % 26) for number in range(36))
    (folder / "page.html").write_text(f"<p>the tide {secret} turns", encoding="utf-8")
    index(folder)
    kept = TextCache(cache).get("page.html", sha256_of(folder / "page.html"))
    assert kept is not None
    assert "the tide" in kept.text
    assert secret not in kept.text
    assert kept.warnings == ("1 secret removed from the text",)


def test_an_excluded_document_is_not_kept(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "tender.docx", "page.html")
    (folder / ".ragignore").write_text("tender.docx\n", encoding="utf-8")
    index(folder)
    kept = TextCache(cache)
    assert kept.get("page.html", sha256_of(folder / "page.html")) is not None
    assert kept.get("tender.docx", sha256_of(folder / "tender.docx")) is None


def test_doctor_says_how_much_is_kept(tmp_path: Path, cache: Path) -> None:
    folder = project(tmp_path / "one", "tender.docx")
    index(folder)
    size = sum(path.stat().st_size for path in cache.glob("texts.db*")) / 1e6
    with rag_agent.open(folder) as opened:
        (told,) = [check.detail for check in opened.doctor() if check.name == "caches"]
    assert told == f"{cache}, 0.0 MB of vectors, {size:.1f} MB of text of documents"
