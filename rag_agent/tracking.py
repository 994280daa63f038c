"""What an index follows: its settings, the paths it tracks, and the rules for what lies there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from rag_agent import config as configuration
from rag_agent import legacy, outside, paths, tracked
from rag_agent.access import Access
from rag_agent.config import Config
from rag_agent.errors import ConfigError
from rag_agent.extract import OcrRules
from rag_agent.sync.walk import WalkRules, rules_from

_MOST_TOLD = 5  # paths that are not followed


class Tracking:
    """Reads config.json anew whenever it is asked, as other processes change it too."""

    def __init__(self, files: Access) -> None:
        self._files = files

    @property
    def config(self) -> Config:
        """The settings as they are now."""
        return configuration.load(self._files.folder)

    def configure(self, changes: dict[str, object]) -> Config:
        """Change settings by their names in ``Config`` and save them."""
        self._files.create()
        done = configuration.update(self._files.folder, changes)
        if "tracked_paths" in changes:
            for path in tracked.absolute(done.tracked_paths, self.project):
                self._allow(path)
        return done

    @property
    def paths(self) -> tuple[Path, ...]:
        """Absolute paths of what is tracked, without those that ``warnings`` tells of."""
        return tracked.absolute(self._names(counting=True), self.project)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the settings name and is not followed, a sentence each; the first of many."""
        left_out = self.left_out
        told = [
            f"{path} is not followed: it lies outside of the project, and the settings alone may "
            f"not add it; `rag-agent index {shlex.quote(str(path))}` allows it"
            for path in left_out[:_MOST_TOLD]
        ]
        more = len(left_out) - len(told)
        return (*told, *([f"nor are {more:,} more paths outside of the project"] if more else ()))

    def add(self, target: Path | None) -> tuple[Path, ...]:
        """Remember a path, and say what to sync: that one, or all that is tracked."""
        if target is None:
            return self.paths
        self._allow(target)
        known = self.paths
        wanted = tracked.with_path(known, target)
        if wanted != known:
            self._set((*wanted, *self.left_out))
        return (target,)

    def added(self, target: Path | None) -> tuple[str, ...]:
        """A sentence where that path is new and lies outside of the project: models ask, too."""
        project = self.project
        if target is None or project is None or outside.allowed(project.resolve(), target):
            return ()
        return (
            f"{target} lies outside of the project and is followed from now on; to end that delete "
            "it from trackedPaths in config.json and run `rag-agent refresh`",
        )

    def portable(self, places: Sequence[Path]) -> tuple[str, ...]:
        """Paths as config.json holds them, which may move along with the project."""
        return tracked.portable(places, self.project)

    def absolute(self, path: str | Path) -> Path:
        """A path as a person gives it, relative to the opened folder."""
        # Not Path.expanduser, which raises for a user who does not exist; check_root says that.
        return self._files.base / os.path.expanduser(path)  # noqa: PTH111

    @property
    def project(self) -> Path | None:
        """The folder whose index this is; None for the global one."""
        return tracked.project_folder(self._files.folder, self.home)

    @property
    def home(self) -> Path | None:
        """None in containers whose user has no home, where a project's index works all the same."""
        try:
            return paths.home_folder()
        except ConfigError:
            return None

    def take_over_legacy(self) -> tuple[str, ...]:
        """Adopt what earlier programs left; sentences that a person should read once."""
        home, files = self.home, self._files
        renamed = legacy.adopt_lens(home) if home and files.scope == "global" else None
        notices = [renamed] if renamed else []
        files.create()
        if legacy.foreign_database(files.folder) and not files.database.exists():
            notices.append(legacy.foreign_notice(files.folder))
        known = legacy.legacy_files(files.folder)
        followed = (*self.paths, *self.left_out)
        more = legacy.untracked(known, [*map(str, followed)], home) if home else []
        if more:
            self._set((*followed, *(Path(name) for name in more)))
            notices.append(f"{len(known):,} files of the old index.json are taken over")
        return tuple(notices)

    def rules(self) -> WalkRules:
        """What of the tracked paths is indexed."""
        settings = self.config
        return rules_from(
            settings.extra_extensions,
            settings.exclude_extensions,
            settings.exclude_patterns,
            settings.max_file_bytes,
            settings.max_document_bytes,
            settings.exclude_tags,
            ocr=OcrRules(pages=settings.ocr_pages, languages=settings.ocr_languages),
            pictures=settings.ocr_pictures,
        )

    def may_read(self, place: str) -> bool:
        """Whether this index may read a place: an index may come along with a clone as well."""
        return self.project is None or outside.allowed(self.project.resolve(), Path(place))

    def _set(self, wanted: Sequence[Path]) -> None:
        self._files.create()
        configuration.update(self._files.folder, {"tracked_paths": self.portable(wanted)})

    @property
    def left_out(self) -> tuple[Path, ...]:
        """What the settings name and may not add: neither followed nor forgotten."""
        return tracked.absolute(self._names(counting=False), self.project)

    def _names(self, *, counting: bool) -> list[str]:
        """The tracked paths as config.json has them: those that count, or the others."""
        names, project = self.config.tracked_paths, self.project
        if project is None:
            return list(names) if counting else []
        home = project.resolve()
        return [
            name
            for name in names
            if all(outside.allowed(home, path) for path in tracked.absolute([name], project))
            is counting
        ]

    def _allow(self, path: Path) -> None:
        """Note that this user wants a path, which the settings of a project alone cannot say."""
        if self.project is not None:
            outside.allow(self.project.resolve(), path)
