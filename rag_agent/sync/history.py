"""Keep up with what commits said and changed, as evidence for ranking (``store.history``).

What counts is the newest commits that lead to HEAD, and so nothing that lies after the state of
the files. They are listed anew whenever HEAD is another one, and only those that are not known are
read: after a switch of branches, a rebase or a merge the result is that of a new index.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rag_agent.masking import cut, mask
from rag_agent.progress import Progress, Report
from rag_agent.store import Store
from rag_agent.store.records import Commit, Repository
from rag_agent.sync.gitlog import Git, GitProblem, find_git
from rag_agent.types import Root

_log = logging.getLogger(__name__)

# Part of a repository's state: raise it when other words are taken, so that all is read anew.
_VERSION = "2"
_NEWEST = 5_000  # commits of a repository: RANKING.md, point 10
_IN_ALL = 20_000  # commits of all repositories in a root; a folder of many has fewer of each
_BATCH = 500  # commits in one transaction

_MESSAGE = 8_192  # characters that are looked at
_SUBJECT = 500  # characters
_BODY = 300  # characters
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: |\(cherry picked from |[ \t]+\S")


def sync_history(
    store: Store,
    report: Report,
    *,
    enabled: bool = True,
    find: Callable[[], str | None] = find_git,
    environ: Mapping[str, str] = os.environ,
    anew: bool = False,
) -> None:
    """Bring what is known of commits in step with the repositories of every root.

    Without git, or where it cannot answer, what is known stays as it is; ``doctor`` says why.
    Not ``enabled``, it is forgotten. What could not be read waits until there is another HEAD,
    unless it is to be tried ``anew``.
    """
    if not enabled:
        store.commits.clear()
        store.refresh_history()
        return
    program = find()
    if program is None:
        _log.info("there is no git, so commits are not taken into account")
        return
    for root in store.roots():
        # An unmounted disk must not cost the history of what lies on it.
        if os.path.lexists(root.path):
            _sync_root(store, root, report, program, environ, anew)
    store.commits.link()
    store.refresh_history()


def _sync_root(
    store: Store,
    root: Root,
    report: Report,
    program: str,
    environ: Mapping[str, str],
    anew: bool,
) -> None:
    tops = _tops(root, store.commits.folders(root))
    known = store.commits.repositories(root)
    gone = [repository.id for folder, repository in known.items() if folder not in tops]
    if gone:
        store.commits.forget(gone)
    limit = min(_NEWEST, _IN_ALL // max(len(tops), 1))
    for folder, top in tops.items():
        repository = known.get(folder) or store.commits.add(root, folder)
        if anew and repository.problem:
            again = f"{_way(repository.state)} {limit} ?"
            repository = replace(repository, state=again)
        git = Git(program, top, environ)
        _sync_repository(store, root, repository, top, git, limit, report)


def _sync_repository(
    store: Store,
    root: Root,
    repository: Repository,
    top: str,
    git: Git,
    limit: int,
    report: Report,
) -> None:
    try:
        head, cut = git.head()
    except GitProblem as problem:
        # No HEAD is a question mark: as soon as git answers again, it is looked at again.
        _note(store, repository, top, problem, f"{_way(repository.state)} {limit} ?")
        return
    below = _place(root, top)
    state = " ".join((_VERSION, below or ".", cut, str(limit), head))
    if state == repository.state:
        return
    try:
        newest = git.newest(head, limit) if head else []
        known = store.commits.hashes(repository)
        if _way(state) == _way(repository.state):
            stale = known - set(newest)
        else:
            store.commits.set_state(repository, "")  # an interruption must not end in a mixture
            stale = known
        if stale:
            store.commits.remove(repository, stale)
        kept = known - stale
        missing = [name for name in newest if name not in kept]
        _read(store, root, repository, git, below, missing, report)
    except GitProblem as problem:
        # What is lacking now will be lacking the next time, so that waits until HEAD moves.
        again = f"{_way(state)} {limit} ?"
        _note(store, repository, top, problem, again if problem.passing else state)
    else:
        store.commits.set_state(repository, state)


def _read(
    store: Store,
    root: Root,
    repository: Repository,
    git: Git,
    below: str,
    missing: list[str],
    report: Report,
) -> None:
    """Put the missing commits batch by batch, newest first; those without files as well."""
    seen: set[str] = set()
    batch: list[Commit] = []

    def put() -> None:
        report(Progress("scan", len(seen), len(missing), "git log"))
        store.commits.put(root, repository, batch)
        batch.clear()

    with closing(git.read(missing)) as commits:
        try:
            for commit in commits:
                seen.add(commit.hash)
                batch.append(_indexed(commit, repository, below))
                if len(batch) == _BATCH:
                    put()
        except GitProblem:
            put()  # what was read until then is whole
            raise
    put()
    empty = [Commit(name, "", (), 0) for name in missing if name not in seen]
    store.commits.put(root, repository, empty)


def _indexed(commit: Commit, repository: Repository, below: str) -> Commit:
    """The commit with what is indexed of its message, and its paths as the root has them."""
    return replace(
        commit,
        message=spoken(commit.message),
        paths=tuple(_in_root(commit.paths, repository.folder, below)),
    )


def _in_root(paths: Iterable[str], folder: str, below: str) -> Iterable[str]:
    for path in paths:
        if folder:
            yield f"{folder}/{path}"
        elif not below:
            yield path
        elif path == below:
            yield PurePosixPath(path).name  # the root is this file
        elif path.startswith(f"{below}/"):
            yield path[len(below) + 1 :]


def spoken(message: str) -> str:
    """What of a commit's message is indexed: its subject and the beginning of its body.

    Not the trailers (``Signed-off-by: …``) at its end, nor what looks like a secret.
    """
    # Before anything is cut or left out: half of a secret is not known as one.
    message, _ = mask(cut(message.strip(), _MESSAGE))
    subject, _, rest = message.partition("\n")
    *paragraphs, last = re.split(r"\n\s*\n", rest.strip())
    if not all(_TRAILER.match(line) for line in last.splitlines()):
        paragraphs.append(last)
    body = "\n".join(paragraphs)
    return f"{subject[:_SUBJECT]}\n{body[:_BODY]}"


def _tops(root: Root, folders: Iterable[str]) -> dict[str, str]:
    """Top folders of the repositories of a root, by their paths in it; "" for that around it."""
    tops = {}
    around = next(
        (
            str(folder)
            for folder in (Path(root.path), *Path(root.path).parents)
            if os.path.lexists(folder / ".git")
        ),
        None,
    )
    if around is not None:
        tops[""] = around
    below = {
        str(parent)
        for folder in folders
        for parent in (PurePosixPath(folder), *PurePosixPath(folder).parents)
    }
    for folder in sorted(below - {"."}):
        if os.path.lexists(f"{root.path}/{folder}/.git"):
            tops[folder] = f"{root.path}/{folder}"
    return tops


def _place(root: Root, top: str) -> str:
    """Where the root lies in a repository that it lies in, POSIX; else ""."""
    place = Path(root.path)
    if not place.is_relative_to(top) or place == Path(top):
        return ""
    return place.relative_to(top).as_posix()


def _way(state: str) -> str:
    """What of a state decides how a commit is kept: all but the limit and HEAD."""
    return state.rsplit(" ", 2)[0]


def _note(store: Store, repository: Repository, top: str, problem: GitProblem, state: str) -> None:
    sentence = f"the commits of {top} cannot be read: {problem}"
    if sentence != repository.problem:
        _log.warning("%s", sentence)
    if (state, sentence) != (repository.state, repository.problem):
        store.commits.set_state(repository, state, sentence)
