"""BERT as all-MiniLM-L6-v2 has it, written as an ONNX graph node by node.

Names of weights are those of the published file. Devlin et al. (2019), "BERT: Pre-training of Deep
Bidirectional Transformers"; 6 layers, 12 heads, 384 wide.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, NDArray[np.float32]]

LAYERS, HEADS, WIDTH = 6, 12, 384
HEAD_WIDTH = WIDTH // HEADS
OPSET = 17  # the first with LayerNormalization; onnxruntime reads it since 1.12
IR_VERSION = 8  # that opset's file format; old runtimes refuse the newest, onnx's default


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


def build_graph(weights: Weights) -> onnx.ModelProto:
    """Token ids, mask and types, all (batch, tokens) int64, to (batch, tokens, 384) float32."""
    graph = Graph()
    shapes = {
        # 0 keeps the length of that axis, -1 takes what is left.
        "split_heads": np.array([0, 0, HEADS, HEAD_WIDTH], np.int64),
        "join_heads": np.array([0, 0, WIDTH], np.int64),
    }
    for name, shape in shapes.items():
        graph.constant(name, shape)
    for name, value in {
        "one": 1.0,
        "half": 0.5,
        "root_two": np.sqrt(2.0),
        "root_head_width": np.sqrt(float(HEAD_WIDTH)),
        # Large enough that exp() of it is 0 beside any real score, small enough for float16.
        "masked_score": -10000.0,
    }.items():
        graph.constant(name, np.array(value, np.float32))

    hidden = _embeddings(graph, weights)
    bias = _attention_bias(graph)
    for number in range(LAYERS):
        hidden = _layer(graph, weights, number, hidden, bias)

    axes = ["batch", "tokens"]
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    graph.nodes[-1].output[0] = "last_hidden_state"
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in inputs],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, WIDTH])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="rag_agent scripts/build_model.py",
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _embeddings(graph: Graph, weights: Weights) -> str:
    for kind in ("word", "position", "token_type"):
        name = f"embeddings.{kind}_embeddings.weight"
        graph.constant(name, weights[name])
    graph.constant("zero", np.array(0, np.int64))
    graph.constant("step", np.array(1, np.int64))
    word = graph.add("Gather", ["embeddings.word_embeddings.weight", "input_ids"], "word")
    types = graph.add(
        "Gather", ["embeddings.token_type_embeddings.weight", "token_type_ids"], "token_type"
    )
    graph.constant("axis_tokens", np.array(1, np.int64))
    shape = graph.add("Shape", ["input_ids"], "shape")
    tokens = graph.add("Gather", [shape, "axis_tokens"], "tokens_count", axis=0)
    positions = graph.add("Range", ["zero", tokens, "step"], "positions")
    position = graph.add("Gather", ["embeddings.position_embeddings.weight", positions], "position")
    both = graph.add("Add", [word, types], "word_and_type")
    total = graph.add("Add", [both, position], "embeddings.sum")
    return _normalise(graph, weights, total, "embeddings.LayerNorm")


def _attention_bias(graph: Graph) -> str:
    """0 where the mask is 1 and a large negative number where it is 0: (batch, 1, 1, tokens)."""
    graph.constant("mask_axes", np.array([1, 2], np.int64))
    mask = graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    absent = graph.add("Sub", ["one", mask], "absent")
    scores = graph.add("Mul", [absent, "masked_score"], "absent_scores")
    return graph.add("Unsqueeze", [scores, "mask_axes"], "attention_bias")


def _layer(graph: Graph, weights: Weights, number: int, hidden: str, bias: str) -> str:
    at = f"encoder.layer.{number}"
    heads = {}
    for role, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        projected = _dense(graph, weights, hidden, f"{at}.attention.self.{role}")
        split = graph.add("Reshape", [projected, "split_heads"], f"{at}.{role}.split")
        heads[role] = graph.add("Transpose", [split], f"{at}.{role}.heads", perm=order)
    products = graph.add("MatMul", [heads["query"], heads["key"]], f"{at}.products")
    scaled = graph.add("Div", [products, "root_head_width"], f"{at}.scaled")
    scores = graph.add("Add", [scaled, bias], f"{at}.scores")
    shares = graph.add("Softmax", [scores], f"{at}.shares", axis=-1)
    mixed = graph.add("MatMul", [shares, heads["value"]], f"{at}.mixed")
    turned = graph.add("Transpose", [mixed], f"{at}.turned", perm=[0, 2, 1, 3])
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
