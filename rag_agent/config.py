"""The settings in config.json: read, checked, changed without losing what we do not know."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rag_agent.embed import DEFAULT
from rag_agent.errors import ConfigError

_FILE = "config.json"
_LOCK_TIMEOUT = 10  # seconds; a save takes milliseconds

Check = Callable[[Any], Any]
"""Gives the value as the field holds it, or raises ValueError saying what it must be."""


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _number(low: float, high: float) -> Check:
    def check(value: Any) -> float:
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not known or not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def _integer(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not known or not low <= value <= high or value != int(value):
            raise ValueError(f"a whole number from {low:,} to {high:,}")
        return int(value)

    return check


def _optional(check: Check) -> Check:
    def checked(value: Any) -> Any:
        try:
            return None if value is None else check(value)
        except ValueError as error:
            raise ValueError(f"{error}, or null") from error

    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not _is_sound(value):
        raise ValueError("a text that is not empty and holds whole characters, none NUL")
    return value


def _text_or_none(value: Any) -> str:
    """As ``_text``, or the empty text, which means that there is none."""
    return "" if value == "" else _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts")
    if not all(item.strip() and _is_sound(item) for item in value):
        raise ValueError("a list of texts that are not empty and hold whole characters, none NUL")
    return tuple(value)


def _is_sound(text: str) -> bool:
    """Whether it may be in a path: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _setting(default: Any, check: Check) -> Any:
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a store. In config.json a field ``rag_top_k`` is the key ``ragTopK``."""

    rag_enabled: bool = _setting(True, _boolean)
    rag_top_k: int = _setting(5, _integer(1, 100))
    rag_score_threshold: float = _setting(0.1, _number(0, 1))
    rag_alpha: float = _setting(0.4, _number(0, 1))  # weight of BM25
    extra_extensions: tuple[str, ...] = _setting((), _texts)
    exclude_extensions: tuple[str, ...] = _setting((), _texts)
    tracked_paths: tuple[str, ...] = _setting((), _texts)
    exclude_patterns: tuple[str, ...] = _setting((), _texts)
    exclude_tags: tuple[str, ...] = _setting((), _texts)  # of documents that are left out
    max_file_bytes: int = _setting(2_000_000, _integer(1, 1 << 40))  # text and code
    max_document_bytes: int = _setting(64_000_000, _integer(1, 1 << 40))  # PDF, DOCX, …
    ocr_pages: int = _setting(200, _integer(0, 10_000))  # of a file; 0 switches OCR off
    ocr_pictures: int = _setting(50, _integer(0, 1_000_000))  # files of a tracked path
    ocr_languages: tuple[str, ...] = _setting((), _texts)  # tesseract's names; else the installed
    embedding_model: str = _setting(DEFAULT, _text)
    embedding_threads: int | None = _setting(None, _optional(_integer(1, 256)))
    rag_auto_refresh: bool = _setting(True, _boolean)
    rag_token_budget: int = _setting(1500, _integer(50, 100_000))  # of one injection
    rag_time_budget_ms: int = _setting(300, _integer(10, 60_000))  # of one injection
    rag_history: bool = _setting(True, _boolean)  # messages of commits as evidence
    rag_reranker: str = _setting("", _text_or_none)
    rag_rerank_top: int = _setting(30, _integer(2, 100))  # files
    rag_rerank_budget_ms: int = _setting(1500, _integer(10, 60_000))  # of one search


def load(folder: Path) -> Config:
    """The settings of the store in ``folder``; defaults where config.json or a key is missing.

    Raises:
        ConfigError: the file cannot be read or parsed, or a value cannot be used.
    """
    path = folder / _FILE
    return _checked(_read(path), path)


def update(folder: Path, changes: Mapping[str, Any]) -> Config:
    """Change settings by their names in ``Config`` and return all; safe against other writers.

    Values that differ from the file are written; its other keys and their order stay.

    Raises:
        ConfigError: a name is unknown, a value cannot be used, or the file does not parse; it is
            then left as it is.
    """
    known = {item.name: key_of(item) for item in fields(Config)}
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise ConfigError(f"unknown setting {unknown[0]!r}; settings: {', '.join(known)}")
    return _write(folder, {known[name]: value for name, value in changes.items()})


def key_of(item: Field[Any]) -> str:
    """The key in config.json of a field of ``Config``."""
    first, *rest = item.name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def as_json(config: Config) -> dict[str, Any]:
    """All settings under their keys in config.json."""
    return {key_of(item): getattr(config, item.name) for item in fields(Config)}


def _checked(raw: Mapping[str, Any], path: Path) -> Config:
    changes = {}
    for item in fields(Config):
        key = key_of(item)
        if key in raw:
            try:
                changes[item.name] = item.metadata["check"](raw[key])
            except (ValueError, OverflowError) as error:
                shown = json.dumps(raw[key], ensure_ascii=False, default=str)[:80]
                shown = shown.encode("utf-8", "backslashreplace").decode("utf-8")
                raise ConfigError(
                    f"{_FILE}: {key} must be {error}, not {shown} (in {path})"
                ) from error
    return replace(Config(), **changes)


def _read(path: Path) -> dict[str, Any]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a named pipe waits for its writer
            raise ConfigError(f"{path} is not a file; remove it to start from the defaults")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8, or remove it to start "
            "from the defaults"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        raw = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}; "
            "correct it, or remove it to start from the defaults"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not usable JSON: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must hold an object {{…}}, not {text.strip()[:40]!r}")
    return raw


def _write(folder: Path, values: Mapping[str, Any]) -> Config:
    """Merge values into the file as it is now, whatever was read of it before."""
    import filelock  # only for writing, which is rare

    path = folder / _FILE
    try:
        with filelock.FileLock(folder / "config.lock", timeout=_LOCK_TIMEOUT):
            raw = _read(path)
            defaults = {key_of(item): item.default for item in fields(Config)}
            for key, value in values.items():
                if key in raw or value != defaults[key]:
                    raw[key] = list(value) if isinstance(value, tuple) else value
            config = _checked(raw, path)
            _replace(path, json.dumps(raw, ensure_ascii=False, indent=2) + "\n")
    except filelock.Timeout as error:
        raise ConfigError(f"{path} is being changed by another process; try again") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
    return config


def _replace(path: Path, text: str) -> None:
    """All or nothing, also when the power fails; a link keeps pointing to the same file."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
