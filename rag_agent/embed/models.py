"""The embedding models that can be used: one row each; a new model is a new row.

The first row lies inside this package. The others are fetched once, by fastembed from the Hugging
Face hub, into the user's cache folder. Prefixes and pooling are what each model's card asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from rag_agent.errors import EmbedError


@dataclass(frozen=True, slots=True)
class Model:
    """One embedding model.

    ``window`` is the number of tokens, special ones included, that are embedded at once; longer
    texts are cut. ``source`` is the repository on the hub. ``sha256`` maps the file names of a
    packaged model to checksums and is empty for a model that is downloaded. ``model_file`` is the
    weights' path for models that fastembed has to be told about; empty where it knows them itself.
    ``output`` is the name of the output that is pooled already; empty where fastembed pools.
    """

    name: str
    dim: int
    pooling: Literal["mean", "cls"]
    window: int
    licence: str
    source: str
    megabytes: int
    query_prefix: str = ""
    passage_prefix: str = ""
    model_file: str = ""
    output: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def packaged(self) -> bool:
        """Whether the files are part of this package, so that no network is ever needed."""
        return bool(self.sha256)


DEFAULT = "all-MiniLM-L6-v2-int8"
PACKAGED_FOLDER = Path(__file__).parent / "minilm"

_RETRIEVAL = "Represent this sentence for searching relevant passages: "
# The long-context models read 8,192 tokens, but time grows with the square and a vector of several
# pages blurs: one page at a time.
_PAGE = 512

_ROWS = (
    Model(
        DEFAULT,
        dim=384,
        pooling="mean",
        # It was trained with 256 and reads 512. Attention grows with the square: the mean of 160s
        # takes 9 % less time than that of 256s and ranks as well (benchmarks/speed.md).
        window=160,
        licence="Apache-2.0",
        source="sentence-transformers/all-MiniLM-L6-v2",
        megabytes=23,
        model_file="model.onnx",
        output="sentence_embedding",
        sha256=MappingProxyType(
            {  # printed by scripts/build_model.py
                "model.onnx": "b859faf0c896d3cd3ffc9cada01149e7d970eeba54460b60ad25fe8a36638c5e",
                "tokenizer.json": (
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
                ),
                "tokenizer_config.json": (
                    "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
                ),
                "special_tokens_map.json": (
                    "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
                ),
                "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            }
        ),
    ),
    Model(
        "BAAI/bge-small-en-v1.5",
        dim=384,
        pooling="cls",
        window=_PAGE,
        licence="MIT",
        source="Qdrant/bge-small-en-v1.5-onnx-Q",
        megabytes=67,
        query_prefix=_RETRIEVAL,
    ),
    Model(
        "BAAI/bge-base-en-v1.5",
        dim=768,
        pooling="cls",
        window=_PAGE,
        licence="MIT",
        source="Qdrant/bge-base-en-v1.5-onnx-Q",
        megabytes=210,
        query_prefix=_RETRIEVAL,
    ),
    Model(
        "snowflake/snowflake-arctic-embed-s",
        dim=384,
        pooling="cls",
        window=_PAGE,
        licence="Apache-2.0",
        source="Snowflake/snowflake-arctic-embed-s",
        megabytes=130,
        query_prefix=_RETRIEVAL,
    ),
    Model(
        "nomic-ai/nomic-embed-text-v1.5",
        dim=768,
        pooling="mean",
        window=_PAGE,
        licence="Apache-2.0",
        source="nomic-ai/nomic-embed-text-v1.5",
        megabytes=520,
        query_prefix="search_query: ",
        passage_prefix="search_document: ",
    ),
    Model(
        "nomic-ai/nomic-embed-text-v1.5-Q",
        dim=768,
        pooling="mean",
        window=_PAGE,
        licence="Apache-2.0",
        source="nomic-ai/nomic-embed-text-v1.5",
        megabytes=130,
        query_prefix="search_query: ",
        passage_prefix="search_document: ",
    ),
    Model(
        "jinaai/jina-embeddings-v2-base-code",
        dim=768,
        pooling="mean",
        window=_PAGE,
        licence="Apache-2.0",
        source="jinaai/jina-embeddings-v2-base-code",
        megabytes=640,
    ),
    Model(
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        dim=384,
        pooling="mean",
        window=128,  # as it was trained
        licence="Apache-2.0",
        source="Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q",
        megabytes=220,
    ),
    Model(
        "intfloat/multilingual-e5-small",
        dim=384,
        pooling="mean",
        window=_PAGE,
        licence="MIT",
        source="intfloat/multilingual-e5-small",
        megabytes=470,
        query_prefix="query: ",
        passage_prefix="passage: ",
        model_file="onnx/model.onnx",
    ),
)

MODELS: Mapping[str, Model] = MappingProxyType({model.name: model for model in _ROWS})


def find_model(name: str) -> Model:
    """The row of that name, whatever its case.

    Raises:
        EmbedError: no such row; the message names those there are.
    """
    for model in MODELS.values():
        if model.name.lower() == name.lower():
            return model
    raise EmbedError(
        f"unknown embedding model {name!r}; set embeddingModel to one of: {', '.join(MODELS)}"
    )
