"""Modules that are imported when they are first used.

A hook starts a process for every prompt, which must not pay for what one prompt in a thousand
needs. What is imported in functions anyway needs none of this.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's costs more to import than this module saves
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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


def late_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names, by module, are imported when first used."""
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        import importlib
        import sys

        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # over a module of the same name
        return value

    return find
