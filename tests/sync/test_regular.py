from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rag_agent.errors import WalkError
from rag_agent.sync.regular import read_regular
from rag_agent.tracked import place_in


@pytest.mark.parametrize("ahead", [-3_600, 3_600])
def test_a_time_far_from_now_was_set_and_tells_every_later_write(
    tmp_path: Path, ahead: int
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("quay", encoding="utf-8")
    there = time.time_ns() + ahead * 1_000_000_000
    os.utime(file, ns=(there, there))
    _, source = read_regular(str(file), 100)
    assert source.mtime_ns == file.stat().st_mtime_ns > 0


def test_a_path_that_is_followed_no_more_says_so(tmp_path: Path) -> None:
    with pytest.raises(WalkError, match="is not tracked any more; run `rag-agent index`"):
        place_in([tmp_path / "a"], tmp_path / "b")
