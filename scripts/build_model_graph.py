"""BERT as all-MiniLM-L6-v2 has it, written as an ONNX graph node by node.

Names of weights are those of the published file. Devlin et al. (2019), "BERT: Pre-training of Deep
Bidirectional Transformers"; 6 layers, 12 heads, 384 wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, NDArray[np.float32]]

LAYERS, HEADS, WIDTH = 6, 12, 384
HEAD_WIDTH = WIDTH // HEADS
OPSET = 17  # the first with LayerNormalization; onnxruntime reads it since 1.12
IR_VERSION = 8  # that opset's file format; old runtimes refuse the newest, onnx's default


@dataclass(frozen=True)
class Form:
    """How the axes lie. Shapes: 0 keeps an axis's length. Permutations as Transpose takes them."""

    axes: tuple[str | int, ...]  # of the inputs
    split: tuple[int, ...]  # shape of hidden states with the heads apart
    join: tuple[int, ...]  # and together again
    heads: tuple[int, ...]  # permutation that brings heads before tokens, and back
    keys: tuple[tuple[int, ...], ...]  # permutations, one after the other, of the keys


BATCHED = Form(
    axes=("batch", "tokens"),
    split=(0, 0, HEADS, HEAD_WIDTH),
    join=(0, 0, WIDTH),
    heads=(0, 2, 1, 3),
    keys=((0, 2, 3, 1),),
)
# Without the axis of the batch, onnxruntime fuses these transpositions into the products beside
# them, 3 % of the whole run. It does not with that axis, nor with the keys' in one step.
SINGLE = Form(
    axes=(1, "tokens"),
    split=(0, HEADS, HEAD_WIDTH),
    join=(0, WIDTH),
    heads=(1, 0, 2),
    keys=((1, 0, 2), (0, 2, 1)),
)


class Graph:
    """Collects nodes and constants; ``add`` returns the name of the new node's output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Keep ``value`` in the file under ``name``."""
        self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def add(self, operator: str, inputs: list[str], name: str, **attributes: object) -> str:
        """Append one node with one output."""
        node = helper.make_node(operator, inputs, [name], name=name, **attributes)
        self.nodes.append(node)
        return name


