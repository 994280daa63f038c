"""The cross-encoders that can rerank: one row each; a new one is a new row.

A cross-encoder reads question and text together, which ranks better than comparing two vectors and
takes the model once for each text. None is part of this package: they are fetched once, by
fastembed from the Hugging Face hub, into the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rag_agent.errors import EmbedError


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """One cross-encoder.

    ``source`` is the repository on the hub; ``model_file`` the weights' path in it, or in
    ``folder`` for one that a person has laid down there, which is then all that is known of it.
    """

    name: str
    licence: str = ""
    source: str = ""
    megabytes: int = 0
    model_file: str = "onnx/model.onnx"
    folder: Path | None = None


# As fastembed 0.9 describes them. jina-reranker-v2-base-multilingual, which it knows too, has no
# row: its licence, CC-BY-NC-4.0, forbids commercial use. Nor has bge-reranker-v2-m3 at full
# precision: 2.3 GB, and four times too slow for a search.
_ROWS = (
    CrossEncoder(
        "Xenova/ms-marco-MiniLM-L-6-v2",
        licence="Apache-2.0",
        source="Xenova/ms-marco-MiniLM-L-6-v2",
        megabytes=80,
    ),
    CrossEncoder(
        "Xenova/ms-marco-MiniLM-L-12-v2",
        licence="Apache-2.0",
        source="Xenova/ms-marco-MiniLM-L-12-v2",
        megabytes=120,
    ),
    CrossEncoder(
        "jinaai/jina-reranker-v1-tiny-en",
        licence="Apache-2.0",
        source="jinaai/jina-reranker-v1-tiny-en",
        megabytes=130,
    ),
    CrossEncoder(
        "jinaai/jina-reranker-v1-turbo-en",
        licence="Apache-2.0",
        source="jinaai/jina-reranker-v1-turbo-en",
        megabytes=150,
    ),
    CrossEncoder(
        "BAAI/bge-reranker-base",
        licence="MIT",
        source="BAAI/bge-reranker-base",
        megabytes=1040,
    ),
    CrossEncoder(
        "BAAI/bge-reranker-v2-m3-int8",
        licence="Apache-2.0",
        source="onnx-community/bge-reranker-v2-m3-ONNX",
        megabytes=570,
        model_file="onnx/model_int8.onnx",
    ),
)

RERANKERS: Mapping[str, CrossEncoder] = MappingProxyType({row.name: row for row in _ROWS})

_WEIGHTS = ("model.onnx", "onnx/model.onnx")


def find_reranker(name: str) -> CrossEncoder:
    """The row of that name, whatever its case, or the model in the folder of that absolute path.

    Raises:
        EmbedError: there is no such row, or no model in the folder.
    """
    for row in RERANKERS.values():
        if row.name.lower() == name.lower():
            return row
    # Not Path.expanduser, which raises for a user who does not exist.
    folder = Path(os.path.expanduser(name))  # noqa: PTH111
    if folder.is_absolute():
        return _in_folder(folder)
    raise EmbedError(
        f"unknown reranker {name!r}; set ragReranker to the absolute path of a folder with an ONNX"
        f' cross-encoder, to "" for none, or to one of: {", ".join(RERANKERS)}'
    )


def _in_folder(folder: Path) -> CrossEncoder:
    for weights in _WEIGHTS:
        if (folder / weights).is_file():
            return CrossEncoder(str(folder), model_file=weights, folder=folder)
    raise EmbedError(
        f"reranker {folder}: there is neither {' nor '.join(_WEIGHTS)} in it; correct ragReranker,"
        ' or set it to "" for none'
    )
