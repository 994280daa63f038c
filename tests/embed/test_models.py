from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models

from rag_agent import embed
from rag_agent.embed import files, passage_text
from rag_agent.embed.models import PACKAGED_FOLDER
from rag_agent.errors import EmbedError

REVISION = "0123456789abcdef0123456789abcdef01234567"
DOWNLOADED = [model for model in embed.MODELS.values() if not model.packaged]


def put_in_cache(model: embed.Model, folder: Path, model_file: str) -> Path:
    """Lay the packaged files out as the hub's client lays out a download of ``model``."""
    repository = folder / f"models--{model.source.replace('/', '--')}"
    snapshot = repository / "snapshots" / REVISION
    (snapshot / model_file).parent.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")
    for path in PACKAGED_FOLDER.glob("*.json"):
        shutil.copy(path, snapshot / path.name)
    shutil.copy(PACKAGED_FOLDER / "model.onnx", snapshot / model_file)
    return snapshot


def known_file(model: embed.Model) -> str:
    """Where the weights are in a download, as fastembed has it."""
    from fastembed import TextEmbedding

    rows = TextEmbedding.list_supported_models()
    (found,) = (row["model_file"] for row in rows if row["model"] == model.name)
    return str(found)


@pytest.fixture
def packaged_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the packaged model that a test may damage, in the place of the real one."""
    copy = tmp_path / "minilm"
    shutil.copytree(PACKAGED_FOLDER, copy)
    monkeypatch.setattr(files, "PACKAGED_FOLDER", copy)
    return copy


@pytest.mark.parametrize("model", DOWNLOADED, ids=lambda model: model.name)
def test_a_row_agrees_with_what_fastembed_knows(model: embed.Model) -> None:
    from fastembed import TextEmbedding
    from fastembed.text.pooled_embedding import PooledEmbedding

    files.register(model)
    (kind, known) = next(
        (kind, row)
        for kind in TextEmbedding.EMBEDDINGS_REGISTRY
        for row in kind._list_supported_models()
        if row.model == model.name
    )
    assert (known.dim, known.license.lower(), known.sources.hf) == (
        model.dim,
        model.licence.lower(),
        model.source,
    )
    pools_the_mean = issubclass(kind, PooledEmbedding) or bool(model.model_file)
    assert pools_the_mean == (model.pooling == "mean")


def test_names_are_found_whatever_their_case() -> None:
    assert embed.find_model("baai/BGE-small-en-v1.5").name == "BAAI/bge-small-en-v1.5"


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(EmbedError, match=r"'word2vec'.*BAAI/bge-small-en-v1\.5"):
        embed.load("word2vec")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_named(packaged_copy: Path, name: str) -> None:
    data = bytearray((packaged_copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (packaged_copy / name).write_bytes(data)
    with pytest.raises(EmbedError, match=rf"{name} is damaged.*reinstall"):
        embed.load()


def test_a_missing_file_is_named(packaged_copy: Path) -> None:
    (packaged_copy / "model.onnx").unlink()
    with pytest.raises(EmbedError, match=r"cannot read .*model\.onnx.*reinstall"):
        embed.load()


@pytest.mark.parametrize(
    ("name", "model_file"),
    [
        ("BAAI/bge-small-en-v1.5", "model_optimized.onnx"),  # fastembed's own, pools CLS
        ("intfloat/multilingual-e5-small", "onnx/model.onnx"),  # registered by us, with prefixes
    ],
)
def test_a_downloaded_model_is_used_without_a_network(
    tmp_path: Path, name: str, model_file: str
) -> None:
    model = embed.find_model(name)
    put_in_cache(model, tmp_path, model_file)
    embedder = embed.load(name, folder=tmp_path, download=False)
    assert embedder.fingerprint.startswith(f"{name}@{REVISION[:12]} ")
    assert embedder.dim == 384
    passage, query = embedder.embed_passages(["a text"])[0], embedder.embed_query("a text")
    assert np.linalg.norm([passage, query], axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)
    # Both models mark questions with a prefix.
    assert 0.3 < passage @ query < 0.99


def test_prefixes_stand_before_every_window(tmp_path: Path) -> None:
    model = embed.find_model("intfloat/multilingual-e5-small")
    put_in_cache(model, tmp_path, "onnx/model.onnx")
    e5 = embed.load(model.name, folder=tmp_path, download=False)
    plain = embed.load()
    # The same weights lie behind both names here, so only the prefix tells them apart.
    assert e5.embed_query("a text") @ plain.embed_query("query: a text") > 0.99999
    assert e5.embed_passages(["a text"])[0] @ plain.embed_query("passage: a text") > 0.99999


def test_a_damaged_download_says_which_folder_to_delete(tmp_path: Path) -> None:
    model = embed.find_model("BAAI/bge-small-en-v1.5")
    snapshot = put_in_cache(model, tmp_path, "model_optimized.onnx")
    (snapshot / "model_optimized.onnx").write_bytes(b"<html>proxy login</html>")
    with pytest.raises(EmbedError, match=rf"{model.name} cannot be loaded.*delete that folder"):
        embed.load(model.name, folder=tmp_path, download=False)


def test_weights_that_do_not_fit_their_row_are_refused(tmp_path: Path) -> None:
    model = embed.find_model("BAAI/bge-base-en-v1.5")  # 768 numbers; the copied file gives 384
    put_in_cache(model, tmp_path, "model_optimized.onnx")
    embedder = embed.load(model.name, folder=tmp_path, download=False)
    with pytest.raises(EmbedError, match="expected 768"):
        embedder.embed_query("text")


def test_without_permission_to_download_nothing_but_the_disk_is_asked(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match=r"130 MB.*embeddingModel to all-MiniLM-L6-v2-int8"):
        embed.load("nomic-ai/nomic-embed-text-v1.5-Q", folder=tmp_path, download=False)


_DOWNLOAD = """
import sys
from pathlib import Path
from rag_agent import embed
from rag_agent.errors import EmbedError
try:
    embed.load("BAAI/bge-small-en-v1.5", folder=Path(sys.argv[1]))
