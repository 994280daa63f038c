from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_agent import config
from rag_agent.config import Config
from rag_agent.errors import ConfigError


def _write(folder: Path, text: str) -> Path:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_everything_is_default(tmp_path: Path) -> None:
    assert config.load(tmp_path) == config.load(tmp_path / "missing") == Config()
    assert list(tmp_path.iterdir()) == []


def test_the_keys_and_defaults_of_pi_local_rag_are_kept() -> None:
    known = {config.key_of(item): item.default for item in fields(Config)}
    expected = {
        "ragEnabled": True,
        "ragTopK": 5,
        "ragScoreThreshold": 0.1,
        "ragAlpha": 0.4,
        "extraExtensions": (),
        "excludeExtensions": (),
        "trackedPaths": (),
        "excludePatterns": (),
    }
    assert {key: known[key] for key in expected} == expected


def test_a_file_of_pi_local_rag_is_read(tmp_path: Path) -> None:
    _write(tmp_path, '{"ragTopK": 7, "trackedPaths": ["/a b"], "embedding": {"provider": "x"}}')
    loaded = config.load(tmp_path)
    assert (loaded.rag_top_k, loaded.tracked_paths, loaded.rag_alpha) == (7, ("/a b",), 0.4)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    str.strip
)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float": st.floats(0, 1),
    "tuple[str, ...]": st.lists(_TEXTS).map(tuple),
    "str": _TEXTS,
    "int | None": st.none() | st.integers(1, 256),
    "int": st.integers(50, 100),  # in the range of all of them
}
_CONFIGS = st.builds(Config, **{item.name: _VALUES[str(item.type)] for item in fields(Config)})


@given(changed=_CONFIGS)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_settings_come_back_as_they_were_saved(changed: Config, tmp_path: Path) -> None:
    config.update(tmp_path, asdict(changed))
    assert config.load(tmp_path) == changed


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("ragAlpha", "high", 'ragAlpha must be a number from 0 to 1, not "high"'),
        ("ragAlpha", 1.5, "a number from 0 to 1, not 1.5"),
        ("ragAlpha", float("nan"), "a number from 0 to 1, not NaN"),
        ("ragAlpha", True, "a number from 0 to 1, not true"),
        ("ragScoreThreshold", None, "a number from 0 to 1, not null"),
        ("ragEnabled", 1, "true or false, not 1"),
        ("ragEnabled", "yes", 'true or false, not "yes"'),
        ("ragTopK", 0, "a whole number from 1 to 100, not 0"),
        ("ragTopK", 2.5, "a whole number from 1 to 100, not 2.5"),
        ("ragTopK", 1e400, "a whole number from 1 to 100, not Infinity"),
        ("trackedPaths", "/a", 'a list of texts, not "/a"'),
        ("trackedPaths", ["/a", 1], 'a list of texts, not ["/a", 1]'),
        ("excludePatterns", {"a": 1}, "a list of texts"),
        ("maxFileBytes", -1, "a whole number from 1 to"),
        ("embeddingModel", "", "a text that is not empty"),
        ("embeddingThreads", 0, "a whole number from 1 to 256, or null"),
    ],
)
def test_a_bad_value_is_named_with_file_and_key(
    tmp_path: Path, key: str, value: Any, hint: str
) -> None:
    text = json.dumps({"ragTopK": 3, key: value})
    path = _write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        config.load(tmp_path)
    message = str(raised.value)
    assert key in message
    assert hint in message
    assert str(path) in message
    with pytest.raises(ConfigError):
        config.update(tmp_path, {"max_document_bytes": 5})
    assert path.read_text(encoding="utf-8") == text


def test_a_bad_value_is_mended_by_changing_it(tmp_path: Path) -> None:
    _write(tmp_path, '{"ragAlpha": "high", "mine": 1}')
    assert config.update(tmp_path, {"rag_alpha": 0.3}).rag_alpha == 0.3
    assert config.load(tmp_path).rag_alpha == 0.3


@pytest.mark.parametrize("text", ["", " \t", "a\0b", "a\ud800"])
@pytest.mark.parametrize("key", ["trackedPaths", "excludePatterns", "extraExtensions"])
def test_a_text_that_no_path_can_hold_is_an_error(tmp_path: Path, key: str, text: str) -> None:
    before = _write(tmp_path, json.dumps({key: ["fine", text]})).read_bytes()
    with pytest.raises(ConfigError, match=f"{key} must be a list of texts that are not") as raised:
        config.load(tmp_path)
    str(raised.value).encode("utf-8")
    with pytest.raises(ConfigError, match=key):
        config.update(tmp_path, {"rag_top_k": 7})
    assert (tmp_path / "config.json").read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ConfigError, match=r"config\.json is not a file"):
        config.load(tmp_path)