def build_graph(weights: Weights, form: Form) -> onnx.ModelProto:
    """Token ids to vectors.

    SINGLE is the packaged form, for one text at a time: (1, tokens) int64, without padding and
    therefore without a mask, to ``sentence_embedding``, the mean (1, 384), and
    ``last_hidden_state`` (1, tokens, 384), float32. BATCHED is the usual form: ids, mask and types,
    all (batch, tokens) int64, to ``last_hidden_state`` alone; it takes 6 % more time.
    """
    graph = Graph()
    graph.constant("split_heads", np.array(form.split, np.int64))
    graph.constant("join_heads", np.array(form.join, np.int64))
    for name, value in {
        "one": 1.0,
        "half": 0.5,
        "root_two": np.sqrt(2.0),
        "root_head_width": np.sqrt(float(HEAD_WIDTH)),
    }.items():
        graph.constant(name, np.array(value, np.float32))

    graph.constant("zero", np.array([0], np.int64))
    inputs = ["input_ids"]
    if form is SINGLE:
        hidden, bias = _text_embeddings(graph, weights), None
    else:
        inputs += ["attention_mask", "token_type_ids"]
        hidden, bias = _embeddings(graph, weights), _attention_bias(graph)
    for number in range(LAYERS):
        hidden = _layer(graph, weights, form, number, hidden, bias)
    outputs = {"last_hidden_state": [*form.axes, WIDTH]}
    if form is SINGLE:
        graph.add("ReduceMean", [hidden], "sentence_embedding", axes=[0], keepdims=1)
        graph.add("Unsqueeze", [hidden, "zero"], "last_hidden_state")
        outputs["sentence_embedding"] = [1, WIDTH]
    else:
        graph.nodes[-1].output[0] = "last_hidden_state"
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [_value(name, TensorProto.INT64, form.axes) for name in inputs],
            [_value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="rag_agent scripts/build_model.py",
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _value(name: str, kind: int, shape: Sequence[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _text_embeddings(graph: Graph, weights: Weights) -> str:
    """Of one text, whose tokens are all of type 0: (tokens, 384)."""
    positions = weights["embeddings.position_embeddings.weight"]
    types = weights["embeddings.token_type_embeddings.weight"]
    total = _word_and_position(graph, weights, positions + types[0])
    flat = graph.add("Squeeze", [total, "zero"], "embeddings.flat")
    return _normalise(graph, weights, flat, "embeddings.LayerNorm")


def _embeddings(graph: Graph, weights: Weights) -> str:
    """(batch, tokens, 384)."""
    types = weights["embeddings.token_type_embeddings.weight"]
    graph.constant("embeddings.token_type", types)
    positions = weights["embeddings.position_embeddings.weight"]
    both = _word_and_position(graph, weights, positions)
    token_type = graph.add("Gather", ["embeddings.token_type", "token_type_ids"], "token_type")
    total = graph.add("Add", [both, token_type], "embeddings.sum")
    return _normalise(graph, weights, total, "embeddings.LayerNorm")


def _word_and_position(graph: Graph, weights: Weights, positions: NDArray[np.float32]) -> str:
    graph.constant("embeddings.word", weights["embeddings.word_embeddings.weight"])
    word = graph.add("Gather", ["embeddings.word", "input_ids"], "word")
    graph.constant("embeddings.position", positions)
    tokens = graph.add("Shape", ["input_ids"], "tokens_count", start=1)
    position = graph.add("Slice", ["embeddings.position", "zero", tokens, "zero"], "position")
    return graph.add("Add", [word, position], "word_and_position")


def _attention_bias(graph: Graph) -> str:
    """0 where the mask is 1 and a large negative number where it is 0: (batch, 1, 1, tokens)."""
    # Large enough that exp() of it is 0 beside any real score, small enough for float16.
    graph.constant("masked_score", np.array(-10000.0, np.float32))
    graph.constant("mask_axes", np.array([1, 2], np.int64))
    mask = graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    absent = graph.add("Sub", ["one", mask], "absent")
    scores = graph.add("Mul", [absent, "masked_score"], "absent_scores")
    return graph.add("Unsqueeze", [scores, "mask_axes"], "attention_bias")


def _layer(
    graph: Graph, weights: Weights, form: Form, number: int, hidden: str, bias: str | None
) -> str:
    at = f"encoder.layer.{number}"
    heads = {}
    for role, steps in (("query", (form.heads,)), ("key", form.keys), ("value", (form.heads,))):
        projected = _dense(graph, weights, hidden, f"{at}.attention.self.{role}")
        heads[role] = graph.add("Reshape", [projected, "split_heads"], f"{at}.{role}.split")
        for step, order in enumerate(steps):
            name = f"{at}.{role}.turned.{step}"
            heads[role] = graph.add("Transpose", [heads[role]], name, perm=order)
    products = graph.add("MatMul", [heads["query"], heads["key"]], f"{at}.products")
    scores = graph.add("Div", [products, "root_head_width"], f"{at}.scaled")
    if bias:
        scores = graph.add("Add", [scores, bias], f"{at}.scores")
    shares = graph.add("Softmax", [scores], f"{at}.shares", axis=-1)
    mixed = graph.add("MatMul", [shares, heads["value"]], f"{at}.mixed")
    turned = graph.add("Transpose", [mixed], f"{at}.turned", perm=form.heads)
    joined = graph.add("Reshape", [turned, "join_heads"], f"{at}.joined")
    attended = _dense(graph, weights, joined, f"{at}.attention.output.dense")
    residual = _residual(graph, attended, hidden, f"{at}.attention.residual")
    middle = _normalise(graph, weights, residual, f"{at}.attention.output.LayerNorm")
    wide = _gelu(graph, _dense(graph, weights, middle, f"{at}.intermediate.dense"), at)
    narrow = _dense(graph, weights, wide, f"{at}.output.dense")
    residual = _residual(graph, narrow, middle, f"{at}.output.residual")
    return _normalise(graph, weights, residual, f"{at}.output.LayerNorm")


def _residual(graph: Graph, left: str, right: str, name: str) -> str:
    # Sum, not Add: onnxruntime would fuse Add and LayerNormalization into SkipLayerNormalization,
    # whose kernel takes five times as long as the two apart (a sixth of the whole run).
    return graph.add("Sum", [left, right], name)


def _dense(graph: Graph, weights: Weights, hidden: str, name: str) -> str:
    # torch keeps (out, in); MatMul wants (in, out).
    matrix = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    product = graph.add("MatMul", [hidden, matrix], f"{name}.product")
    return graph.add("Add", [product, bias], f"{name}.sum")


def _normalise(graph: Graph, weights: Weights, hidden: str, name: str) -> str:
    scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"])
    shift = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add(
        "LayerNormalization", [hidden, scale, shift], f"{name}.result", axis=-1, epsilon=1e-12
    )


def _gelu(graph: Graph, hidden: str, at: str) -> str:
    """``0.5 x (1 + erf(x / √2))``, in the order that onnxruntime fuses into one Gelu."""
    divided = graph.add("Div", [hidden, "root_two"], f"{at}.gelu.divided")
    erf = graph.add("Erf", [divided], f"{at}.gelu.erf")
    shifted = graph.add("Add", [erf, "one"], f"{at}.gelu.shifted")
    product = graph.add("Mul", [hidden, shifted], f"{at}.gelu.product")
    return graph.add("Mul", [product, "half"], f"{at}.gelu.result")
