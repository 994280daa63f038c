"""What an index follows: its settings, the paths it tracks, and the rules for what lies there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rag_agent import config as configuration
from rag_agent import legacy, paths, tracked
from rag_agent.access import Access
from rag_agent.config import Config
from rag_agent.errors import ConfigError
from rag_agent.extract import OcrRules
from rag_agent.sync.walk import WalkRules, rules_from


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
        return configuration.update(self._files.folder, changes)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Absolute paths of what is tracked."""
        return tracked.absolute(self.config.tracked_paths, self.project)

    def add(self, target: Path | None) -> tuple[Path, ...]:
        """Remember a path, and say what to sync: that one, or all that is tracked."""
        known = self.paths
        if target is None:
            return known
        wanted = tracked.with_path(known, target)
        if wanted != known:
            self._set(wanted)
        return (target,)

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
        followed = [str(path) for path in self.paths]
        more = legacy.untracked(known, followed, home) if home else []
        if more:
            self._set((*self.paths, *(Path(name) for name in more)))
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

    def _set(self, wanted: Sequence[Path]) -> None:
        self.configure({"tracked_paths": self.portable(wanted)})
