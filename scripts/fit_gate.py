"""Fit the gate of automatic injection: when is a hit sure enough to be put before a model?

    python scripts/fit_gate.py --cache FILE TOPICS STORES [TOPICS STORES ...]

TOPICS is what scripts/evaluate.py takes, STORES the folder of the indexes that it left
(``DIR/stores``, with vectors). Each index is asked questions of its own, of others in STORES, and
turns of fixtures/eval/turns.jsonl that are no small talk to ``silence``; also plain questions for
names that it defines and files that it has ("named"), and for such of others in STORES
("stranger"). What was found is kept in FILE, so that only the first call searches.

A logistic model on the best hit separates own and named questions from the rest; its bias puts the
line at ``SURE``, where the wanted share of own questions has a hit that is injected. Printed are
the weights for rag_agent/context/gate.py and what is injected at that line: by the gate as it is,
by the fit, and by fits on other collections than the one that is judged. The fit sees half of the
turns, the table counts the other half, and both count small talk as not injected.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from gate_questions import INDEXES_OF_A_TURN, digest, plan, read_turns

from rag_agent.config import Config
from rag_agent.context.gate import SURE, certainty, features, silence
from rag_agent.embed import load
from rag_agent.search import search
from rag_agent.store import Store
from rag_agent.types import Evidence

TURNS = Path(__file__).resolve().parent.parent / "fixtures" / "eval" / "turns.jsonl"
QUESTIONS = 20  # of its own and of others, for each index
KINDS = ("own", "named", "pasted", "foreign", "stranger", "elsewhere", "turn")
GOOD = ("own", "named", "pasted")  # kinds of questions that want an answer
FOLDS = 7
# Of the own questions; without vectors a wrong hit is likelier.
KEEP = {"hybrid": 0.915, "words": 0.86}
STRENGTH = 1e-3  # of the ridge, on standardised features

Judge = Callable[[Evidence], float]


@dataclass(frozen=True)
class Asked:
    """What one index found for one text: the evidence of its hits, with vectors and without."""

    store: str
    kind: str  # one of KINDS
    text: str
    hybrid: list[Evidence]
    words: list[Evidence]

    def best(self, mode: str, judge: Judge) -> float:
        """The certainty of the surest hit."""
        return max(map(judge, getattr(self, mode)), default=0.0)


def main() -> int:
    """Search what is missing, fit, and print; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("collections", type=Path, nargs="+", metavar="TOPICS STORES")
    arguments = parser.parse_args()
    if len(arguments.collections) % 2:
        parser.error("each TOPICS needs its STORES")
    pairs = zip(arguments.collections[::2], arguments.collections[1::2], strict=True)
    asked = [row for row in searched(pairs, arguments.cache) if silence(row.text) is None]
    for mode in KEEP:
        report(asked, mode)
    return 0


# Searching


def searched(pairs: Iterator[tuple[Path, Path]], cache: Path) -> list[Asked]:
    """Everything asked, from the cache where it has it."""
    known = dict(cached(cache))
    embedder = load(Config().embedding_model)
    rows = []
    with cache.open("a", encoding="utf-8") as stream:
        for store, texts in plan(pairs):
            opened = Store.open(store / "rag.db", readonly=True)
            name = f"{'-'.join(store.parts[-3:-1])}/{store.name}"
            if opened.find_model(embedder.fingerprint) is None:
                print(f"{name} is left out: it has no vectors", file=sys.stderr, flush=True)
                continue
            print(name, len(texts), file=sys.stderr, flush=True)
            for kind, text in texts:
                row = known.get((name, text))
                if row is None:
                    found = [
                        [hit.evidence for hit in search(opened, text, embedder=e, limit=5).hits]
                        for e in (embedder, None)
                    ]
                    row = Asked(name, kind, text, *found)
                    stream.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
                rows.append(row)
    return rows


def cached(cache: Path) -> Iterator[tuple[tuple[str, str], Asked]]:
    """The rows of an earlier call."""
    if cache.exists():
        for line in cache.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for mode in KEEP:
                row[mode] = [Evidence(**evidence) for evidence in row[mode]]
            yield (row["store"], row["text"]), Asked(**row)


