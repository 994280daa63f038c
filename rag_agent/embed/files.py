"""Where the files of a model are: verified in the package, or fetched once into a cache folder."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

from rag_agent.embed.hub import Wanted, fetch
from rag_agent.embed.models import DEFAULT, PACKAGED_FOLDER, Model
from rag_agent.errors import EmbedError

_registering = threading.Lock()


def locate(model: Model, folder: Path, *, download: bool) -> Path:
    """The folder that holds the model's files.

    ``folder`` is where downloaded models are kept. With ``download`` false nothing but the disk is
    asked.

    Raises:
        EmbedError: a file is missing, broken or cannot be fetched.
    """
    if model.packaged:
        return _verify(model, PACKAGED_FOLDER)
    register(model)
    wanted = Wanted(
        label=f"embedding model {model.name}",
        source=model.source,
        megabytes=model.megabytes,
        description=_describe(model),
        command="rag-agent index",
        instead=f"set embeddingModel to {DEFAULT}, which needs no download; until then search works"
        " on words",
    )
    return fetch(wanted, folder, download=download)


def register(model: Model) -> None:
    """Tell fastembed about a model that it does not know by itself."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    with _registering:
        known = {row["model"].lower() for row in TextEmbedding.list_supported_models()}
        if model.name.lower() in known:
            return
        if not model.model_file:
            raise EmbedError(
                f"the installed fastembed does not know {model.name}; upgrade it with"
                " `pip install --upgrade fastembed`"
            )
        try:
            TextEmbedding.add_custom_model(
                model=model.name,
                pooling=PoolingType("DISABLED" if model.output else model.pooling.upper()),
                normalization=True,
                output_name=model.output or None,
                # A packaged model is never fetched, but fastembed wants a source for every model.
                sources=ModelSource(hf=model.source),
                dim=model.dim,
                model_file=model.model_file,
                license=model.licence,
            )
        except TypeError as error:  # fastembed before 0.9 knows no output_name
            raise EmbedError(
                f"the installed fastembed is too old for {model.name}; upgrade it with"
                " `pip install --upgrade fastembed`"
            ) from error


def revision(model: Model, files: Path) -> str:
    """Twelve characters that change with the weights.

    A packaged model has its checksum. A downloaded one lies in a folder that the hub's client names
    after the commit.
    """
    if model.packaged:
        return model.sha256[model.model_file][:12]
    return files.name[:12]


def _verify(model: Model, folder: Path) -> Path:
    # 60 ms for 23 MB, beside 200 ms for loading: worth it, since a damaged weights file can load
    # and then answer nonsense.
    for name, expected in model.sha256.items():
        path = folder / name
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise EmbedError(
                f"embedding model {model.name}: cannot read {path} ({error.strerror}); reinstall"
                " with `pip install --force-reinstall --no-deps rag_agent`"
            ) from error
        if found != expected:
            raise EmbedError(
                f"embedding model {model.name}: {path} is damaged (sha256 {found[:12]}…, expected"
                f" {expected[:12]}…); reinstall with"
                " `pip install --force-reinstall --no-deps rag_agent`"
            )
    return folder


def _describe(model: Model) -> Any:
    from fastembed import TextEmbedding

    # The only way to a description object; list_supported_models() gives plain dictionaries.
    return next(
        row
        for row in TextEmbedding._list_supported_models()
        if row.model.lower() == model.name.lower()
    )
