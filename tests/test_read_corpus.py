from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_SCRIPT = Path(__file__).parents[1] / "scripts" / "read_corpus.py"
_FORMATS = Path(__file__).parents[1] / "fixtures" / "formats"


def _run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(_SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_a_corpus_in_which_every_file_is_named_ends_well(tmp_path: Path) -> None:
    folder, log = tmp_path / "corpus", tmp_path / "log.jsonl"
    folder.mkdir()
    for name in ("survey.pdf", "encrypted.pdf", "tender.docx", "notes.md"):
        (folder / name).write_bytes((_FORMATS / name).read_bytes())
    (folder / "film.mp4").write_bytes(b"\0")
    result = _run(folder, "--json", log, "--index")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "5 files, 0 faults" in result.stdout
    outcomes = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    found = {Path(o["path"]).name: (o["format"], o["outcome"]) for o in outcomes}
    assert found == {
        "survey.pdf": ("pdf", "read"),
        "encrypted.pdf": ("pdf", "encrypted"),
        "tender.docx": ("docx", "read"),
        "notes.md": ("markdown", "read"),
        "film.mp4": (".mp4", "file type"),
    }
    [pages] = [o["pages"] for o in outcomes if o["path"].endswith("survey.pdf")]
    assert pages[0] > 0


def test_a_file_that_takes_much_longer_than_the_limit_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Tides\n", encoding="utf-8")
    result = _run(tmp_path, "--seconds", "-1")
    assert result.returncode == 1
    assert f"FAULT {tmp_path.resolve() / 'notes.md'}: took 0 s" in result.stdout
