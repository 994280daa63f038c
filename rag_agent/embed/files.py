"""Where the files of a model are: verified in the package, or fetched once into a cache folder."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag_agent.embed.models import DEFAULT, PACKAGED_FOLDER, Model
from rag_agent.errors import EmbedError

# Longest wait for the hub's first answer. A refused connection or an unknown name fails at once;
# this bounds the networks that swallow packets, where the system's own limit is two minutes.
_REACH_SECONDS = 6.0

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
    try:
        return _fetch(model, folder, local_files_only=True)
    except ValueError as error:  # what fastembed raises when no source had it
        if not download:
            raise EmbedError(
                f"embedding model {model.name} is not in {folder}; run `rag-agent index` with a"
                f" network to download it ({model.megabytes} MB), or set embeddingModel to"
                f" {DEFAULT}, which needs no download"
            ) from error
    return _download(model, folder)


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


def _fetch(model: Model, folder: Path, *, local_files_only: bool) -> Path:
    from fastembed import TextEmbedding
    from fastembed.common.model_management import ModelManagement
    from loguru import logger

    # fastembed reports every step that fails on stderr; the EmbedError says it once.
    logger.disable("fastembed")
    # The only way to a description object; list_supported_models() gives plain dictionaries.
    description = next(
        row
        for row in TextEmbedding._list_supported_models()
        if row.model.lower() == model.name.lower()
    )
    found = ModelManagement.download_model(
        description, str(folder), retries=1, local_files_only=local_files_only
    )
    return Path(found)


def _download(model: Model, folder: Path) -> Path:
    from huggingface_hub import constants, model_info

    advice = (
        f"try again with a network, or set embeddingModel to {DEFAULT}, which needs no download;"
        " until then search works on words"
    )
    if constants.HF_HUB_OFFLINE:
        raise EmbedError(
            f"embedding model {model.name} is not in {folder} and HF_HUB_OFFLINE forbids to"
            f" download it; {advice}"
        )
    failure = _first_failure(
        lambda: model_info(model.source, timeout=_REACH_SECONDS), _REACH_SECONDS + 1.0
    )
    if failure:
        raise EmbedError(
            f"embedding model {model.name} is not in {folder} and {constants.ENDPOINT} cannot be"
            f" reached ({failure}); {advice}"
        )
    try:
        return _fetch(model, folder, local_files_only=False)
    except (OSError, ValueError) as error:
        raise EmbedError(f"embedding model {model.name}: the download failed; {advice}") from error


def _first_failure(ask: Callable[[], Any], seconds: float) -> str:
    """What went wrong with ``ask``, or "" when it answered in time.

    It runs in a thread that is abandoned when late, because a name look-up cannot be interrupted.
    """
    outcome: list[str] = []

    def run() -> None:
        try:
            ask()
        except Exception as error:  # noqa: BLE001 -- told to the caller, whatever the HTTP library
            outcome.append(type(error).__name__)
        else:
            outcome.append("")

    thread = threading.Thread(target=run, name="rag_agent-reach-hub", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else f"no answer in {seconds:.0f} seconds"