@pytest.mark.parametrize("value", [7, 7.0])
def test_a_whole_number_may_be_written_with_a_point(tmp_path: Path, value: float) -> None:
    _write(tmp_path, json.dumps({"ragTopK": value}))
    assert repr(config.load(tmp_path).rag_top_k) == "7"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"ragTopK": 5,\n "ragAlpha": }', "line 2, column 14"),
        ('{"ragTopK": 5', "line 1"),
        ("[1, 2]", "must hold an object"),
        ("null", "must hold an object"),
        ("[" * 100_000, "not usable JSON"),
        ('{"ragTopK": ' + "1" * 5000 + "}", "not usable JSON"),
    ],
)
def test_a_broken_file_is_an_error_and_never_overwritten(
    tmp_path: Path, text: str, hint: str
) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(ConfigError, match=hint) as raised:
        config.load(tmp_path)
    assert str(path) in str(raised.value)
    with pytest.raises(ConfigError):
        config.update(tmp_path, {"rag_top_k": 9})
    assert path.read_text(encoding="utf-8") == text


def test_a_file_that_is_no_utf8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'{"embeddingModel": "caf\xe9"}')
    with pytest.raises(ConfigError, match="UTF-8"):
        config.load(tmp_path)


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff{}", '\ufeff{"ragTopK": 5}'])
def test_an_empty_file_and_a_byte_order_mark_are_fine(tmp_path: Path, text: str) -> None:
    _write(tmp_path, text)
    assert config.load(tmp_path) == Config()


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    with pytest.raises(ConfigError, match=re.escape(str(tmp_path / "config.json"))):
        config.load(tmp_path)


def test_unknown_keys_and_the_order_survive(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        '{"mine": {"deep": [1, "ü"]}, "ragTopK": 7, "ragAlpha": 0.3, "reranker": null}',
    )
    changed = replace(config.load(tmp_path), rag_alpha=0.4, rag_enabled=False)
    config.update(tmp_path, asdict(changed))
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert list(saved.items()) == [
        ("mine", {"deep": [1, "ü"]}),
        ("ragTopK", 7),
        ("ragAlpha", 0.4),
        ("reranker", None),
        ("ragEnabled", False),
    ]
    assert "ü" in path.read_text(encoding="utf-8")


def test_a_default_that_was_never_written_is_not_pinned(tmp_path: Path) -> None:
    config.update(tmp_path, asdict(Config(rag_top_k=9)))
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8")) == {"ragTopK": 9}


def test_an_unusable_value_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    config.update(tmp_path, {"rag_top_k": 9})
    with pytest.raises(ConfigError, match="ragAlpha must be"):
        config.update(tmp_path, {"rag_alpha": 2})
    with pytest.raises(ConfigError, match="unknown setting 'alpha'; settings: rag_enabled"):
        config.update(tmp_path, {"alpha": 0.5})
    assert config.load(tmp_path) == Config(rag_top_k=9)


def test_update_returns_all_settings_and_touches_only_what_it_was_told(tmp_path: Path) -> None:
    config.update(tmp_path, {"rag_top_k": 9})
    changed = config.update(tmp_path, {"tracked_paths": ("/a",)})
    assert changed == config.load(tmp_path) == Config(rag_top_k=9, tracked_paths=("/a",))


def _update(folder: Path, key: str) -> subprocess.Popen[bytes]:
    program = (
        "import sys; from pathlib import Path; from rag_agent import config\n"
        "for turn in range(10):\n"
        "    config.update(Path(sys.argv[1]), {sys.argv[2]: (str(turn),)})\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), key],
        cwd=Path(config.__file__).parent.parent,
    )


def test_two_processes_that_change_different_settings_both_win(tmp_path: Path) -> None:
    processes = [_update(tmp_path, key) for key in ("tracked_paths", "exclude_patterns")]
    assert [process.wait() for process in processes] == [0, 0]
    loaded = config.load(tmp_path)
    assert (loaded.tracked_paths, loaded.exclude_patterns) == (("9",), ("9",))
    assert {path.name for path in tmp_path.iterdir()} <= {"config.json", "config.lock"}


def test_a_link_goes_on_pointing_to_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "dotfiles").mkdir()
    real = _write(tmp_path / "dotfiles", '{"ragTopK": 7}')
    link = tmp_path / "store" / "config.json"
    link.symlink_to(real)
    config.update(tmp_path / "store", {"rag_alpha": 0.5})
    assert link.is_symlink()
    assert json.loads(real.read_text(encoding="utf-8")) == {"ragTopK": 7, "ragAlpha": 0.5}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_permissions_of_the_file_stay(tmp_path: Path) -> None:
    path = _write(tmp_path, "{}")
    path.chmod(0o640)
    config.update(tmp_path, {"rag_top_k": 9})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_store_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    file = _write(tmp_path, "{}")
    with pytest.raises(ConfigError, match=r"config\.json"):
        config.update(file, {"rag_top_k": 9})


def test_every_setting_can_be_shown_as_json() -> None:
    assert json.loads(json.dumps(asdict(Config())))["rag_top_k"] == 5
