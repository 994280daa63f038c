"""Embedding: rag_agent beside transformers.js as pi-local-rag runs it, on the same chunks.

    python benchmarks/embedding.py --model FOLDER [--chunks 500]

Both run at once, each in its own process, and take turns batch by batch, so that a busy machine
slows both alike. 64 chunks a batch, as pi-local-rag does. A chunk is about 1,400 characters of a
file of the running Python's library. transformers.js cuts a chunk off at 512 tokens; rag_agent
reads all of it, in windows of 160.

Needs node and npm; the packages of benchmarks/embedding/package.json are installed into a
temporary folder. ``--model`` is a folder written by ``scripts/build_model.py --per-tensor``, the
recipe of the file that pi-local-rag downloads (rag_agent's own takes one text at a time).
Memory is the peak resident set of each process, model and runtime included. CPU time counts all
threads.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
BATCH = 64  # pi-local-rag's
CHARACTERS = 1_400
MODEL_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")


@dataclass
class Side:
    """One of the two processes and what it took so far."""

    name: str
    process: subprocess.Popen[str]
    seconds: float = 0.0
    cpu: float = 0.0
    rss: int = 0
    vectors: list[list[float]] = field(default_factory=list)

    def ask(self, texts: list[str]) -> None:
        """Have one batch embedded and wait for it."""
        stdin = _stream(self.process.stdin)
        stdin.write(json.dumps(texts) + "\n")
        stdin.flush()
        answer = self.hear()
        self.seconds += answer["seconds"]
        self.cpu += answer["cpu"]
        self.rss = answer["rss"]
        self.vectors.extend(answer["vectors"])

    def hear(self) -> Any:
        """The next line of the process."""
        line = _stream(self.process.stdout).readline()
        if not line:
            sys.exit(f"{self.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process by ending its input."""
        _stream(self.process.stdin).close()
        self.process.wait()


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def read_chunks(limit: int) -> list[str]:
    """``limit`` pieces of whole lines, spread evenly over the library's files."""
    pieces = []
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        piece = ""
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            piece += line
            if len(piece) >= CHARACTERS:
                pieces.append(piece)
                piece = ""
    return pieces[:: max(1, len(pieces) // limit)][:limit]


def start_node(folder: Path, model: Path) -> Side:
    """transformers.js with the model, installed into ``folder``."""
    npm = shutil.which("npm")
    node = shutil.which("node")
    if npm is None or node is None:
        sys.exit("node and npm are needed for the other side of this benchmark")
    for path in (HERE / "embedding").iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    install = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(install, cwd=folder, check=True, stdout=sys.stderr)
    target = folder / "models" / "Xenova" / "all-MiniLM-L6-v2"
    (target / "onnx").mkdir(parents=True)
    for name in MODEL_FILES:
        shutil.copy(model / name, target)
    shutil.copy(model / "model.onnx", target / "onnx" / "model_quantized.onnx")
    return Side("transformers.js", _spawn([node, "worker.mjs", "models"], folder))


def start_rag_agent(folder: Path) -> Side:
    """This file again, as a worker."""
    return Side("rag_agent", _spawn([sys.executable, __file__, "--worker"], folder))


def _spawn(command: list[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )


def work() -> None:
    """The rag_agent side: the protocol of embedding/worker.mjs."""
    import resource

    from rag_agent.embed import load

    embedder = load()
    print(json.dumps("ready"), flush=True)
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes there
    for line in sys.stdin:
        texts = json.loads(line)
        start, start_cpu = time.perf_counter(), time.process_time()
        vectors = embedder.embed_passages(texts)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        answer = {"vectors": vectors.tolist(), "seconds": seconds, "cpu": cpu, "rss": rss}
        print(json.dumps(answer), flush=True)


def compare(chunks: list[str], model: Path) -> None:
    """Embed all chunks on both sides in turns, and print what it took."""
    with tempfile.TemporaryDirectory() as scratch:
        node = start_node(Path(scratch), model)
        ours = start_rag_agent(Path(scratch))
        sides = (node, ours)
        for side in sides:
            side.hear()
        for start in range(0, len(chunks), BATCH):
            for side in sides:
                side.ask(chunks[start : start + BATCH])
            print(f"{min(start + BATCH, len(chunks))}/{len(chunks)}", end="\r", file=sys.stderr)
        for side in sides:
            side.close()
    agreement = sum(map(_dot, node.vectors, ours.vectors)) / len(chunks)
    characters = sum(map(len, chunks)) / len(chunks)
    print(f"{len(chunks)} chunks of {characters:,.0f} characters; {platform.platform()}")
    print(f"mean cosine between both sides' vectors {agreement:.3f}\n")
    print("| | chunks/s | CPU ms a chunk | peak memory |\n|---|---|---|---|")
    for side in sides:
        rate, cpu = len(chunks) / side.seconds, side.cpu / len(chunks) * 1000
        print(f"| {side.name} | {rate:.1f} | {cpu:.0f} | {side.rss / 1e9:.2f} GB |")
    speed, cpu, memory = (
        node.seconds / ours.seconds,
        node.cpu / ours.cpu,
        node.rss / ours.rss,
    )
    print(f"| ratio | {speed:.1f} | {cpu:.1f} | {memory:.0f} |")


def _dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def main() -> None:
    """Parse the arguments; be the worker or the one who compares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=500)
    parser.add_argument("--model", type=Path, help="of scripts/build_model.py --per-tensor")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.model is None and not arguments.worker:
        parser.error(
            "--model FOLDER is missing; `scripts/build_model.py --per-tensor FOLDER` makes it"
        )
    if arguments.worker:
        work()
    else:
        compare(read_chunks(arguments.chunks), arguments.model)


if __name__ == "__main__":
    main()
