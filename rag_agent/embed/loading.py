"""Models that are loaded when they are first asked for, or ahead of that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from rag_agent.errors import ConfigError, EmbedError

Model = TypeVar("Model")


class LateModel(Generic[Model]):
    """Calls ``load`` once. ``problem`` says why there is no model, and is empty else.

    Belongs to one thread, which asks; the loading ahead has a thread of its own.
    """

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._loading: threading.Thread | None = None
        self.loaded: Model | None = None
        self.problem = ""

    def get(self) -> Model | None:
        """The model, waited for; None if it cannot be loaded."""
        if self._loading is not None:
            self._loading.join()
            self._loading = None
        if self.loaded is None and not self.problem:
            self._try()
        return self.loaded

    def load_ahead(self, seconds: float = 0.0) -> None:
        """Begin to load it in a thread, and wait for that, but no longer than ``seconds``."""
        if self.loaded is None and self._loading is None and not self.problem:
            self._loading = threading.Thread(target=self._ahead, name="model", daemon=True)
            self._loading.start()
        if self._loading is not None and seconds:
            self._loading.join(seconds)

    def _ahead(self) -> None:
        with suppress(ConfigError):  # which the thread that asks meets again, and can tell
            self._try()

    def _try(self) -> None:
        try:
            self.loaded = self._load()
        except EmbedError as error:
            self.problem = str(error)


class LatestModel(Generic[Model]):
    """The model that the settings name now; one that they named before is let go.

    ``load`` takes its name and how many threads it may use.
    """

    def __init__(self, load: Callable[[str, int | None], Model]) -> None:
        self._load = load
        self._named: tuple[str, int | None] | None = None
        self._model: LateModel[Model] | None = None

    def of(self, name: str, threads: int | None) -> LateModel[Model]:
        """The model of that name, not loaded yet if it is another than before."""
        if self._model is None or self._named != (name, threads):
            self._named = (name, threads)
            self._model = LateModel(lambda: self._load(name, threads))
        return self._model
