"""Text to vectors with an ONNX model, through fastembed.

One text at a time: the int8 kernels scale the activations of a whole batch together, so that in a
batch a vector would depend on its neighbours (cosine down to 0.98), and padding costs more than
batching saves. Several Python threads share one session instead; each runs on one core.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_agent import priority
from rag_agent.embed.models import Model
from rag_agent.embed.windows import cut, first
from rag_agent.errors import EmbedError
from rag_agent.utf8 import encodable

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from tokenizers import Encoding, Tokenizer

    from rag_agent.types import Matrix, Vector

# Part of the fingerprint; bump when the way texts are cut or their vectors are joined changes.
_VERSION = 2

# A question is short. A pasted log file must not cost seconds, and its head says what it is about.
_QUERY_WINDOWS = 4
# No tokenizer here makes tokens longer than this on average.
_CHARACTERS_PER_TOKEN = 16


class OnnxEmbedder:
    """The Embedder of one model; safe to call from several threads at once."""

    def __init__(self, model: Model, folder: Path, revision: str, threads: int) -> None:
        self.model = model
        self.threads = threads
        self._engine = _start(model, folder)
        # Every ONNX model class of fastembed has one; their common base does not declare it.
        self._tokenizer: Tokenizer = self._engine.model.tokenizer  # type: ignore[attr-defined]
        # fastembed would cut off what is beyond the model's limit; windows.cut() sees to the limit.
        self._tokenizer.no_truncation()
        self._engine.model.tokenizer = _Tokenized()  # type: ignore[attr-defined]
        self._revision = revision

    @property
    def fingerprint(self) -> str:
        """Name, revision of the files, window and version: what a vector depends on."""
        model = self.model
        return f"{model.name}@{self._revision} {model.pooling} {model.window} v{_VERSION}"

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return self.model.dim

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dim), float32, rows of unit length; an empty list gives (0, dim).

        A text over the model's window is cut in windows; its row is their mean. A row depends on
        its own text alone, not on the list, the order or the thread. An exception raised in the
        calling thread, such as KeyboardInterrupt, ends all work after the texts at hand.

        Raises:
            EmbedError: the model failed.
        """
        rows = np.empty((len(texts), self.dim), np.float32)
        # The longest first, so that no thread begins one when the others have nothing left.
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        waiting = deque(order)

        def work() -> None:
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                windows = self._windows(texts[number], self.model.passage_prefix)
                rows[number] = self._mean(windows)

        helpers = min(self.threads, len(texts)) - 1
        if helpers < 1:
            work()
            return rows
        with ThreadPoolExecutor(
            helpers, thread_name_prefix="rag_agent-embed", initializer=priority.lower
        ) as pool:
            others = [pool.submit(work) for _ in range(helpers)]
            try:
                work()  # this thread too, so that it sees Ctrl-C between windows
            finally:
                waiting.clear()  # nothing new is begun when this thread was interrupted
            for other in others:
                other.result()
        return rows

    def embed_query(self, text: str) -> Vector:
        """Shape (dim,), float32, unit length; of a very long text only the head counts.

        Raises:
            EmbedError: the model failed.
        """
        head = text[: _QUERY_WINDOWS * self.model.window * _CHARACTERS_PER_TOKEN]
        return self._mean(self._windows(head, self.model.query_prefix)[:_QUERY_WINDOWS])

    def first_window(self, text: str) -> str:
        """The beginning of a passage, in whole words, that is embedded as one window."""
        model = self.model
        return first(encodable(text), self._tokenizer, model.window, model.passage_prefix)

    def _windows(self, text: str, prefix: str) -> list[Encoding]:
        # The tokenizer insists on what UTF-8 can hold, as the one of rerankers does.
        return cut(encodable(text), self._tokenizer, self.model.window, prefix)

    def _mean(self, windows: Sequence[Encoding]) -> Vector:
        """The direction of the mean of the windows' vectors, unit length."""
        vectors = [self._embed(window) for window in windows]
        total = np.sum(vectors, axis=0, dtype=np.float64)
        length = np.linalg.norm(total)
        if length < 1e-9:  # windows that cancel out: any of them is as good as the mean
            return vectors[0]
        return np.asarray(total / length, np.float32)

    def _embed(self, window: Encoding) -> Vector:
        try:
            # Declared for str alone; it gives what it gets to the tokenizer, here a _Tokenized.
            (vector,) = self._engine.embed([window], batch_size=1)  # type: ignore[list-item]
        except Exception as error:
            # onnxruntime's errors have no common base below Exception.
            raise EmbedError(
                f"embedding model {self.model.name} failed ({type(error).__name__}: {error})"
            ) from error
        row = np.asarray(vector, np.float32)
        if row.shape != (self.dim,) or not np.isfinite(row).all():
            raise EmbedError(
                f"embedding model {self.model.name} gave no usable vector (shape {row.shape},"
                f" expected {self.dim} finite numbers); its files do not fit its row in MODELS"
            )
        return row


class _Tokenized:
    """Takes the place of fastembed's tokenizer: what embed() gets is tokenized already.

    Cutting needs the tokens anyway; to tokenize the windows once more would take 2 % of the time.
    """

    @staticmethod
    def encode_batch(windows: list[Encoding]) -> list[Encoding]:
        return windows


def default_threads() -> int:
    """Two threads, the fastest on two cores; up to four where that is at most half the cores."""
    try:
        cores = len(os.sched_getaffinity(0))  # what this process may use, in containers too
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    return min(cores, max(2, min(4, cores // 2)))


def _start(model: Model, folder: Path) -> TextEmbedding:
    from fastembed import TextEmbedding

    try:
        return TextEmbedding(
            model.name,
            specific_model_path=str(folder),
            threads=1,  # of each run; parallel runs make better use of the cores
            providers=["CPUExecutionProvider"],  # the same vectors whatever else is installed
        )
    except Exception as error:
        # onnxruntime and tokenizers raise anything for a file they cannot read.
        raise EmbedError(
            f"embedding model {model.name} cannot be loaded from {folder}"
            f" ({type(error).__name__}: {error}); delete that folder to fetch it again, or"
            " reinstall rag_agent if it lies inside it"
        ) from error
