from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_models import REVISION, write_cross_encoder, write_embedding_model

from rag_agent import embed
from rag_agent.errors import EmbedError

ROWS = list(embed.RERANKERS.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "a model")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_agrees_with_what_fastembed_knows(row: embed.CrossEncoder) -> None:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    (known,) = (
        known for known in TextCrossEncoder.list_supported_models() if known["model"] == row.name
    )
    assert (known["license"].lower(), known["sources"]["hf"], known["model_file"]) == (
        row.licence.lower(),
        row.source,
        row.model_file,
    )
    assert known["size_in_GB"] * 1000 == pytest.approx(row.megabytes)


def test_no_row_is_forbidden_to_those_who_work_for_money() -> None:
    assert {row.licence for row in ROWS} <= {"Apache-2.0", "MIT"}


def test_names_are_found_whatever_their_case() -> None:
    assert embed.find_reranker("baai/BGE-reranker-BASE").name == "BAAI/bge-reranker-base"


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(EmbedError, match=r"'sorter'.*ms-marco-MiniLM-L-6-v2"):
        embed.load_reranker("sorter")


@pytest.mark.parametrize("model_file", ["model.onnx", "onnx/model.onnx"])
def test_a_model_in_a_folder_scores_texts_by_their_words(tmp_path: Path, model_file: str) -> None:
    folder = write_cross_encoder(tmp_path / "model", model_file)
    reranker = embed.load_reranker(str(folder))
    assert reranker.name == str(folder)
    texts = ["red", "blue green", "blue red", ""]
    # One for the separators, one for each pair of equal words.
    assert reranker.scores("red blue", texts) == [2.0, 2.0, 3.0, 1.0]
    assert reranker.scores("red", []) == []


def test_a_score_does_not_depend_on_the_other_texts(folder: Path) -> None:
    reranker = embed.load_reranker(str(folder))
    texts = ["one", "one two three " * 30, "two"]
    together = reranker.scores("one two", texts)
    assert together == [reranker.scores("one two", [text])[0] for text in texts]


def test_text_beyond_the_window_is_not_read(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model")
    settings = folder / "tokenizer_config.json"
    settings.write_text('{"model_max_length": 8192, "pad_token": "[PAD]"}', encoding="utf-8")
    (short, long) = embed.load_reranker(str(folder)).scores("one", ["one " * 200, "one " * 4000])
    assert short == 201.0
    assert long == 253.0  # 256 less the query, the start and both separators, plus a pair of these


def test_half_a_surrogate_pair_is_read_as_a_question_mark(folder: Path) -> None:
    assert embed.load_reranker(str(folder)).scores("\ud800 red", ["red \udfff"]) == [3.0]


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match=r"neither model\.onnx nor onnx/model\.onnx.*ragReranker"):
        embed.load_reranker(str(tmp_path))


def test_a_damaged_model_is_named(folder: Path) -> None:
    (folder / "onnx/model.onnx").write_bytes(b"<html>proxy login</html>")
    with pytest.raises(EmbedError, match=r"a model cannot be loaded.*ragReranker"):
        embed.load_reranker(str(folder))


def test_without_permission_to_download_nothing_but_the_disk_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(EmbedError, match=r"run `rag-agent doctor` with a network.*80 MB"):
        embed.load_reranker("Xenova/ms-marco-MiniLM-L-6-v2", folder=tmp_path)


def test_an_offline_setting_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    # Read from the environment when the library is imported, which another test may have done.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EmbedError, match="HF_HUB_OFFLINE forbids"):
        embed.load_reranker("BAAI/bge-reranker-base", folder=tmp_path, download=True)


def test_a_downloaded_reranker_is_used_without_a_network(tmp_path: Path) -> None:
    row = embed.find_reranker("Xenova/ms-marco-MiniLM-L-6-v2")
    repository = tmp_path / f"models--{row.source.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")
    write_cross_encoder(repository / "snapshots" / REVISION, row.model_file)
    reranker = embed.load_reranker(row.name, folder=tmp_path)
    assert reranker.name == row.name
    assert reranker.scores("red", ["red", "blue"]) == [2.0, 1.0]


def test_another_file_in_the_same_folder_is_another_model(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model", "onnx/model.onnx")
    assert embed.load_reranker(str(folder)).scores("red", ["red"]) == [2.0]
    shutil.move(folder / "onnx/model.onnx", folder / "model.onnx")
    assert embed.load_reranker(str(folder)).scores("red", ["red"]) == [2.0]


def test_a_model_that_is_no_cross_encoder_says_so(tmp_path: Path) -> None:
    folder = write_embedding_model(tmp_path / "model", "model.onnx", dim=8)
    reranker = embed.load_reranker(str(folder))
    with pytest.raises(EmbedError, match=r"model failed.*goes on without it"):
        reranker.scores("red", ["red"])
