from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

from rag_agent.eval.fit import fit
from rag_agent.eval.judging import Judged
from rag_agent.eval.written import write_tables


def test_the_tables_are_written_as_a_module(judged: list[Judged], tmp_path: Path) -> None:
    table = fit(judged, words=True)
    module(write_tables(table, table, judged), tmp_path)
    written = runpy.run_path(str(tmp_path / "weights.py"))
    assert written["HYBRID"] == {key: row for key, row in table.items() if any(row)}
    assert written["WORDS_ONLY"] == written["HYBRID"]


def test_the_module_says_what_its_weights_were_taught_by(
    ask: Callable[..., Judged], tmp_path: Path
) -> None:
    rows = [("code", True, {}), ("code", False, {}), ("prose", True, {}), ("prose", False, {})]
    code, documents = ask(rows[0], *rows[1:2], rows[3]), ask(rows[1], *rows[2:])
    said = module(write_tables({}, {}, [code] * 3), tmp_path)
    assert "Those in code were taught by 3 questions" in said
    assert "Those in prose are as they were before." in said
    assert "How high documents stand among code is as it was before." in said
    said = module(write_tables({}, {}, [documents]), tmp_path)
    assert "Those in code are as they were before." in said
    said = module(write_tables({}, {}, [code, documents]), tmp_path)
    assert "Those in prose were taught by 1 questions" in said
    assert "was weighed with 2 questions" in said


def module(source: str, folder: Path) -> str:
    """What a module says of itself."""
    assert all(len(line) <= 100 for line in source.splitlines())
    (folder / "weights.py").write_text(source, encoding="utf-8")
    return " ".join(runpy.run_path(str(folder / "weights.py"))["__doc__"].split())
