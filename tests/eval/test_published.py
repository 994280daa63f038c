from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_agent.errors import QueryError
from rag_agent.eval.published import read_published

ROW = {"set": "semble", "name": "other", "source": "its paper", "measures": {"ndcg10": 0.7}}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "published.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_figures_of_one_collection_are_read_in_their_order(tmp_path: Path) -> None:
    rows = [{**ROW, "name": "second", "p50_ms": 16}, {**ROW, "set": "cisi"}, ROW]
    found = read_published(written(tmp_path, *rows), "semble")
    assert [(row.name, row.p50_ms) for row in found] == [("second", 16.0), ("other", None)]
    assert (found[1].source, found[1].measures) == ("its paper", {"ndcg10": 0.7})


def test_the_mean_over_some_repositories_is_had_where_each_is_known(tmp_path: Path) -> None:
    row = {**ROW, "measure": "ndcg10", "repositories": {"chi": 0.5, "click": 0.7, "nvm": 0.0}}
    (found,) = read_published(written(tmp_path, row), "semble")
    assert found.on("ndcg10", {"chi", "click"}) == pytest.approx(0.6)
    assert found.on("ndcg10", {"chi", "elsewhere"}) is None
    assert found.on("recall10", {"chi"}) is None
    assert found.on("ndcg10", set()) is None


@pytest.mark.parametrize("row", [3, {"set": "semble"}, {**ROW, "measures": [1]}])
def test_what_is_no_figure_is_an_error_that_names_the_file(row: Any, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"published\.json: expected"):
        read_published(written(tmp_path, row), "semble")


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="nowhere"):
        read_published(tmp_path / "nowhere.json", "semble")


def test_the_published_figures_of_this_project_can_be_read_and_have_their_sources() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "published.json"
    semble = read_published(path, "semble")
    assert len(semble) >= 8
    assert [
        row.name for row in semble if not row.source or "ndcg10_chunk" not in row.measures
    ] == []
    assert len([row for row in semble if row.p50_ms is not None]) >= 5
    assert read_published(path, "issue")
