from __future__ import annotations

import threading
from typing import Any

from rag_agent.embed.loading import LateModel
from rag_agent.errors import ConfigError, EmbedError

MODEL: Any = object()


def test_a_model_is_loaded_once_and_when_it_is_asked_for() -> None:
    calls: list[str] = []

    def load() -> Any:
        calls.append(threading.current_thread().name)
        return MODEL

    late = LateModel(load)
    assert (late.loaded, calls) == (None, [])
    assert late.get() is late.get() is MODEL
    late.load_ahead()
    assert calls == [threading.current_thread().name]


def test_loading_ahead_is_waited_for_by_whoever_asks() -> None:
    go = threading.Event()

    def load() -> Any:
        go.wait(60)
        return MODEL

    late = LateModel(load)
    late.load_ahead(0.01)
    assert late.loaded is None
    go.set()
    assert late.get() is MODEL


def test_why_there_is_no_model_is_kept_and_it_is_not_tried_again() -> None:
    calls: list[int] = []

    def load() -> Any:
        calls.append(1)
        raise EmbedError("the file is gone; install it again")

    late = LateModel(load)
    late.load_ahead(60)
    assert late.get() is late.get() is None
    assert late.problem == "the file is gone; install it again"
    assert calls == [1]


def test_settings_that_cannot_be_read_are_told_by_the_thread_that_asks() -> None:
    readable = False

    def load() -> Any:
        if not readable:
            raise ConfigError("config.json is not valid JSON")
        return MODEL

    late = LateModel(load)
    late.load_ahead(60)
    assert (late.loaded, late.problem) == (None, "")
    readable = True
    assert late.get() is MODEL
