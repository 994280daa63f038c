"""Which entries of a tree are left out: git's rules, ours, the settings, and folders of no use.

Strongest first:

1. ``excludePatterns`` of the settings, relative to the root;
2. folders that are never indexed (``.git``, the index itself);
3. ``.ragignore`` in any folder, deeper ones first. A pattern leaves out more. A ``!pattern`` that
   names something (``!build/api/``, ``!*.log``, but not ``!*``) brings in what would be left out
   by the next two, a folder with all that is in it;
4. folders that no one searches (``node_modules``, virtual environments, caches), and worktrees of
   the repository inside of it;
5. ``.gitignore`` in any folder, deeper ones first, then ``.git/info/exclude``, then the user's
   ``core.excludesFile``. As in git, what lies in an ignored folder is ignored.

Rules of the folders above the root count up to the top of its repository, but a folder that is
named to be indexed is indexed: those that would leave out the root itself are dropped. Files that
git tracks although a pattern ignores them count as ignored; ``.ragignore`` brings them in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rag_agent.patterns import Pattern, Patterns, lines_of
from rag_agent.sync.gitconfig import read_regular, repository_excludes, repository_of

# git sets core.ignoreCase on these when it makes a repository.
_IGNORE_CASE = sys.platform in ("win32", "darwin")

_NEVER: Mapping[str, str] = {
    ".git": "git's own data",
    ".hg": "Mercurial's own data",
    ".svn": "Subversion's own data",
    ".jj": "Jujutsu's own data",
    ".bzr": "Bazaar's own data",
    "_darcs": "Darcs' own data",
    "CVS": "CVS's own data",
    ".pi/rag": "the index itself",
}
# Each row: what the folders hold, their names, and whether one that is left out is reported.
# What a tool makes anew, nobody misses; a word on it would only hide the others.
_USELESS_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("an agent's state", ".pi", False),
    ("installed packages", "node_modules bower_components jspm_packages __pypackages__", True),
    ("installed packages", "site-packages dist-packages .eggs", True),
    ("a virtual environment", ".venv .tox .nox .direnv", False),
    ("compiled Python", "__pycache__", False),
    ("copies of notebooks", ".ipynb_checkpoints", False),
    ("a test runner's data", ".hypothesis", False),
    ("a cache", ".cache .mypy_cache .pytest_cache .ruff_cache .parcel-cache .turbo", False),
    ("a cache", ".angular .zig-cache zig-cache .gradle .dart_tool elm-stuff", False),
    ("a cache", ".bloop .metals .vs", False),
    ("downloaded providers", ".terraform", True),
    ("build output", ".next .nuxt .svelte-kit .stack-work dist-newstyle", True),
    ("an archiver's leftovers", "__MACOSX", True),
    ("Obsidian's settings and plugins", ".obsidian", False),
    ("deleted files", "$RECYCLE.BIN .Trash .trash", True),
    ("a file system's leftovers", "lost+found", True),
)
# A folder that holds such an entry is of no use whatever its name.
_MARKER_ROWS: tuple[tuple[str, str, bool], ...] = (
    ("a virtual environment", "pyvenv.cfg", False),
    ("a conda environment", "conda-meta", False),
    ("a cache", "CACHEDIR.TAG", False),  # bford.info/cachedir; Cargo's target folder has one
)
_RULE_FILES = frozenset((".git", ".gitignore", ".ragignore"))


class Decision(NamedTuple):
    """What becomes of an entry.

    ``left out`` and ``excluded`` come with a ``why``. ``passage`` is a folder that is left out but
    for what ``.ragignore`` brings in from below it; ``wanted`` is what ``.ragignore`` brings in.
    What is not ``reported`` is left out without a word.
    """

    outcome: Literal["kept", "wanted", "passage", "left out", "excluded"]
    why: str = ""
    reported: bool = True

    @property
    def enters(self) -> bool:
        """Whether the entry is indexed, or a folder is gone into."""
        return self.outcome not in ("left out", "excluded")


def _left_out_by_name(rows: tuple[tuple[str, str, bool], ...]) -> Mapping[str, Decision]:
    return {
        name: Decision("left out", why, reported)
        for why, names, reported in rows
        for name in names.split()
    }


_KEPT = Decision("kept")
_USELESS = _left_out_by_name(_USELESS_ROWS)
_MARKERS = _left_out_by_name(_MARKER_ROWS)


def is_useless(name: str) -> bool:
    """Whether a folder of this name is left out unless ``.ragignore`` brings it in."""
    return name in _NEVER or name in _USELESS


class _Layer(NamedTuple):
    """The patterns of one ignore file; ``cut`` is the length of its folder's path and slash."""

    cut: int
    source: str
    patterns: Patterns


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on the way down with the rules that hold for its entries, strongest first.

    ``prefix`` is its path and a slash, from the outermost folder whose rules count. ``repository``
    is where git keeps what it has of the repository that the folder belongs to, "" for none.
    """

    absolute: str
    prefix: str
    repository: str = ""
    git: tuple[_Layer, ...] = ()
    own: tuple[_Layer, ...] = ()
    entered: Literal["kept", "wanted", "passage"] = "kept"


class Ignore:
    """The rules of one tree. ``root`` is a real absolute path of a folder."""

    def __init__(
        self, root: str, exclude_patterns: Sequence[str], user_ignores: Sequence[str] = ()
    ) -> None:
        self._excludes = Patterns(exclude_patterns, ignore_case=_IGNORE_CASE)
        self._user = Patterns(user_ignores, ignore_case=_IGNORE_CASE)
        self.root = self._open(root)
        self._root_cut = len(self.root.prefix)

    def decide(self, folder: Folder, name: str, is_folder: bool) -> Decision:
        """What becomes of the entry ``name`` of a folder that was entered."""
        path = folder.prefix + name
        if self._excludes:
            excluding = self._excludes.last(path[self._root_cut :], name, is_folder)
            if excluding is not None and not excluding.negated:
                return Decision("excluded", excluding.text)
        if is_folder:
            never = _NEVER.get(name) or _NEVER.get(path[path.rfind("/", 0, -len(name) - 1) + 1 :])
            if never is not None:
                return Decision("left out", never, reported=False)
        if folder.own:
            layer, own = _last(folder.own, path, name, is_folder)
            if own is not None and not own.negated:
                return _left_out(folder, path, is_folder, f"{layer}: {own.text}")
            if own is not None and own.names_something:
                return Decision("wanted")
        if folder.entered == "passage":
            return _left_out(folder, path, is_folder, "in an ignored folder")
        if is_folder and name in _USELESS:
            _, why, reported = _USELESS[name]
            return _left_out(folder, path, is_folder, why, reported)
        if folder.entered == "kept" and folder.git:
            layer, rule = _last(folder.git, path, name, is_folder)
            if rule is not None and not rule.negated:
                return _left_out(folder, path, is_folder, f"{layer}: {rule.text}")
        return _KEPT

    def enter(
        self,
        folder: Folder,
        name: str,
        decision: Decision,
        names: Collection[str] | None = None,
    ) -> tuple[Decision, Folder]:
        """The folder's own rules, and the decision again now that its content is known.

        ``names`` are its entries; without them the disk is asked for those that matter.
        """
        path = folder.prefix + name
        absolute = f"{folder.absolute}/{name}"
        if decision.outcome == "kept":
            marker = next((m for m in _MARKERS if _holds(absolute, names, m)), None)
            if marker is not None:
                _, why, reported = _MARKERS[marker]
                decision = _left_out(folder, path, True, why, reported)
            elif _is_worktree(folder.repository, absolute, names):
                decision = _left_out(folder, path, True, "a worktree of this repository")
        entered = folder.entered
        if decision.outcome in ("wanted", "passage"):
            entered = "wanted" if decision.outcome == "wanted" else "passage"
        inside = replace(folder, absolute=absolute, prefix=f"{path}/", entered=entered)
        return decision, self._with_rules(inside, names)

    def _open(self, root: str) -> Folder:
        """The root with the rules of the folders above it, down from its repository's top."""
        above: list[str] = []
        top = root
        while not os.path.lexists(f"{top}/.git"):
            parent, name = os.path.split(top)
            if parent == top or not name:
                above, top = [], root
                break
            above.append(name)
            top = parent
        folder = self._with_rules(Folder(top, ""), None)
        for name in reversed(above):
            path = folder.prefix + name
            _, own = _last(folder.own, path, name, True)
            _, git = _last(folder.git, path, name, True)
            if own is not None and not own.negated:
                folder = replace(folder, own=())
            if git is not None and not git.negated:
                folder = replace(folder, git=())
            absolute = f"{folder.absolute}/{name}"
            inside = replace(folder, absolute=absolute, prefix=f"{path}/")
            folder = self._with_rules(inside, None)
        return folder

    def _with_rules(self, folder: Folder, names: Collection[str] | None) -> Folder:
        """The folder with what its own ignore files say; a repository begins anew with git's."""
        if names is not None and _RULE_FILES.isdisjoint(names):
            return folder
        git, own = folder.git, folder.own
        if _holds(folder.absolute, names, ".git"):
            repository = repository_of(folder.absolute)
            folder = replace(folder, repository=repository)
            excludes = Patterns(repository_excludes(repository), ignore_case=_IGNORE_CASE)
            layers = ((".git/info/exclude", excludes), ("core.excludesFile", self._user))
            cut = len(folder.prefix)
            git = tuple(_Layer(cut, source, patterns) for source, patterns in layers if patterns)
        git = (*_file_layers(folder, names, ".gitignore"), *git)
        own = (*_file_layers(folder, names, ".ragignore"), *own)
        return replace(folder, git=git, own=own)


