from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_agent.cli import main

NOTE = "# Tides\n\nThe tide turns at noon.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed folder with one note, in which the command runs."""
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "notes.md").write_text(NOTE, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(["index"]) == 0
    return folder


@pytest.fixture
def elsewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same note, in which the command runs then."""
    folder = project.parent / "here"
    folder.mkdir()
    (folder / "notes.md").write_text(NOTE, encoding="utf-8")
    return folder


@pytest.fixture
def exported(
    project: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Path:
    """What the project exported; the command runs elsewhere from now on."""
    file = project.parent / "index.jsonl"
    assert main(["export", str(file)]) == 0
    monkeypatch.chdir(elsewhere)
    capsys.readouterr()
    return file


def test_a_file_goes_out_and_comes_in(
    project: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = project.parent / "index.jsonl"
    capsys.readouterr()
    assert main(["export", "--vectors", str(file)]) == 0
    assert capsys.readouterr().out.startswith(
        f"✅ Exported 1 file (1 chunk, 1 vector) to {file} · "
    )
    monkeypatch.chdir(elsewhere)
    assert main(["import", str(file), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["added"], done["known"], done["vectors"], done["pending"]) == (1, 0, 2, 0)
    assert (done["left_out"], done["problems"], done["notes"]) == ([], [], [])
    assert main(["search", "tide", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["path"] == "notes.md"


def test_standard_streams_carry_the_lines_and_nothing_else(project: Path, elsewhere: Path) -> None:
    program = [sys.executable, "-m", "rag_agent"]
    out = subprocess.run([*program, "export", "-"], cwd=project, capture_output=True, check=True)
    assert out.stderr == b""
    assert [json.loads(line)["type"] for line in out.stdout.splitlines()] == [
        "header", "document", "chunk", "end",
    ]  # fmt: skip
    done = subprocess.run(
        [*program, "import", "-"], cwd=elsewhere, input=out.stdout, capture_output=True, check=True
    )
    told = done.stdout.decode()
    assert "Imported 1 file (1 chunk) · 0 as they were · 0 vectors of chunks and files" in told
    assert "1 chunk without a vector yet; `rag-agent refresh` makes them" in told


def test_a_bad_line_is_told_and_ends_with_1(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = exported.read_text(encoding="utf-8").splitlines()
    exported.write_text("\n".join([lines[0], "{broken", *lines[1:]]), encoding="utf-8")
    assert main(["import", str(exported)]) == 1
    told = capsys.readouterr()
    assert "Imported 1 file" in told.out
    assert "line 2: Invalid JSON" in told.out
    assert told.err.startswith("error: 1 problem with the export")


def test_what_differs_here_is_counted(
    exported: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (elsewhere / "notes.md").write_text("# Other\n", encoding="utf-8")
    assert main(["import", str(exported)]) == 0
    assert "left out 1 file: 1 changed since; `rag-agent refresh` reads" in capsys.readouterr().out


def test_an_export_that_fails_leaves_the_old_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project.parent / "index.jsonl"
    file.write_text("precious", encoding="utf-8")
    (project / ".pi" / "rag" / "rag.db").write_bytes(b"damaged" * 1000)
    assert main(["export", str(file)]) == 1
    assert file.read_text(encoding="utf-8") == "precious"
    assert [path.name for path in project.parent.iterdir() if path.is_file()] == ["index.jsonl"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "missing/index.jsonl"], "cannot be written (No such file or directory)"),
        (["import", "missing.jsonl"], "missing.jsonl cannot be read (No such file or directory)"),
        (["import", "notes.md"], "not an export of rag-agent: line 1: Invalid JSON"),
    ],
)
def test_what_cannot_be_opened_is_named(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 1
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a device of POSIX")
def test_a_device_is_written_to_and_not_replaced(project: Path) -> None:
    assert main(["export", os.devnull]) == 0
    assert not Path(os.devnull).is_file()
