"""Where log lines go: warnings to stderr, more to a file in the user's log folder."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from logging.handlers import RotatingFileHandler

from rag_agent import paths
from rag_agent.commands.layout import one_line, printable
from rag_agent.errors import ConfigError

_FILE_BYTES = 10_000_000
_FILE_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


@contextmanager
def logged(*, verbose: bool) -> Iterator[None]:
    """Both handlers for as long as a command runs; ``verbose`` shows everything on stderr."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    logging.getLogger("rag_agent").setLevel(logging.DEBUG if verbose else logging.INFO)
    handlers = [_screen(verbose=verbose), *_file()]
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def log_place() -> str:
    """Where a person finds more about an internal error."""
    try:
        return f"the log in {paths.log_folder()} says more, please report it"
    except ConfigError:
        return "`--verbose` says more, please report it"


def _screen(*, verbose: bool) -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.DEBUG if verbose else logging.WARNING)
    handler.setFormatter(_Brief(verbose=verbose))
    return handler


def _file() -> Iterator[logging.Handler]:
    """The rotating file; nothing where the log folder cannot be made, which hinders nobody."""
    try:
        folder = paths.log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            folder / "rag-agent.log",
            maxBytes=_FILE_BYTES,
            backupCount=1,
            encoding="utf-8",
            errors="backslashreplace",
            delay=True,
        )
    except (OSError, ConfigError) as error:
        logging.getLogger(__name__).info("no log file: %s", error)
        return
    handler.setFormatter(_Whole(_FILE_FORMAT))
    yield handler


class _Whole(logging.Formatter):
    """A record as it is, but that no name of a file begins a line or steers a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        own = copy(record)
        own.exc_text = None  # as another formatter may have left it
        return printable(super().format(own))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return one_line(super().formatMessage(record))


class _Brief(logging.Formatter):
    """``warning: …``; tracebacks only where they were asked for."""

    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower()}: {one_line(record.getMessage())}"
        if self._verbose and record.exc_info:
            line += "\n" + printable(self.formatException(record.exc_info))
        return line
