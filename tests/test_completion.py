from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import rag_agent.cli  # registers the verbs of the command line
from rag_agent.commands import VERBS
from rag_agent.commands.completion import complete
from rag_agent.commands.registry import Values
from rag_agent.commands.shells import SHELLS

assert rag_agent.cli


def words(*typed: str) -> list[str]:
    """What completes the last of the words typed so far."""
    *before, current = typed
    return [candidate.word for candidate in complete(before, current, in_use).candidates]


def in_use(kind: Values, given: Sequence[str]) -> Iterable[str]:
    rows = {"extension": [".py", ".pyi", ".rs"], "excluded": ["-build/", "-*.min.js"]}
    return rows.get(kind, [])


def test_every_verb_is_offered_at_the_start_and_a_group_once() -> None:
    assert set(words("")) >= {name.split()[0] for name in VERBS}
    assert words("ev") == ["eval"]
    assert words("se") == ["search", "serve"]


def test_options_of_the_verb_and_of_every_verb_are_offered_after_a_dash() -> None:
    assert words("search", "--l") == ["--limit"]
    assert "--json" in words("search", "x", "--")
    assert words("--j") == ["--json"]
    assert words("--ver") == ["--verbose", "--version"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("eval", ""), ["run", "score", "compare", "plot", "fit"]),
        (("eval", "score", "--by", "l"), ["language"]),
        (("eval", "compare", "a.jsonl", "b.jsonl", "--ov"), ["--over"]),
        (("ext", ""), ["list", "add", "remove", "reset"]),
        (("ext", "remove", ".p"), [".py", ".pyi"]),
        (("ext", "remove", ".py", ".p"), [".pyi"]),
        (("--json", "ext", "re"), ["remove", "reset"]),
        (("completion", "f"), ["fish"]),
        (("help", "st"), ["status"]),
        (("help", "eval", ""), ["run", "score", "compare", "plot", "fit"]),
        (("help", "status", ""), []),
        (("exclude", "-b"), ["-build/"]),
        (("search", "--limit", ""), []),
        (("status", ""), []),
        (("nonsense", ""), []),
        (("completion", "bash", ""), []),
    ],
)
def test_values_follow_from_what_stands_before(typed: tuple[str, ...], expected: list[str]) -> None:
    assert words(*typed) == expected


@pytest.mark.parametrize("typed", [("index", ""), ("index", "src/"), ("eval", "run", "--out", "")])
def test_file_names_are_left_to_the_shell(typed: tuple[str, ...]) -> None:
    found = complete(typed[:-1], typed[-1])
    assert found.files
    assert found.candidates == ()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the command ``rag-agent``, for the PATH of a shell."""
    command = tmp_path / "bin" / "rag-agent"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rag_agent "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return command.parent


def run_shell(shell: str, script: str, program: Path, folder: Path) -> list[str]:
    path = f"{program}:/usr/bin:/bin"
    done = subprocess.run(
        [str(shutil.which(shell)), "-c", script],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split("\n")[:-1]


BASH = """
eval "$(rag-agent completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_rag_agent
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rag-agent se", ["search", "serve"]),
        ("rag-agent completion ''", ["bash", "zsh", "fish", "powershell"]),
        ("rag-agent index my", ["my folder"]),
        ("rag-agent eval score --by re", ["repo"]),
    ],
)
def test_bash_completes(line: str, expected: list[str], program: Path, tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    assert run_shell("bash", BASH.format(words=line), program, tmp_path) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rag-agent comp", ["completion\t" + VERBS["completion"].help]),
        ("rag-agent completion ", ["bash", "fish", "powershell", "zsh"]),
        ("rag-agent index my", ["my folder/"]),
    ],
)
def test_fish_completes(line: str, expected: list[str], program: Path, tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    script = f'rag-agent completion fish | source; complete -C "{line}"'
    assert sorted(run_shell("fish", script, program, tmp_path)) == expected


ZSH = """
compdef() {{ : }}
_describe() {{ print -rl -- "${{(P@)4}}" }}
_files() {{ print -rl -- *(N) }}
eval "$(rag-agent completion zsh)"
words=({words}); CURRENT=$#words
_rag_agent
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rag-agent comp", ["completion:" + VERBS["completion"].help]),
        ("rag-agent completion ''", ["bash:bash", "zsh:zsh", "fish:fish", "powershell:powershell"]),
        ("rag-agent index my", ["bin", "my folder"]),
    ],
)
def test_zsh_completes(line: str, expected: list[str], program: Path, tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    assert run_shell("zsh", ZSH.format(words=line), program, tmp_path) == expected


def test_every_shell_has_a_script_that_says_where_it_goes() -> None:
    for shell, script in SHELLS.items():
        assert f"rag-agent completion {shell}" in script
        assert "__complete" in script
