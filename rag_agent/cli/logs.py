"""Where log lines go: warnings to stderr, more to a file in the user's log folder."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler

from rag_agent import paths

_FILE_BYTES = 10_000_000
_FILE_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def start(*, verbose: bool) -> None:
    """Add both handlers; ``verbose`` shows everything on stderr, tracebacks too."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    if verbose:
        logging.getLogger("rag_agent").setLevel(logging.DEBUG)
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(logging.DEBUG if verbose else logging.WARNING)
    screen.setFormatter(_Brief(verbose=verbose))
    root.addHandler(screen)
    try:
        folder = paths.log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        file = RotatingFileHandler(
            folder / "rag-agent.log",
            maxBytes=_FILE_BYTES,
            backupCount=1,
            encoding="utf-8",
            errors="backslashreplace",
            delay=True,
        )
    except OSError as error:
        logging.getLogger(__name__).info("no log file: %s", error)
        return
    file.setFormatter(logging.Formatter(_FILE_FORMAT))
    root.addHandler(file)


class _Brief(logging.Formatter):
    """``warning: …``; tracebacks only where they were asked for."""

    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {record.getMessage()}"
        if self._verbose and record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line
