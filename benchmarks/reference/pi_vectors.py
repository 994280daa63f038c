"""Vectors of texts as pi-local-rag makes them, but for the model file.

pi-local-rag runs Xenova/all-MiniLM-L6-v2, quantised (int8 per tensor), through transformers.js:
64 texts at once, each cut off at 512 tokens, mean of the tokens, unit length. Here the weights are
those of rag_agent's packaged file (int8 per channel, nearer to the unquantised vectors), one text
at a time, likewise cut off at 512 tokens. Their vectors also depend on the other texts of a batch
(cosine down to 0.98); these do not. A question goes through the same path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from rag_agent.embed import DEFAULT, EmbeddingCache, find_model
from rag_agent.embed.files import locate, register, revision

TOKENS = 512  # special ones included
_GROUP = 64  # texts between two writes to the cache
_THREADS = 2


class TruncatingEmbedder:
    """The packaged model, reading the first 512 tokens; vectors are kept in ``folder``."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        from fastembed import TextEmbedding

        row = find_model(DEFAULT)
        files = locate(row, folder, download=False)
        register(row)
        self._engine = TextEmbedding(
            row.name,
            specific_model_path=str(files),
            threads=1,  # of each run, of which there are several at once
            providers=["CPUExecutionProvider"],
        )
        tokenizer = self._engine.model.tokenizer  # type: ignore[attr-defined]
        tokenizer.enable_truncation(TOKENS)
        tokenizer.no_padding()
        self._cache = EmbeddingCache(folder)
        self._fingerprint = f"{row.name}@{revision(row, files)} first {TOKENS} tokens"

    def embed(self, texts: Sequence[str], report: Callable[[int], None] = lambda done: None) -> Any:
        """Shape (len(texts), 384), float32, rows of unit length; ``report`` gets how many are done.

        Interrupted, the next call computes only what is missing.
        """
        rows = np.empty((len(texts), find_model(DEFAULT).dim), np.float32)
        with ThreadPoolExecutor(_THREADS) as pool:
            for start in range(0, len(texts), _GROUP):
                group = texts[start : start + _GROUP]
                found = self._cache.get(self._fingerprint, group)
                missing = [at for at, vector in enumerate(found) if vector is None]
                computed = list(pool.map(self._one, [group[at] for at in missing]))
                for at, vector in enumerate(found):
                    rows[start + at] = computed[missing.index(at)] if vector is None else vector
                if computed:
                    new = [group[at] for at in missing]
                    self._cache.put(self._fingerprint, new, np.stack(computed))
                report(start + len(group))
        return rows

    def close(self) -> None:
        """Close the cache."""
        self._cache.close()

    def _one(self, text: str) -> Any:
        (vector,) = self._engine.embed([text], batch_size=1)
        row = np.asarray(vector, np.float32)
        return row / np.linalg.norm(row)
