"""Text to vectors: the packaged model or another row of MODELS, and a cache of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent.embed.models import DEFAULT, MODELS, Model, find_model
from rag_agent.embed.passage import passage_text

if TYPE_CHECKING:
    from rag_agent.embed.cache import EmbeddingCache
    from rag_agent.types import Embedder

__all__ = ["DEFAULT", "MODELS", "EmbeddingCache", "Model", "find_model", "load", "passage_text"]


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
    # Before the first import of onnxruntime, which else collects what machine this is and looks
    # for a way to send it; likewise the hub's client.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from rag_agent.embed.files import locate, register, revision
    from rag_agent.embed.onnx import OnnxEmbedder, default_threads
    from rag_agent.paths import cache_folder

    row = find_model(model)
    files = locate(row, folder or cache_folder() / "models", download=download)
    register(row)
    return OnnxEmbedder(row, files, revision(row, files), threads or default_threads())


def __getattr__(name: str) -> Any:
    # Settings name a model without having one: they should not pay for a database.
    if name == "EmbeddingCache":
        from rag_agent.embed.cache import EmbeddingCache

        return EmbeddingCache
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
