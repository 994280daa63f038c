from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import DAMAGES, damage
from matching import matching

from rag_agent.errors import ModelMismatch
from rag_agent.store import Store, filters, matrix
from rag_agent.types import Root

DIM = 8


@pytest.fixture(params=[True, False], ids=["sqlite-vec", "numpy"])
def store(path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """By the extension and by its stand-in."""
    with Store.open(path, extension=request.param) as opened:
        yield opened


def _fill(store: Store, root: Root, put: Any, count: int) -> tuple[int, dict[int, Any]]:
    """``count`` random vectors, every fifth equal to another."""
    texts = [f"text {number}" for number in range(count)]
    put(store, root, "a.md", *texts[::2])
    put(store, root, "b.md", *texts[1::2])
    model = store.model("m", DIM)
    ids = [pending.id for pending in store.pending(model, count)]
    rows = np.random.default_rng(7).standard_normal((count, DIM)).astype(np.float32)
    rows[::5] = rows[0]
    store.put_vectors(model, ids, rows)
    return model, dict(zip(ids, rows, strict=True))


def _exact(rows: dict[int, Any], query: Any, k: int) -> list[int]:
    wide = query.astype(np.float64)
    cosine = {
        key: float(row.astype(np.float64) @ wide / np.linalg.norm(row) / np.linalg.norm(wide))
        for key, row in rows.items()
    }
    return sorted(cosine, key=lambda key: (-round(cosine[key], 5), key))[:k]


@pytest.mark.parametrize("k", [1, 10, 60, 5000])
def test_nearest_is_exact(store: Store, root: Root, put: Any, k: int) -> None:
    model, rows = _fill(store, root, put, 60)
    for query in np.random.default_rng(1).standard_normal((5, DIM)).astype(np.float32):
        found = store.nearest(model, query, k)
        assert [chunk for chunk, _ in found] == _exact(rows, query, k)
        for chunk, cosine in found:
            row = rows[chunk]
            expected = row @ query / np.linalg.norm(row) / np.linalg.norm(query)
            assert cosine == pytest.approx(float(expected), abs=1e-5)
        cosines = store.cosines(model, query, [9999, *(chunk for chunk, _ in found[:3])])
        assert np.isnan(cosines[0])
        assert cosines[1:] == pytest.approx([cosine for _, cosine in found[:3]], abs=1e-5)


def test_the_matrix_finds_what_the_scan_finds(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = _fill(store, root, put, 200)
    queries = np.random.default_rng(1).standard_normal((20, DIM)).astype(np.float32)
    scanned = [store.nearest(model, query, 10) for query in queries]
    monkeypatch.setattr(matrix, "SMALLEST", 100)
    store.refresh_statistics()
    assert matrix.files(store._database) != []
    assert matrix.current(store._database, model) is not None
    for query, expected in zip(queries, scanned, strict=True):
        found = store.nearest(model, query, 10)
        assert [chunk for chunk, _ in found] == [chunk for chunk, _ in expected]
        assert dict(found) == pytest.approx(dict(expected), abs=1e-5)
    assert len(store.nearest(model, queries[0], 5000)) == 200


def test_a_reader_that_searched_before_takes_a_matrix_that_is_written_later(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = _fill(store, root, put, 60)
    with Store.open(store.path, readonly=True) as reader:
        assert matrix.current(reader._database, model) is None
        monkeypatch.setattr(matrix, "SMALLEST", 10)
        store.refresh_statistics()
        assert matrix.current(reader._database, model) is not None


def test_the_matrix_stays_exact_while_vectors_come_and_go(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    monkeypatch.setattr(matrix, "_DRIFT", 1.0)
    model, rows = _fill(store, root, put, 400)
    store.refresh_statistics()
    (file,) = matrix.files(store._database)
    whole = file.read_bytes()
    queries = np.random.default_rng(3).standard_normal((10, DIM)).astype(np.float32)
    best = [chunk for query in queries for chunk, _ in store.nearest(model, query, 3)]

    # The best are embedded anew, a whole document goes, another comes.
    for chunk in sorted(set(best)):
        rows[chunk] = -rows[chunk]
        store.put_vectors(model, [chunk], rows[chunk].reshape(1, DIM))
    gone = store.chunks_of(store.documents(root)["b.md"].id)
    store.forget([gone[0].document.id])
    for stored in gone:
        del rows[stored.id]
    put(store, root, "c.md", "new", "newer")
    for item in store.pending(model, 10):
        rows[item.id] = queries[0]
        store.put_vectors(model, [item.id], queries[:1])
    store.refresh_statistics()

    assert file.read_bytes() == whole
    for query in queries:
        for k in (1, 10, 1000):
            assert matrix.current(store._database, model) is not None
            found = [chunk for chunk, _ in store.nearest(model, query, k)]
            assert found == _exact(rows, query, k)


def test_the_matrix_is_written_anew_when_much_has_changed(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    store.refresh_statistics()
    (file,) = matrix.files(store._database)
    whole = file.read_bytes()
    store.refresh_statistics()
    assert file.read_bytes() == whole
    store.forget([1])
    store.refresh_statistics()
    assert len(file.read_bytes()) < len(whole)
    query = rows[1]
    expected = _exact({key: rows[key] for key in list(rows)[25:]}, query, 5)
    assert [chunk for chunk, _ in store.nearest(model, query, 5)] == expected


def test_the_matrix_of_a_later_state_is_not_used_with_a_restored_database(
    store: Store,
    root: Root,
    put: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    store.refresh_statistics()
    backup = tmp_path / "backup.db"
    shutil.copy(store.path, backup)
    put(store, root, "c.md", *[f"more {number}" for number in range(20)])
    late = [pending.id for pending in store.pending(model, 50)]
    store.put_vectors(model, late, np.ones((20, DIM), np.float32))
    store.refresh_statistics()
    store.close()
    shutil.copy(backup, store.path)
    with Store.open(store.path) as restored:
        # New rows take the ids that rows of the later state have in the file.
        put(restored, root, "d.md", *[f"other {number}" for number in range(20)])
        ids = [pending.id for pending in restored.pending(model, 50)]
        opposite = -np.ones((20, DIM), np.float32)
        restored.put_vectors(model, ids, opposite)
        expected = _exact(rows | dict(zip(ids, opposite, strict=True)), rows[1], 70)
        assert matrix.current(restored._database, model) is None
        assert [chunk for chunk, _ in restored.nearest(model, rows[1], 70)] == expected
        restored.refresh_statistics()
        assert matrix.current(restored._database, model) is not None
        assert [chunk for chunk, _ in restored.nearest(model, rows[1], 70)] == expected


@pytest.mark.skipif(os.name == "nt", reason="there a copy is read into memory")
def test_a_matrix_that_is_cut_short_under_a_reader_is_not_looked_at_any_more(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    store.refresh_statistics()
    assert matrix.current(store._database, model) is not None
    os.truncate(matrix.path_for(store._database, model), 100)
    query = rows[1]
    assert [chunk for chunk, _ in store.nearest(model, query, 5)] == _exact(rows, query, 5)
    assert store.damaged_copies() == [matrix.path_for(store._database, model).name]
    store.refresh_statistics()
    assert matrix.current(store._database, model) is not None
    assert store.damaged_copies() == []


@pytest.mark.parametrize("dim", [0, 2 * DIM, 2**63])
def test_a_matrix_of_another_width_than_the_models_is_not_used(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch, dim: int
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    store.refresh_statistics()
    file = matrix.path_for(store._database, model)
    whole = file.read_bytes()
    magic, mark, count, _, last = matrix._HEADER.unpack(whole[: matrix._HEADER.size])
    header = matrix._HEADER.pack(magic, mark, count, dim, last)
    body = (whole * 3)[matrix._HEADER.size :][: min(count * (16 + 4 * dim), 2 * len(whole))]
    file.unlink()
    file.write_bytes(header + body)
    with Store.open(store.path, readonly=True) as reader:
        found = reader.nearest(model, rows[1], 5)
        assert [chunk for chunk, _ in found] == _exact(rows, rows[1], 5)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_matrix_is_not_used_and_is_made_again(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    store.refresh_statistics()
    (file,) = matrix.files(store._database)
    size = file.stat().st_size
    damage(file, how)
    query = rows[1]
    assert matrix.current(store._database, model) is None
    assert [chunk for chunk, _ in store.nearest(model, query, 5)] == _exact(rows, query, 5)
    store.refresh_statistics()
    assert file.stat().st_size == size
    assert matrix.current(store._database, model) is not None
    assert [chunk for chunk, _ in store.nearest(model, query, 5)] == _exact(rows, query, 5)


def test_a_matrix_that_cannot_be_written_costs_only_time(
    store: Store,
    root: Root,
    put: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 50)
    obstacle = matrix.path_for(store._database, model)
    (obstacle / "full").mkdir(parents=True)
    store.refresh_statistics()
    assert "searches take longer" in caplog.text
    assert [chunk for chunk, _ in store.nearest(model, rows[1], 5)] == _exact(rows, rows[1], 5)
    store.clear()
    assert obstacle.is_dir()
    assert [file for file in obstacle.parent.iterdir() if file.suffix == ".new"] == []


def test_a_matrix_that_is_no_longer_due_is_removed(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    _fill(store, root, put, 20)
    store.refresh_statistics()
    assert len(matrix.files(store._database)) == 1
    store.clear()
    assert matrix.files(store._database) == []
    assert [file.suffix for file in store.path.parent.iterdir() if ".new" in file.name] == []


def test_vectors_of_no_direction_are_near_to_nothing(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, root, "a.md", "zero", "not a number", "infinite", "good")
    model = store.model("m", 2)
    ids = [pending.id for pending in store.pending(model, 10)]
    rows = np.array([[0, 0], [np.nan, 1], [np.inf, 0], [1, 1]], np.float32)
    store.put_vectors(model, ids, rows)
    query = np.array([1, 0], np.float32)
    assert store.count_pending(model) == 0
    assert [chunk for chunk, _ in store.nearest(model, query, 10)] == [ids[3]]
    assert np.isnan(store.cosines(model, query, ids)).tolist() == [True, True, True, False]
    for useless in ([0, 0], [np.nan, 0], [np.inf, 1]):
        assert store.nearest(model, np.array(useless, np.float32), 10) == []
    monkeypatch.setattr(matrix, "SMALLEST", 1)
    store.refresh_statistics()
    assert [chunk for chunk, _ in store.nearest(model, query, 10)] == [ids[3]]
    assert matrix.current(store._database, model) is not None
    assert np.isnan(store.cosines(model, query, ids)).tolist() == [True, True, True, False]
    assert store.nearest(model, np.zeros(2, np.float32), 10) == []


def test_vectors_of_no_direction_take_no_place_of_those_that_point_away(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"text {number}" for number in range(20)]
    put(store, root, "a.md", *texts)
    model = store.model("m", 2)
    ids = [pending.id for pending in store.pending(model, 100)]
    rows = np.zeros((20, 2), np.float32)
    rows[15:] = [[-1, number] for number in range(5)]
    rows[15, 1], rows[16, 0] = 3, 0  # one of these has a part of 0, as those of no direction
    query = np.array([1, -1], np.float32)
    store.put_vectors(model, ids, rows)
    scanned = store.nearest(model, query, 3)
    assert len(scanned) == 3
    monkeypatch.setattr(matrix, "SMALLEST", 1)
    store.refresh_statistics()
    assert matrix.current(store._database, model) is not None
    found = store.nearest(model, query, 3)
    assert [chunk for chunk, _ in found] == [chunk for chunk, _ in scanned]
    assert len(store.nearest(model, query, 20)) == 5


@pytest.mark.parametrize("k", [0, -1])
def test_no_places_give_no_results(store: Store, root: Root, put: Any, k: int) -> None:
    model, rows = _fill(store, root, put, 10)
    assert store.nearest(model, rows[1], k) == []
    assert matching(store, ["text"], k) == []
    assert store.match_paths(["a"], k) == []


def test_another_dimension_is_a_mismatch_that_says_what_to_do(
    store: Store, root: Root, put: Any
) -> None:
    model, rows = _fill(store, root, put, 10)
    three = np.ones(3, np.float32)
    with pytest.raises(ModelMismatch, match="rebuild --force"):
        store.nearest(model, three, 5)
    with pytest.raises(ModelMismatch):
        store.cosines(model, three, [1])
    with pytest.raises(ModelMismatch):
        store.put_vectors(model, [1], three.reshape(1, 3))
    with pytest.raises(ModelMismatch):
        store.model("m", 3)
    assert len(store.nearest(model, rows[1], 100)) == 10


def test_a_model_without_vectors_may_come_with_another_dimension(
    store: Store, root: Root, put: Any
) -> None:
    model, _ = _fill(store, root, put, 10)
    assert store.forget_vectors() == 10
    assert store.model("m", 3) == model
    store.put_vectors(model, [1], np.ones((1, 3), np.float32))
    assert [chunk for chunk, _ in store.nearest(model, np.ones(3, np.float32), 5)] == [1]
    assert store.check() == []


def test_vectors_of_one_model_are_kept_when_the_others_are_forgotten(
    store: Store, root: Root, put: Any
) -> None:
    model, rows = _fill(store, root, put, 10)
    other = store.model("other", 2)
    store.put_vectors(other, [1, 3], np.ones((2, 2), np.float32))
    assert store.models() == {model: "m", other: "other"}
    assert store.forget_vectors(keep=model) == 2
    assert store.counts().vectors == {model: 10, other: 0}
    assert store.nearest(other, np.ones(2, np.float32), 5) == []
    assert len(store.nearest(model, rows[1], 100)) == 10


def test_models_do_not_mix(store: Store, root: Root, put: Any) -> None:
    model, rows = _fill(store, root, put, 10)
    other = store.model("other", DIM)
    assert other != model
    assert store.find_model("other") == other
    assert store.find_model("unknown") is None
    assert store.count_pending(other) == 10
    assert store.nearest(other, rows[1], 5) == []
    store.put_vectors(other, [3], rows[1].reshape(1, DIM))
    assert [chunk for chunk, _ in store.nearest(other, rows[1], 5)] == [3]
    assert store.counts().vectors == {model: 10, other: 1}


def test_pending_goes_through_all_chunks_in_steps(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", *[f"text {number}" for number in range(7)], title="A", heading="H")
    model = store.model("m", 2)
    store.put_vectors(model, [3], np.ones((1, 2), np.float32))
    seen = []
    while batch := store.pending(model, 2, after=seen[-1].id if seen else 0):
        seen += batch
    assert [item.id for item in seen] == [1, 2, 4, 5, 6, 7]
    assert (seen[0].path, seen[0].title, seen[0].heading, seen[0].text) == (
        "a.md",
        "A",
        "H",
        "text 0",
    )


def test_what_is_found_by_words_only_is_never_pending(store: Store, root: Root, put: Any) -> None:
    put(store, root, "a.md", "one", "[1] two", words_only=["[1] two"])
    model = store.model("m", DIM)
    assert [pending.text for pending in store.pending(model, 10)] == ["one"]
    assert store.count_pending(model) == 1
    assert (store.counts().chunks, store.counts().unembedded) == (2, 1)
    store.put_vectors(model, [store.pending(model, 1)[0].id], np.ones((1, DIM), np.float32))
    assert store.count_pending(model) == 0
    assert {match.chunk.text for match in matching(store, ["two"], 5)} == {"[1] two"}

    put(store, root, "a.md", "one", "[1] two")
    assert [pending.text for pending in store.pending(model, 10)] == ["[1] two"]
    store.put_vectors(model, [store.pending(model, 1)[0].id], np.ones((1, DIM), np.float32))
    put(store, root, "a.md", "one", "[1] two", words_only=["[1] two"])
    assert store.count_pending(model) == 0
    assert store.counts().vectors[model] == 1


def test_vectors_for_chunks_that_vanished_meanwhile_are_ignored(
    store: Store, root: Root, put: Any
) -> None:
    put(store, root, "a.md", "old")
    model = store.model("m", 2)
    late = [pending.id for pending in store.pending(model, 10)]
    put(store, root, "a.md", "new")
    store.put_vectors(model, late, np.ones((1, 2), np.float32))
    assert store.nearest(model, np.ones(2, np.float32), 5) == []
    assert [pending.text for pending in store.pending(model, 10)] == ["new"]
    store.put_vectors(model, [], np.empty((0, 2), np.float32))
    assert store.check() == []


def test_a_reader_without_the_writers_connection_uses_the_matrix(
    store: Store, root: Root, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "SMALLEST", 10)
    model, rows = _fill(store, root, put, 30)
    store.refresh_statistics()
    with Store.open(store.path, readonly=True) as reader:
        assert matrix.current(reader._database, model) is not None
        where = filters.compile("path:b.md")
        expected = _exact({key: rows[key] for key in list(rows)[15:]}, rows[1], 5)
        assert [chunk for chunk, _ in reader.nearest(model, rows[1], 5, where)] == expected


def test_the_engine_is_named(store: Store, request: pytest.FixtureRequest) -> None:
    assert store.vector_engine in request.node.name
