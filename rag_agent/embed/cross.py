"""Question and text read together by an ONNX cross-encoder, through fastembed."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_agent.embed.hub import Wanted, fetch
from rag_agent.embed.rerankers import CrossEncoder
from rag_agent.errors import EmbedError
from rag_agent.utf8 import encodable

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

# Tokens of question and text together: the head of a chunk, which says what it is. They read 512
# and some 8,192, but of a model as small as the first row 512 take 147 ms of a core for each text
# and 256 take 67, so that 30 texts on two cores take a second.
_WINDOW = 256
_INSTEAD = 'set ragReranker to "" for none; until then search goes on without it'

_registering = threading.Lock()


class OnnxReranker:
    """The Reranker of one row."""

    def __init__(self, row: CrossEncoder, folder: Path, threads: int) -> None:
        self.name = row.name
        self._threads = threads
        self._engine = _start(row, folder)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, the higher the better; what does not fit the window is not read.

        A score depends on its own text alone, not on the others of the list.

        Raises:
            EmbedError: the model failed.
        """
        try:
            with ThreadPoolExecutor(self._threads, "rag_agent-rerank") as pool:
                score = partial(self._score, encodable(query))
                found = list(pool.map(score, map(encodable, texts)))
        except Exception as error:
            # onnxruntime's errors have no common base below Exception.
            raise EmbedError(f"reranker {self.name} failed ({_told(error)}); {_INSTEAD}") from error
        if not all(math.isfinite(score) for score in found):
            raise EmbedError(f"reranker {self.name} gave no usable scores; {_INSTEAD}")
        return found

    def _score(self, query: str, text: str) -> float:
        # Alone, and on one core: see onnx.py.
        (score,) = self._engine.rerank(query, [text])
        return float(score)


def locate(row: CrossEncoder, folder: Path, *, download: bool) -> Path:
    """The folder that holds the model's files; ``folder`` is where downloaded ones are kept.

    Raises:
        EmbedError: a file is missing or cannot be fetched.
    """
    description = _register(row)
    if row.folder is not None:
        return row.folder
    wanted = Wanted(
        label=f"reranker {row.name}",
        source=row.source,
        megabytes=row.megabytes,
        description=description,
        command="rag-agent doctor",
        instead=_INSTEAD,
    )
    return fetch(wanted, folder, download=download)


def _start(row: CrossEncoder, folder: Path) -> TextCrossEncoder:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    try:
        engine = TextCrossEncoder(
            _known_as(row),
            specific_model_path=str(folder),
            threads=1,  # of each text; several are read at once
            providers=["CPUExecutionProvider"],  # the same scores whatever else is installed
        )
        # Every ONNX model class of fastembed has one; their common base does not declare it.
        tokenizer = engine.model.tokenizer  # type: ignore[attr-defined]
        if tokenizer.truncation["max_length"] > _WINDOW:
            tokenizer.enable_truncation(max_length=_WINDOW)
    except Exception as error:
        # onnxruntime and tokenizers raise anything for a file they cannot read.
        what = "correct it" if row.folder else "delete that folder to fetch it again"
        raise EmbedError(
            f"reranker {row.name} cannot be loaded from {folder} ({_told(error)}); {what}, or"
            f" {_INSTEAD}"
        ) from error
    return engine


def _register(row: CrossEncoder) -> Any:
    """What fastembed knows of the model, told it first where it lies in a folder of its own."""
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = _known_as(row).lower()
    with _registering:
        # The only way to a description object; list_supported_models() gives plain dictionaries.
        known = {known.model.lower(): known for known in TextCrossEncoder._list_supported_models()}
        if name not in known and row.folder is not None:
            TextCrossEncoder.add_custom_model(
                model=_known_as(row),
                # It is never fetched, but fastembed wants a source for every model.
                sources=ModelSource(hf="local"),
                model_file=row.model_file,
            )
            return None
    if name not in known:
        raise EmbedError(
            f"the installed fastembed does not know the reranker {row.name}; upgrade it with"
            f" `pip install --upgrade fastembed`, or {_INSTEAD}"
        )
    return known[name]


def _known_as(row: CrossEncoder) -> str:
    # With its file: another one in the same folder is another model.
    return row.name if row.folder is None else f"{row.name}/{row.model_file}"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
