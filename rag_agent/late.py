"""Modules that are imported when they are first used.

A hook starts a process for every prompt, which must not pay for what one prompt in a thousand
needs. What is imported in functions anyway needs none of this.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's costs more to import than this module saves
if TYPE_CHECKING:
    from typing import Any


class LateModule:
    """Stands for a module until an attribute of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        import importlib

        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


class LateLogger:
    """Stands for the logger of a module until it has something to log."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        import logging

        return getattr(logging.getLogger(self._name), attribute)
