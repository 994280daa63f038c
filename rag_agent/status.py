"""What there is to know about an index, and whether the installation is well."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rag_agent import paths, turns
from rag_agent.config import Config, as_json
from rag_agent.embed.cache import FILE as EMBEDDINGS
from rag_agent.errors import RagError
from rag_agent.extract.ocr import find, installed, languages
from rag_agent.store import Store
from rag_agent.store.memory import TurnMemory
from rag_agent.store.records import Counts
from rag_agent.sync.gitlog import find_git
from rag_agent.sync.lock import running
from rag_agent.sync.texts import FILE as TEXTS
from rag_agent.types import Check, Coverage, Embedder, Mode, Reranker, Scope, Status
from rag_agent.version import __version__

LAST_SYNC = "last_sync"  # the store's note of when a sync last ended, ISO 8601 in UTC


_SPACE = 65_536  # bytes; less than any index, and more than a disk has that is full


def describe(
    store: Store | None,
    folder: Path,
    scope: Scope,
    settings: Config,
    tracked_paths: Sequence[Path],
    embedder: Embedder | None,
    model_problem: str,
    memory: TurnMemory | None,
) -> Status:
    """The state of an index as its data tell it; ``store`` is None before anything is indexed."""
    skipped = tuple(store.skipped()) if store else ()
    counts = store.counts() if store else None
    model = store.find_model(embedder.fingerprint) if store and embedder else None
    vectors = counts.vectors.get(model, 0) if counts and model is not None else 0
    cards = counts.cards.get(model, 0) if counts and model is not None else 0
    pages = store.page_coverage() if store else {}
    return Status(
        version=__version__,
        store=str(paths.database(folder)),
        scope=scope,
        documents=counts.documents if counts else 0,
        chunks=counts.chunks if counts else 0,
        vectors=vectors,
        pending=counts.chunks - counts.unembedded - vectors if counts else 0,
        bytes=counts.bytes if counts else 0,
        model=settings.embedding_model,
        model_problem=model_problem,
        vector_engine=store.vector_engine if store else "",
        tracked_paths=tuple(str(path) for path in tracked_paths),
        settings=as_json(settings),
        languages=counts.languages if counts else {},
        last_sync=(store.meta(LAST_SYNC) or "") if store else "",
        running=running(folder),
        skipped_by_reason=_by_reason(s.reason for s in skipped),
        skipped=skipped,
        warnings=tuple(store.warnings()) if store else (),
        injection=turns.counts(memory),
        last_refresh=turns.last_refresh(memory),
        commits=counts.commits if counts else 0,
        other_models=_other_models(store, counts, model) if store and counts else {},
        cards=cards,
        unembedded=counts.unembedded if counts else 0,
        pages=Coverage(
            **{
                name: sum(getattr(c, name) for c in pages.values())
                for name in ("text", "ocr", "without", "failed")
            }
        ),
        pages_of={path: c for path, c in pages.items() if c.ocr or c.without},
    )


def notes_on(folder: Path, mode: Mode, model_problem: str) -> Iterator[str]:
    """What a reader of search results should know about the state of the index."""
    if model_problem and mode == "lexical":
        yield f"words only, no vectors: {model_problem}"
    for activity in running(folder):
        yield (
            f"process {activity.pid} is working on this index ({activity.stage}, "
            f"{activity.done:,} done): there may be more to find in a while"
        )


def diagnose(
    folder: Path,
    load_config: Callable[[], Config],
    open_store: Callable[[], Store | None],
    load_model: Callable[[], Embedder],
    load_reranker: Callable[[], Reranker | None],
) -> list[Check]:
    """Every part of the installation tried for real, each with what to do where it fails."""
    return [
        _try("settings", lambda: f"{len(load_config().tracked_paths)} path(s) tracked"),
        _try("SQLite", _sqlite),
        _try("index", lambda: _index(open_store())),
        _try("git history", lambda: _history(open_store(), load_config().rag_history)),
        _try("index folder", lambda: _writable(folder, paths.VARIABLE)),
        _try("caches", lambda: _caches(paths.cache_folder())),
        _try("embedding model", lambda: _model(load_model())),
        _try("reranker", lambda: _reranker(load_reranker())),
        _try("grammars", _grammars),
        _try("OCR", lambda: _ocr(load_config())),
    ]


def _other_models(store: Store, counts: Counts, present: int | None) -> Mapping[str, int]:
    names = store.models()
    return {
        names[identifier]: count
        for identifier, count in counts.vectors.items()
        if count and identifier != present
    }


def _by_reason(reasons: Iterator[str]) -> Mapping[str, int]:
    return dict(Counter(reasons).most_common())


def _try(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except RagError as error:
        detail, _, advice = str(error).partition("; ")
        return Check(name, False, detail, advice)
    except (OSError, RuntimeError) as error:
        # A check that fails in a way of its own must not keep the others from being made.
        return Check(name, False, f"{type(error).__name__}: {error}", "")


def _sqlite() -> str:
    from rag_agent.store.connection import engine  # which loads the library it reports on

    return engine()


def _index(store: Store | None) -> str:
    if store is None:
        return "nothing indexed yet"
    problems = store.check()
    if problems:
        raise RagError(f"{problems[0]}; run `rag-agent rebuild --force`")
    damaged = store.damaged_copies()
    if damaged:
        raise RagError(f"{', '.join(damaged)}: damaged; `rag-agent refresh` writes that anew")
    documents = store.counts().documents
    return f"sound, {documents:,} files" if documents else "nothing indexed yet"


def _history(store: Store | None, enabled: bool) -> str:
    """Well also without git: then ranking goes by the files alone."""
    if not enabled:
        return "switched off"
    problems = store.commits.problems() if store else []
    if problems:
        raise RagError(f"{problems[0]}; correct that, or switch ragHistory off in config.json")
    if find_git() is None:
        return "no git program, so commits do not count"
    commits = store.counts().commits if store else 0
    return f"{commits:,} commits read" if commits else "no commits read"


def _writable(folder: Path, variable: str) -> str:
    """Tried, for permissions tell nothing of a full disk or of one that is mounted read-only."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    try:
        with tempfile.TemporaryFile(dir=existing) as stream:
            stream.write(bytes(_SPACE))
    except OSError as error:
        raise RagError(
            f"{folder} cannot be written ({error.strerror or error}); make room or change its "
            f"permissions, or set {variable} to another folder"
        ) from error
    return str(folder)