def for_fitting(row: Asked) -> bool:
    """Whether the fit may see it: all questions, and half of the turns."""
    return row.kind != "turn" or digest(row.text)[0] % 2 == 0


# Fitting


def fitted(rows: Sequence[Asked], mode: str) -> tuple[list[float], float]:
    """Weights in the order of ``features``, and the bias that puts the line at SURE.

    Both kinds weigh the same. The best hit depends on the weights, so it is chosen three times.
    """
    rows = [row for row in rows if getattr(row, mode)]
    is_own = np.array([row.kind in GOOD for row in rows])
    sample = np.where(is_own, 0.5 / is_own.mean(), 0.5 / (1 - is_own.mean()))
    weights = np.zeros(len(features(getattr(rows[0], mode)[0])))
    for _ in range(3):
        table = np.array(
            [max(vectors(row, mode), key=lambda v: float(weights @ v)) for row in rows]
        )
        weights = logistic(table, is_own, sample)
    own = sorted(
        max(float(weights @ v) for v in vectors(row, mode)) for row in rows if row.kind == "own"
    )
    line = own[int((1 - KEEP[mode]) * len(own))]
    return [float(weight) for weight in weights], math.log(SURE / (1 - SURE)) - line


def vectors(row: Asked, mode: str) -> list[np.ndarray]:
    """The features of each hit."""
    return [np.array(features(evidence)) for evidence in getattr(row, mode)]


def logistic(table: np.ndarray, target: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Weights of a ridge logistic regression with an intercept, by Newton's method."""
    mean, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[(table - mean) / spread, np.ones(len(table))]
    ridge = STRENGTH * len(table) * np.r_[np.ones(table.shape[1]), 0]
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (sample * (chance - target)) + ridge * weights
        curve = (scaled.T * (sample * chance * (1 - chance))) @ scaled + np.diag(ridge + 1e-9)
        weights = weights - np.linalg.solve(curve, slope)
    found: np.ndarray = weights[:-1] / spread
    return found


def judge_of(weights: Sequence[float], bias: float) -> Judge:
    """What ``certainty`` would be with these weights."""
    return lambda evidence: 1 / (1 + math.exp(-bias - float(np.dot(weights, features(evidence)))))


# Reporting


def report(asked: Sequence[Asked], mode: str) -> None:
    """The weights, and the table."""
    training = [row for row in asked if for_fitting(row)]
    weights, bias = fitted(training, mode)
    print(f"\n{mode}: ({', '.join(f'{w:.2f}' for w in weights)}), {bias:.2f}")
    judged = [row for row in asked if row.kind != "turn" or not for_fitting(row)]
    print_row("gate as it is", judged, mode, lambda row: certainty)
    whole = judge_of(weights, bias)
    print_row("fit on all", judged, mode, lambda row: whole)
    names = sorted({row.store.split("/")[1] for row in asked})
    fold_of = {name: index % FOLDS for index, name in enumerate(names)}
    judges = [
        judge_of(*fitted([r for r in training if fold_of[r.store.split("/")[1]] != fold], mode))
        for fold in range(FOLDS)
    ]
    print_row("left out", judged, mode, lambda row: judges[fold_of[row.store.split("/")[1]]])


def print_row(
    label: str, rows: Sequence[Asked], mode: str, judge: Callable[[Asked], Judge]
) -> None:
    """The share of each kind that gets anything, and the least of any index's own questions."""
    counts, passed = Counter[str](), Counter[str]()
    for row in rows:
        for key in (row.kind, f"{row.kind} {row.store}"):
            counts[key] += 1
            passed[key] += row.best(mode, judge(row)) >= SURE
    turns = [turn for turn in read_turns() if digest(turn)[0] % 2]
    counts["turn"] = len(turns) * INDEXES_OF_A_TURN
    shares = [f"{kind} {passed[kind] / counts[kind]:.3f}" for kind in KINDS]
    own = {key: passed[key] / counts[key] for key in counts if key.startswith("own ")}
    worst = min(own, key=lambda key: own[key])
    foreign = max(passed[key] / counts[key] for key in counts if key.startswith("foreign "))
    spread = f"least {worst} {own[worst]:.2f}, most foreign {foreign:.2f}"
    print(f"{label:14} {'  '.join(shares)}  ({spread})")


if __name__ == "__main__":
    sys.exit(main())
