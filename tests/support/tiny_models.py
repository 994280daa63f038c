"""Models of a few nodes, as real ONNX files, whose answers a test can work out.

Written by hand in the wire format of protocol buffers, so that no test needs the onnx package
(field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_agent.embed.models import PACKAGED_FOLDER, Model

REVISION = "0123456789abcdef0123456789abcdef01234567"

_IR_VERSION, _OPSET = 8, 13
_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # each (batch, tokens)


def write_cross_encoder(folder: Path, model_file: str = "onnx/model.onnx") -> Path:
    """A reranker in ``folder``: it counts pairs of equal tokens, one of the query, one of the text.

    The separator that ends both is such a pair.
    """
    nodes = [
        _node("Cast", ["attention_mask"], "mask", to=_FLOAT),
        _node("Cast", ["token_type_ids"], "types", to=_FLOAT),
        _node("Mul", ["types", "mask"], "in_text"),
        _node("Sub", ["mask", "in_text"], "in_query"),
        _node("Unsqueeze", ["input_ids", "axis2"], "down"),
        _node("Unsqueeze", ["input_ids", "axis1"], "across"),
        _node("Equal", ["down", "across"], "equal"),
        _node("Cast", ["equal"], "pairs", to=_FLOAT),
        _node("Unsqueeze", ["in_query", "axis2"], "query_down"),
        _node("Unsqueeze", ["in_text", "axis1"], "text_across"),
        _node("Mul", ["query_down", "text_across"], "wanted"),
        _node("Mul", ["pairs", "wanted"], "found"),
        _node("ReduceSum", ["found", "axis2"], "by_token", keepdims=0),
        _node("ReduceSum", ["by_token", "axis1"], "logits", keepdims=1),
    ]
    axes = [_tensor(f"axis{axis}", np.array([axis], np.int64)) for axis in (1, 2)]
    return _lay_out(folder, model_file, _model(nodes, axes, "logits", 2))


def write_embedding_model(folder: Path, model_file: str, dim: int) -> Path:
    """An embedding model in ``folder``: each token is a wave of its own, far from the others."""
    frequencies = np.random.default_rng(7).uniform(0.0, 3.0, (1, 1, dim)).astype(np.float32)
    nodes = [
        _node("Cast", ["input_ids"], "numbers", to=_FLOAT),
        _node("Unsqueeze", ["numbers", "axis2"], "down"),
        _node("Mul", ["down", "frequencies"], "phases"),
        _node("Sin", ["phases"], "last_hidden_state"),
    ]
    constants = [
        _tensor("axis2", np.array([2], np.int64)),
        _tensor("frequencies", frequencies),
    ]
    return _lay_out(folder, model_file, _model(nodes, constants, "last_hidden_state", 3))


def put_in_cache(model: Model, folder: Path, model_file: str) -> Path:
    """A tiny model in the place of a download of ``model``; ``folder`` is that of all downloads."""
    repository = folder / f"models--{model.source.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")
    return write_embedding_model(repository / "snapshots" / REVISION, model_file, model.dim)


def _lay_out(folder: Path, model_file: str, model: bytes) -> Path:
    weights = folder / model_file
    weights.parent.mkdir(parents=True, exist_ok=True)
    weights.write_bytes(model)
    for path in PACKAGED_FOLDER.glob("*.json"):  # the tokenizer, which is as real as any
        shutil.copy(path, folder / path.name)
    return folder


def _model(nodes: Sequence[bytes], constants: Sequence[bytes], output: str, rank: int) -> bytes:
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _text(2, "tiny"),
            *(_bytes(5, constant) for constant in constants),
            *(_bytes(11, _value(name, _INT64, 2)) for name in _INPUTS),
            _bytes(12, _value(output, _FLOAT, rank)),
        ]
    )
    return _number(1, _IR_VERSION) + _bytes(7, graph) + _bytes(8, _number(2, _OPSET))


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: int) -> bytes:
    settings = (
        _bytes(5, _text(1, name) + _number(3, value) + _number(20, 2))  # 2: a whole number
        for name, value in attributes.items()
    )
    sources = b"".join(_text(1, name) for name in inputs)
    return sources + _text(2, output) + _text(4, operator) + b"".join(settings)


def _tensor(name: str, value: NDArray[np.generic]) -> bytes:
    kind = _INT64 if value.dtype == np.int64 else _FLOAT
    shape = b"".join(_number(1, length) for length in value.shape)
    return shape + _number(2, kind) + _text(8, name) + _bytes(9, value.tobytes())


def _value(name: str, kind: int, rank: int) -> bytes:
    shape = b"".join(_bytes(1, _text(2, f"{name}_{axis}")) for axis in range(rank))
    tensor = _number(1, kind) + _bytes(2, shape)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode("utf-8"))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
