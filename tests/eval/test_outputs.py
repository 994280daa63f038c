from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval.outputs import check_file, check_folder, write_lines


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "new" / "run.jsonl"
    check_file(out)
    assert names(out.parent) == []
    out.write_text("before", encoding="utf-8")
    (tmp_path / "new" / "run.jsonl.partial").write_text("part", encoding="utf-8")
    check_file(out, tmp_path / "q.jsonl")
    assert names(out.parent) == ["run.jsonl", "run.jsonl.partial"]
    assert out.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("out", [".", "file/run", os.devnull, "x" * 250, "x" * 300])
def test_what_cannot_be_a_file_is_said(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("", encoding="utf-8")
    with pytest.raises(QueryError, match="cannot write "):
        check_file(Path(out))
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("kept", ["q", "q.partial", "q.temporary", "q.partial.temporary"])
def test_what_is_read_is_not_written_over(kept: str, tmp_path: Path) -> None:
    (tmp_path / kept).write_text("", encoding="utf-8")
    with pytest.raises(QueryError, match="would destroy"):
        check_file(tmp_path / "q", tmp_path / "absent", tmp_path / kept)
    check_file(tmp_path / "another", tmp_path / kept)


def test_a_folder_is_tried_and_not_made(tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "plots")
    assert names(tmp_path) == []


def test_lines_that_cannot_be_written_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(QueryError, match=r"cannot write .*folder"):
        write_lines(tmp_path / "folder", ["line"])
    assert names(tmp_path) == ["folder"]


def test_half_a_surrogate_pair_is_written_as_json_has_it(tmp_path: Path) -> None:
    text = "caf\udce9 \ud800 é 🙂"
    write_lines(tmp_path / "lines", [json.dumps(text, ensure_ascii=False)])
    assert json.loads((tmp_path / "lines").read_bytes()) == text
