"""Text to vectors: the packaged model or another row of MODELS, a cache of them; rerankers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent.embed.card import card_text
from rag_agent.embed.models import DEFAULT, MODELS, Model, find_model
from rag_agent.embed.passage import passage_text
from rag_agent.embed.rerankers import RERANKERS, CrossEncoder, find_reranker

if TYPE_CHECKING:
    from rag_agent.embed.cache import EmbeddingCache
    from rag_agent.types import Embedder, Reranker

__all__ = [
    "DEFAULT",
    "MODELS",
    "RERANKERS",
    "CrossEncoder",
    "EmbeddingCache",
    "Model",
    "card_text",
    "find_model",
    "find_reranker",
    "load",
    "load_reranker",
    "passage_text",
]


def load(
    model: str = DEFAULT,
    threads: int | None = None,
    *,
    folder: Path | None = None,
    download: bool = True,
) -> Embedder:
    """The embedder of that name, ready to use; loading takes a fifth of a second.

    ``threads`` is how many texts are embedded at once (None: two to four, see default_threads).
    The default model lies in this package and never asks a network. Others lie in ``folder``
    (None: the user's cache folder) and are downloaded into it once, unless ``download`` is false:
    then this never waits for a network.

    Raises:
        EmbedError: unknown name, missing or damaged files, hub not reachable; says what to do.
    """
    _silence_telemetry()
    from rag_agent.embed.files import locate, register, revision
    from rag_agent.embed.onnx import OnnxEmbedder, default_threads
    from rag_agent.paths import cache_folder

    row = find_model(model)
    files = locate(row, folder or cache_folder() / "models", download=download)
    register(row)
    return OnnxEmbedder(row, files, revision(row, files), threads or default_threads())


def load_reranker(
    name: str,
    threads: int | None = None,
    *,
    folder: Path | None = None,
    download: bool = False,
) -> Reranker:
    """The reranker of that name, or in the folder of that absolute path, ready to use.

    ``threads`` is how many texts are read at once (None: as for embedding). It is looked for in
    ``folder`` (None: the user's cache folder); with ``download`` it is fetched into it once, and
    without this never waits for a network.

    Raises:
        EmbedError: unknown name, missing or damaged files, hub not reachable; says what to do.
    """
    _silence_telemetry()
    from rag_agent.embed.cross import OnnxReranker, locate
    from rag_agent.embed.onnx import default_threads
    from rag_agent.paths import cache_folder

    row = find_reranker(name)
    files = locate(row, folder or cache_folder() / "models", download=download)
    return OnnxReranker(row, files, threads or default_threads())


def _silence_telemetry() -> None:
    """Before the first import of onnxruntime, which else collects what machine it is on.

    It looks for a way to send that, too; likewise the hub's client.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    # Settings name a model without having one: they should not pay for a database.
    if name == "EmbeddingCache":
        from rag_agent.embed.cache import EmbeddingCache

        return EmbeddingCache
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
