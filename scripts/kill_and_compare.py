"""Kill an indexing process at random moments and see that nothing is lost.

    python scripts/kill_and_compare.py DIR [--kills 20] [--seed 1]

Indexes DIR once undisturbed. Then, for each kill, starts over with an empty store, ends the process
with SIGKILL at a random moment, opens what it left, runs its integrity check, indexes again to the
end and compares documents, chunks and vectors with the undisturbed index. Exits with 1 at the first
difference. The tree is only read; stores and caches lie in a temporary folder.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rag_agent import paths
from rag_agent.embed import load
from rag_agent.store import Store


def main() -> int:
    """Run the experiment; the exit code is 0 when every index ended alike."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        started = time.monotonic()
        run(arguments.folder, work / "whole", work)
        cold = time.monotonic() - started
        wanted = digest(work / "whole")
        # From now on the cache holds every vector, which is how long the others will take.
        started = time.monotonic()
        run(arguments.folder, work / "warm", work)
        warm = time.monotonic() - started
        print(f"undisturbed: {cold:.1f} s, with cached vectors {warm:.1f} s, {wanted[:16]}")
        failures = 0
        for number in range(1, arguments.kills + 1):
            store = work / f"killed-{number}"
            moment = moments.uniform(0.0, warm)
            problems, state = kill(arguments.folder, store, work, moment)
            run(arguments.folder, store, work)
            same = digest(store) == wanted
            failures += bool(problems) or not same
            verdict = "same content" if same else "DIFFERENT CONTENT"
            print(f"kill {number} after {moment:.2f} s: {state}; {problems or 'sound'}; {verdict}")
    print(f"{arguments.kills - failures} of {arguments.kills} kills left nothing behind")
    return 1 if failures else 0


def command(folder: Path) -> list[str]:
    """The indexing that is killed."""
    return [str(Path(sys.executable).with_name("rag-agent")), "index", str(folder)]


def environment(store: Path, work: Path) -> dict[str, str]:
    """Its store, and a cache that is not the user's."""
    cache = str(work / "cache")
    return {
        **os.environ,
        "PI_RAG_DIR": str(store),
        "XDG_CACHE_HOME": cache,
        "WIN_PD_OVERRIDE_LOCAL_APPDATA": cache,
    }


def run(folder: Path, store: Path, work: Path) -> None:
    """Index to the end."""
    subprocess.run(command(folder), env=environment(store, work), check=True, capture_output=True)


def kill(folder: Path, store: Path, work: Path, moment: float) -> tuple[list[str], str]:
    """Index, kill after ``moment`` seconds; problems found in the store, and how far it was."""
    with subprocess.Popen(
        command(folder),
        env=environment(store, work),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
    database = paths.database(store)
    if not database.exists():
        return [], "killed before there was a store"
    with Store.open(database) as opened:
        counts = opened.counts()
        vectors = sum(counts.vectors.values())
        return (
            opened.check(),
            f"{counts.documents} files, {counts.chunks} chunks, {vectors} vectors",
        )


def digest(store: Path) -> str:
    """Of all that an index holds: files, chunks with their lines, and vectors."""
    sha = hashlib.sha256()
    for line in content(store):
        sha.update(line.encode("utf-8", "backslashreplace") + b"\n")
    return sha.hexdigest()


def content(store: Path) -> Iterator[str]:
    """What an index holds, a line each; vectors by their cosine to a fixed one."""
    embedder = load()
    probe = embedder.embed_query("where is the content compared?")
    with Store.open(paths.database(store)) as opened:
        model = opened.find_model(embedder.fingerprint)
        for root in opened.roots():
            for path, document in sorted(opened.documents(root).items()):
                yield f"{path} {document.source.sha256}"
                chunks = opened.chunks_of(document.id)
                ids = [chunk.id for chunk in chunks]
                cosines = [float("nan")] * len(ids)
                if model is not None:
                    cosines = opened.cosines(model, probe, ids).tolist()
                for stored, cosine in zip(chunks, cosines, strict=True):
                    chunk = stored.chunk
                    yield f"{chunk.start}-{chunk.end} {chunk.heading} {cosine:.5f} {chunk.text}"


if __name__ == "__main__":
    sys.exit(main())