def _model(embedder: Embedder) -> str:
    vector = embedder.embed_query("where is the configuration parsed?")
    return f"{embedder.fingerprint.split(' ')[0]}, {len(vector)} dimensions"


def _reranker(reranker: Reranker | None) -> str:
    if reranker is None:
        return "none (ragReranker)"
    reranker.scores("where is the configuration parsed?", ["def parse_configuration(text):"])
    return reranker.name


def _caches(folder: Path) -> str:
    """What the user's indexes share; deleting the files costs nothing but the time to make them."""
    told = [_writable(folder, "XDG_CACHE_HOME")]
    for what, name in (("vectors", EMBEDDINGS), ("text of documents", TEXTS)):
        size = sum(path.stat().st_size for path in folder.glob(f"{name}*"))
        told.append(f"{size / 1e6:,.1f} MB of {what}")
    return ", ".join(told)


def _ocr(settings: Config) -> str:
    """Well also without it: then scans and pictures are named, and not found."""
    if not settings.ocr_pages:
        return "switched off"
    program = find()
    if program is None:
        return "no tesseract program, so scanned pages and pictures have no text"
    known = languages(installed(program), settings.ocr_languages)
    if not known:
        wanted = ", ".join(settings.ocr_languages) or "any"
        raise RagError(f"{program} has no language of {wanted}; install one, or set ocrLanguages")
    return f"tesseract reads {', '.join(known)}"


def _grammars() -> str:
    from rag_agent.chunk.grammar import load

    if load("python") is None:
        # Where semble_grammars unpacks them, on every system.
        cache = os.environ.get("XDG_CACHE_HOME") or paths.home_folder() / ".cache"
        _writable(Path(cache) / "semble", "XDG_CACHE_HOME")
        raise RagError(
            "the grammars cannot be loaded on this platform, so code is cut by lines; "
            "reinstall semble-grammars, or see which platforms it has wheels for"
        )
    return "code is cut where definitions begin"
