from __future__ import annotations

from pathlib import Path

import pytest

from rag_agent.eval.journal import Journal, fingerprint


def test_what_was_done_is_known_to_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.journal"
    first = Journal(path, "header")
    assert "chi" not in first
    first.add("chi")
    first.add("click")
    again = Journal(path, "header")
    assert [name in again for name in ("chi", "click", "nvm")] == [True, True, False]


def test_under_another_header_nothing_is_done(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    Journal(path, "header").add("chi")
    other = Journal(path, "other header")
    assert "chi" not in other
    other.add("click")
    assert "chi" not in Journal(path, "other header")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\x00"])
def test_in_a_journal_that_a_disk_has_lost_nothing_is_done(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.journal").write_bytes(content)
    assert "chi" not in Journal(tmp_path / "run.journal", "header")


def test_when_all_is_done_the_next_call_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    journal = Journal(path, "header")
    journal.close()
    journal.add("chi")
    journal.close()
    assert "chi" not in Journal(path, "header")
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_changes_with_each_input_and_where_one_ends() -> None:
    inputs = [(), ("a",), ("ab",), ("a", "b"), ("b", "a")]
    assert len({fingerprint(*given) for given in inputs}) == len(inputs)
    assert fingerprint("a") == fingerprint("a")
