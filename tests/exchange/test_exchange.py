from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import rag_agent
from rag_agent import Index, extract
from rag_agent.errors import StoreError, StoreMissing, WalkError
from rag_agent.exchange import ImportReport
from rag_agent.extract import sandbox
from rag_agent.sync import texts

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
NAMES = ("notes.md", "survey.pdf", "tender.docx", "tide.py", "gauge.c", "tides.csv", "page.html")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An indexed folder of files of every kind."""
    folder = tmp_path / "there"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(FORMATS / name, folder / name)
    (folder / "locked.pdf").write_bytes((FORMATS / "encrypted.pdf").read_bytes())
    with opened(folder) as index:
        index.sync()
    return folder


@pytest.fixture
def copy(project: Path) -> Path:
    """The same files elsewhere, without an index."""
    folder = project.parent / "here"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns(".pi"))
    return folder


def opened(folder: Path) -> Index:
    return rag_agent.open(folder)


def exported(folder: Path, *, vectors: bool = True) -> list[str]:
    with opened(folder) as index:
        return list(index.export_chunks(vectors=vectors))


def imported(folder: Path, lines: Iterable[str], path: Path | None = None) -> ImportReport:
    with opened(folder) as index:
        return index.import_chunks(lines, path)


def parsed(lines: Iterable[str], type: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, lines) if line["type"] == type]


def test_an_export_holds_every_file_every_chunk_and_what_was_left_out(project: Path) -> None:
    lines = exported(project)
    documents, chunks = parsed(lines, "document"), parsed(lines, "chunk")
    assert {document["path"] for document in documents} == set(NAMES)
    assert [d["chunks"] for d in documents] == [
        sum(c["path"] == d["path"] for c in chunks) for d in documents
    ]
    assert all(chunk["vector"] for chunk in chunks)
    assert [(s["path"], s["reason"]) for s in parsed(lines, "skipped")] == [
        ("locked.pdf", "encrypted")
    ]
    assert json.loads(lines[-1]) == {
        "type": "end",
        "documents": len(NAMES),
        "chunks": len(chunks),
        "vectors": len(chunks),
        "unembedded": 0,
        "skipped": 1,
    }


def test_without_vectors_there_are_none(project: Path) -> None:
    lines = exported(project, vectors=False)
    assert json.loads(lines[0])["model"] is None
    assert {chunk["vector"] for chunk in parsed(lines, "chunk")} == {None}
    assert {document["card"] for document in parsed(lines, "document")} == {None}


def test_a_round_trip_is_exact(project: Path, copy: Path) -> None:
    lines = exported(project)
    done = imported(copy, lines)
    assert (done.added, done.known, done.left_out, done.problems) == (len(NAMES), 0, (), ())
    with opened(copy) as index:
        assert index.tracked_paths == (copy,)
        # Nothing is left to do, and what could not be indexed there is noted here.
        again = index.sync()
        assert (again.unchanged, again.embedded, again.reused) == (len(NAMES), 0, 0)
    assert exported(copy) == lines


def test_what_is_the_same_is_neither_parsed_nor_embedded(
    project: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = exported(project)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "another user"))
    extract.close()
    done = imported(copy, lines)
    assert sandbox.SHARED._process is None
    assert done.vectors == len(parsed(lines, "chunk")) + len(NAMES)
    with opened(copy) as index:
        assert index.status().pending == 0
        assert index.search("when does the tide turn").mode == "hybrid"
    caches = list((tmp_path / "another user").rglob("*.db"))
    assert not [cache for cache in caches if cache.name == texts.FILE]


def test_only_files_with_the_same_bytes_are_taken_over(project: Path, copy: Path) -> None:
    lines = exported(project)
    (copy / "notes.md").write_text("# Another\n\nnote\n", encoding="utf-8")
    (copy / "tide.py").unlink()
    (copy / ".ragignore").write_text("page.html\n", encoding="utf-8")
    done = imported(copy, lines)
    assert done.added == len(NAMES) - 3
    assert {(one.path, one.reason) for one in done.left_out} == {
        ("notes.md", "changed since"),
        ("tide.py", "missing"),
        ("page.html", "ignored"),
    }
    with opened(copy) as index:
        assert {d.path for d in index.find("*")} == set(NAMES) - {
            "notes.md", "tide.py", "page.html"
        }  # fmt: skip


def test_what_is_indexed_already_gets_its_missing_vectors(project: Path, copy: Path) -> None:
    lines = exported(project)
    with opened(copy) as index:
        index.sync(vectors=False)
    done = imported(copy, lines)
    assert (done.added, done.known) == (0, len(NAMES))
    assert done.vectors == len(parsed(lines, "chunk")) + len(NAMES)
    assert imported(copy, lines).vectors == 0
    assert exported(copy) == lines


def test_what_is_found_by_words_only_stays_so(tmp_path: Path) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
        shutil.copy(FORMATS.parent / "pages" / "paper.pdf", tmp_path / name)
    with opened(tmp_path / "there") as index:
        index.sync()
    lines = exported(tmp_path / "there")
    unembedded = [chunk for chunk in parsed(lines, "chunk") if not chunk["embedded"]]
    assert unembedded
    assert {chunk["vector"] for chunk in unembedded} == {None}
    imported(tmp_path / "here", lines)
    assert exported(tmp_path / "here") == lines
    with opened(tmp_path / "here") as index:
        assert index.status().pending == 0


def test_what_ocr_has_read_elsewhere_is_taken_over(tmp_path: Path) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
        shutil.copy(FORMATS.parent / "pages" / "scan.pdf", tmp_path / name)
        with opened(tmp_path / name) as index:
            index.configure(ocr_pages=0)  # as where there is no tesseract
            index.sync(vectors=False)
    lines = exported(tmp_path / "there", vectors=False)
    (document,) = parsed(lines, "document")
    assert document["coverage"]["without"] > 0
    document["coverage"] = {"text": 0, "ocr": 1, "without": 0, "engine": "eng, 200 pages"}
    text = "The lamp of the pier was relit."
    read = {"type": "chunk", "root": 0, "path": "scan.pdf", "start": 1, "end": 1, "text": text,
            "passages": [[1, 1, 0, len(text), None]]}  # fmt: skip
    end = {"type": "end", "documents": 1, "chunks": 1, "vectors": 0}
    told = [lines[0], *map(json.dumps, ({**document, "chunks": 1}, read, end))]
    assert imported(tmp_path / "here", told).added == 1
    with opened(tmp_path / "here") as index:
        assert [hit.chunk.text for hit in index.search("lamp of the pier").hits] == [text]
    assert imported(tmp_path / "here", told).known == 1
    # What was not looked at there takes nothing away.
    assert imported(tmp_path / "here", lines).known == 1


def test_text_comes_from_the_file_here_and_vectors_only_to_the_same_text(
    project: Path, copy: Path
) -> None:
    lines = exported(project)
    forged = [line.replace("predict_height", "format_the_disk") for line in lines]
    assert forged != lines
    done = imported(copy, forged)
    assert done.added == len(NAMES)
    with opened(copy) as index:
        (hit, *_) = index.search("predict_height").hits
        assert (hit.path, "format_the_disk" in hit.chunk.text) == ("tide.py", False)
        assert index.status().pending == 1


def test_chunks_of_another_pipeline_are_cut_anew_and_keep_the_vectors_of_equal_text(
    project: Path, copy: Path
) -> None:
    lines = exported(project)
    header = {**json.loads(lines[0]), "pipeline": "of next year"}
    done = imported(copy, [json.dumps(header), *lines[1:]])
    assert (done.added, done.problems) == (len(NAMES), ())
    again = exported(copy)
    for type in ("document", "chunk"):
        # A page of it is a scan, which the next sync looks at.
        assert [d for d in parsed(again, type) if d["path"] != "survey.pdf"] == [
            d for d in parsed(lines, type) if d["path"] != "survey.pdf"
        ]


def test_a_folder_that_lies_elsewhere_can_be_named(project: Path, copy: Path) -> None:
    lines = exported(project)
    header = {**json.loads(lines[0]), "roots": ["/home/somebody/project"]}
    lines[0] = json.dumps(header)
    done = imported(copy, lines)
    assert (done.added, {one.reason for one in done.left_out}) == (0, {"folder not here"})
    assert done.problems == (
        "/home/somebody/project does not exist; name a folder or file to index",
    )
    assert imported(copy, lines, copy).added == len(NAMES)


def test_a_folder_below_one_that_is_tracked_keeps_its_place(project: Path, tmp_path: Path) -> None:
    lines = exported(project)
    outer = tmp_path / "outer"
    shutil.copytree(project, outer / "docs", ignore=shutil.ignore_patterns(".pi"))
    with opened(outer) as index:
        index.sync(vectors=False)
        done = index.import_chunks(lines, "docs")
        assert (done.known, index.tracked_paths) == (len(NAMES), (outer,))
        # Where it lies is part of what a chunk's vector says.
        assert index.status().vectors == 0


def test_the_home_folder_is_not_tracked_because_an_export_says_so(
    project: Path, copy: Path, home: Path
) -> None:
    lines = exported(project)
    lines[0] = json.dumps({**json.loads(lines[0]), "roots": [str(home)]})
    done = imported(copy, lines)
    assert (done.added, len(done.problems)) == (0, 1)
    assert "is your home folder" in done.problems[0]
    with opened(copy) as index:
        assert index.tracked_paths == ()


@pytest.mark.parametrize("path", ["../outside.md", "/etc/hostname", ".", "/", "a/../../x.md"])
def test_a_path_that_leads_elsewhere_is_left_out(project: Path, copy: Path, path: str) -> None:
    (copy.parent / "outside.md").write_text("# Outside\n", encoding="utf-8")
    lines = exported(project)
    number = next(n for n, line in enumerate(lines) if '"notes.md"' in line)
    document = {**json.loads(lines[number]), "path": path}
    lines[number] = json.dumps(document)
    lines[number + 1] = json.dumps({**json.loads(lines[number + 1]), "path": path})
    done = imported(copy, lines)
    assert done.added == len(NAMES) - 1
    assert [one.path for one in done.left_out] == [path]


@pytest.mark.parametrize(
    "vector", ["no base64!", "AAAA", "AACAfw==" * 96, "AADAfwAAwH8AAMB/" * 128]
)
def test_what_is_no_vector_is_told_and_made_anew(project: Path, copy: Path, vector: str) -> None:
    lines = exported(project)
    number = next(n for n, line in enumerate(lines) if '"chunk"' in line)
    lines[number] = json.dumps({**json.loads(lines[number]), "vector": vector})
    done = imported(copy, lines)
    path = json.loads(lines[number])["path"]
    assert done.problems == (f"line {number + 1}: the vector of {path} is none, and is made anew",)
    with opened(copy) as index:
        assert index.status().pending == 1
        index.sync()
    assert len(parsed(exported(copy), "chunk")) == len(parsed(lines, "chunk"))


def test_vectors_of_another_model_wait_until_it_is_used(project: Path, copy: Path) -> None:
    lines = exported(project)
    lines[0] = json.dumps({**json.loads(lines[0]), "model": "another@1"})
    imported(copy, lines)
    with opened(copy) as index:
        status = index.status()
        assert dict(status.other_models) == {"another@1": len(parsed(lines, "chunk"))}
        assert status.pending == status.chunks


def test_an_import_that_was_interrupted_goes_on(project: Path, copy: Path) -> None:
    lines = exported(project)

    def cut() -> Iterable[str]:
        yield from lines[: len(lines) // 2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imported(copy, cut())
    done = imported(copy, lines)
    assert done.known > 0
    assert done.added + done.known == len(NAMES)
    with opened(copy) as index:
        again = index.sync()
        assert (again.unchanged, again.embedded, again.reused) == (len(NAMES), 0, 0)
    assert exported(copy) == lines


def test_several_folders_keep_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "there" / name).mkdir(parents=True)
        (tmp_path / "there" / name / "a.md").write_text(f"# {name}\n\nwords\n", encoding="utf-8")
    with opened(tmp_path / "there") as index:
        index.sync("one")
        index.sync("two")
    lines = exported(tmp_path / "there")
    shutil.copytree(tmp_path / "there", tmp_path / "here", ignore=shutil.ignore_patterns(".pi"))
    assert imported(tmp_path / "here", lines).added == 2
    assert exported(tmp_path / "here") == lines
    with pytest.raises(StoreError, match="the export has 2 folders; name no path for them"):
        imported(tmp_path / "here", lines, tmp_path)


def test_a_folder_that_is_added_meanwhile_is_not_part_of_an_export(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "new.md").write_text("# New\n", encoding="utf-8")
    with opened(project) as reading, opened(project) as writing:
        lines = reading.export_chunks()
        got = [next(lines)]
        writing.sync(tmp_path / "more", vectors=False)
        got.extend(lines)
    assert {line["path"] for line in parsed(got, "document")} == set(NAMES)
    assert json.loads(got[-1])["documents"] == len(NAMES)


def test_an_index_that_is_not_there_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="nothing is indexed"):
        exported(tmp_path)


def test_what_is_no_export_leaves_nothing_behind(tmp_path: Path, project: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(StoreError, match="not an export of rag-agent"):
        imported(empty, ["hello"])
    with pytest.raises(WalkError, match="does not exist"):
        imported(empty, exported(project), empty / "missing")
    assert list(empty.iterdir()) == []
