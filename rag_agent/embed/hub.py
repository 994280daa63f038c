"""A model's files in the user's cache folder: found there, or fetched once from the hub."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent.errors import EmbedError

if TYPE_CHECKING:
    from fastembed.common.model_description import BaseModelDescription

# Longest wait for the hub's first answer. A refused connection or an unknown name fails at once;
# this bounds the networks that swallow packets, where the system's own limit is two minutes.
_REACH_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model that is not part of this package, and what its errors say.

    ``label`` is what it is and its name, ``source`` the repository on the hub, ``command`` what
    downloads it, ``instead`` what to do without.
    """

    label: str
    source: str
    megabytes: int
    description: BaseModelDescription
    command: str
    instead: str


def fetch(wanted: Wanted, folder: Path, *, download: bool) -> Path:
    """The folder that holds the model's files, somewhere below ``folder``.

    With ``download`` false nothing but the disk is asked.

    Raises:
        EmbedError: they are not there and cannot, or must not, be fetched.
    """
    try:
        return _fetch(wanted, folder, local_files_only=True)
    except ValueError as error:  # what fastembed raises when no source had it
        if not download:
            raise EmbedError(
                f"{wanted.label} is not in {folder}; run `{wanted.command}` with a network to"
                f" download it ({wanted.megabytes} MB), or {wanted.instead}"
            ) from error
    return _download(wanted, folder)


def _fetch(wanted: Wanted, folder: Path, *, local_files_only: bool) -> Path:
    from fastembed.common.model_management import ModelManagement
    from loguru import logger

    # fastembed reports every step that fails on stderr; the EmbedError says it once.
    logger.disable("fastembed")
    found = ModelManagement.download_model(
        wanted.description, str(folder), retries=1, local_files_only=local_files_only
    )
    return Path(found)


def _download(wanted: Wanted, folder: Path) -> Path:
    from huggingface_hub import constants, model_info

    advice = f"try again with a network, or {wanted.instead}"
    if constants.HF_HUB_OFFLINE:
        raise EmbedError(
            f"{wanted.label} is not in {folder} and HF_HUB_OFFLINE forbids to download it; {advice}"
        )
    failure = _first_failure(
        lambda: model_info(wanted.source, timeout=_REACH_SECONDS), _REACH_SECONDS + 1.0
    )
    if failure:
        raise EmbedError(
            f"{wanted.label} is not in {folder} and {constants.ENDPOINT} cannot be"
            f" reached ({failure}); {advice}"
        )
    try:
        return _fetch(wanted, folder, local_files_only=False)
    except (OSError, ValueError) as error:
        raise EmbedError(f"{wanted.label}: the download failed; {advice}") from error


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