def _left_out(
    folder: Folder, path: str, is_folder: bool, why: str, reported: bool = True
) -> Decision:
    """Left out, but a folder stays a passage while ``.ragignore`` names something below it.

    What lies in a passage is accounted for by the passage.
    """
    reported = reported and folder.entered != "passage"
    if is_folder and any(layer.patterns.reaching_below(path[layer.cut :]) for layer in folder.own):
        return Decision("passage", why, reported)
    return Decision("left out", why, reported)


def _last(
    layers: Sequence[_Layer], path: str, name: str, is_folder: bool
) -> tuple[str, Pattern | None]:
    """The pattern that decides, and the ignore file it stands in."""
    for layer in layers:
        pattern = layer.patterns.last(path[layer.cut :], name, is_folder)
        if pattern is not None:
            return layer.source, pattern
    return "", None


def _holds(absolute: str, names: Collection[str] | None, name: str) -> bool:
    if names is not None:
        return name in names
    return os.path.lexists(f"{absolute}/{name}")


def _is_worktree(repository: str, absolute: str, names: Collection[str] | None) -> bool:
    """Whether a folder in a repository is another checkout of it, where all would come twice.

    Agents make such (``.claude/worktrees/``). Worktrees beside each other are no copies of what
    is indexed: none lies in the other.
    """
    return (
        bool(repository)
        and _holds(absolute, names, ".git")
        and repository_of(absolute) == repository
    )


def _file_layers(folder: Folder, names: Collection[str] | None, name: str) -> Iterator[_Layer]:
    """The layer of one ignore file of a folder, when it is there and says something."""
    if names is not None and name not in names:
        return
    data = read_regular(f"{folder.absolute}/{name}")
    patterns = Patterns(lines_of(data), ignore_case=_IGNORE_CASE)
    if patterns:
        yield _Layer(len(folder.prefix), folder.prefix + name, patterns)