except EmbedError as error:
    print(error)
"""


def try_to_download(folder: Path, **environment: str) -> str:
    """What a process with that environment is told; one that hangs fails the test."""
    inherited = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-c", _DOWNLOAD, str(folder)],
        env={**inherited, "NO_PROXY": "127.0.0.1", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,  # not a measure: fastembed alone gives up after 39 seconds, others never
        check=True,
    )
    return done.stdout


def test_a_hub_that_refuses_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    told = try_to_download(tmp_path, HF_ENDPOINT=f"http://127.0.0.1:{port}")
    assert f"http://127.0.0.1:{port} cannot be reached" in told
    assert "BAAI/bge-small-en-v1.5" in told
    assert "search works on words" in told


def test_a_hub_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        told = try_to_download(tmp_path, HF_ENDPOINT=f"http://127.0.0.1:{port}")
    assert f"http://127.0.0.1:{port} cannot be reached" in told


def test_an_offline_setting_is_respected(tmp_path: Path) -> None:
    told = try_to_download(tmp_path, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE forbids" in told


def test_importing_the_package_loads_no_engine() -> None:
    engines = "{'fastembed', 'onnxruntime', 'numpy'}"
    script = f"import sys, rag_agent.embed; print({engines} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"


def test_the_header_names_path_title_and_scope_once() -> None:
    text = passage_text("docs/guide.md", "User guide", "User guide > Install", "Run make.")
    assert text == "docs/guide.md\nUser guide\nUser guide > Install\nRun make."
    assert passage_text("src/a.py", "", "", "x = 1") == "src/a.py\nx = 1"
    assert passage_text("a.md", "Notes", "Notes", "x") == "a.md\nNotes\nx"


def test_what_a_document_says_of_itself_stands_above_its_chunks_unless_they_say_it() -> None:
    above = passage_text("a.md", "Pumps", "Pumps > Seals", "x", "All about water.", ["sea", "kai"])
    assert above == "a.md\nPumps\nPumps > Seals\nAll about water.\nsea, kai\nx"
    front_matter = "---\ndescription: All about water.\ntags: [Sea, Kai]\n---\nx"
    text = passage_text("a.md", "", "", front_matter, "All about water.", ["sea", "kai"])
    assert text == f"a.md\n{front_matter}"


@pytest.mark.parametrize("model", DOWNLOADED, ids=lambda model: model.name)
def test_each_side_is_read_with_its_prefix_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: embed.Model
) -> None:
    files.register(model)
    weights = known_file(model)
    tiny_models.put_in_cache(model, tmp_path, weights)
    embedder = embed.load(model.name, folder=tmp_path, download=False)
    seen: list[list[str]] = []
    engine = embedder._engine  # type: ignore[attr-defined]
    run = engine.embed

    def spy(windows: list[Any], **options: Any) -> Any:
        seen.append(windows[0].tokens)
        return run(windows, **options)

    monkeypatch.setattr(engine, "embed", spy)
    embedder.embed_query("some text")
    embedder.embed_passages(["some text"])
    tokenizer = embedder._tokenizer  # type: ignore[attr-defined]
    assert seen == [
        tokenizer.encode(f"{prefix}some text").tokens
        for prefix in (model.query_prefix, model.passage_prefix)
    ]
