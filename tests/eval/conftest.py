from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag_agent.eval.judging import KEYS, Judged, judge
from rag_agent.eval.topics import Qrel, Topic
from rag_agent.index import Index

ANSWERS = {"orders": "src/orders.py", "parcels": "src/parcels.py", "invoices": "src/invoices.py"}


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes of two projects with the same files, by words alone."""
    folder = tmp_path_factory.mktemp("fit")
    for repo in ("one", "two"):
        root = folder / repo
        for name, path in ANSWERS.items():
            for place in (path, f"tests/test_{name}.py"):
                file = root / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"def count_{name}():\n    return len({name})\n", encoding="utf-8")
        for name in ("notes.md", "guide.md"):
            (root / name).write_text("# Nothing\n\nof the kind\n", encoding="utf-8")
        with Index(root, folder / "stores" / repo, "environment") as index:
            index.sync(root, vectors=False)
    return folder / "stores"


@pytest.fixture(scope="session")
def judged(stores: Path) -> list[Judged]:
    """Questions that code answers, with a test of it beside it."""
    topics = [
        Topic(f"{repo}-{name}", f"how are {name} counted", (Qrel(path),), "own", repo)
        for repo in ("one", "two")
        for name, path in ANSWERS.items()
    ]
    return list(judge(topics, stores, None))


Ask = Callable[..., Judged]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Makes a judged question of rows: which files answer, which are prose, what they have."""

    def make(
        *rows: tuple[str, bool, dict[str, float]], set: str = "own", repo: str = "one"
    ) -> Judged:
        kinds = np.array([kind == "prose" for kind, _, _ in rows])
        answers = np.array([answer for _, answer, _ in rows])
        return Judged(
            collection=set,
            repo=repo,
            language="",
            length=0.0,
            paths=tuple(f"{number}" for number in range(len(rows))),
            values=np.array([[values.get(key, 0.0) for key in KEYS] for _, _, values in rows]),
            prose=kinds.astype(float),
            relevant=answers,
            wanted=int(answers.sum()),
            hybrid=True,
            about_documents=bool((kinds & answers).any()),
            index=f"stores/{repo}",
        )

    return make
