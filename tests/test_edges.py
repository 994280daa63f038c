"""The program in states that nobody wants: one clear line, or it simply works."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

SECONDS = 120  # a bound for a process that hangs, not a measurement
# What the console script does; the script itself need not be installed.
PROGRAM = [sys.executable, "-m", "rag_agent"]

_posix = pytest.mark.skipif(os.name == "nt", reason="the states are those of POSIX systems")
_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
_other_user = pytest.mark.skipif(
    shutil.which("setpriv") is None or getattr(os, "geteuid", lambda: 1)() != 0,
    reason="becoming another user takes setpriv and root",
)
NOBODY = 65_534
UNKNOWN = 2_000_000_011  # no system has an entry for it


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "parser.py").write_text("def parse_query(text): ...\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def program(
    *words: str, env: Mapping[str, str] | None = None, without: str = "", user: int | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(env or {})}
    environment.pop(without, None)
    if user is not None:
        # That user may not write what measures the coverage of subprocesses.
        environment = {k: v for k, v in environment.items() if not k.startswith("COVERAGE_")}
    drop = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return subprocess.run(
        [*([] if user is None else ["setpriv", *drop]), *PROGRAM, *words],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def shell(words: str, redirections: str) -> subprocess.CompletedProcess[str]:
    """The program as a shell starts it that closes or redirects streams."""
    return subprocess.run(
        ["/bin/sh", "-c", f"exec {shlex.join(PROGRAM)} {words} {redirections}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def assert_one_line(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode == 1


def given_to(user: int, folder: Path) -> None:
    """The folder and all in it become the user's, and what lies above can be passed."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)
    for above in folder.parents:
        if above.stat().st_mode & stat.S_IXOTH == 0:
            above.chmod(above.stat().st_mode | stat.S_IXOTH)


@_posix
@pytest.mark.parametrize("words", ["--version", "help", "status", "status --json", "exclude"])
@pytest.mark.parametrize(
    ("redirection", "says"),
    [
        (">&-", "the output cannot be written"),
        pytest.param(">/dev/full", "No space left", marks=_full),
    ],
)
def test_an_output_that_cannot_be_written_is_one_line(
    project: Path, words: str, redirection: str, says: str
) -> None:
    assert_one_line(shell(words, redirection), says)


@_posix
def test_without_stdin_and_stderr_everything_works(project: Path) -> None:
    done = shell("index", "<&- 2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Indexed 1 file" in done.stdout


@_posix
def test_the_server_without_stdin_ends(project: Path) -> None:
    done = shell("serve", "<&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@_posix
@pytest.mark.parametrize("redirection", [">&-", pytest.param(">/dev/full", marks=_full)])
def test_the_server_says_that_it_cannot_answer(project: Path, redirection: str) -> None:
    message = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    (project / "in").write_text(f"{message}\n", encoding="utf-8")
    assert_one_line(shell("serve", f"<in {redirection}"), "stdout cannot be written")


@_posix
@pytest.mark.parametrize("words", ["status", "search x", "index", "exclude"])
def test_a_working_folder_that_is_gone_is_one_line(project: Path, words: str) -> None:
    (project / "parser.py").unlink()
    gone = f"cd {project} && rmdir {project} && exec {shlex.join(PROGRAM)} {words}"
    done = subprocess.run(
        ["/bin/sh", "-c", gone],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert_one_line(done, "current folder is gone")


@_posix
@pytest.mark.parametrize("named", ["~nosuchuser/x", "x" * 300, os.fsdecode(b"\xff")])
def test_a_variable_that_no_folder_can_have_is_one_line(project: Path, named: str) -> None:
    assert_one_line(program("status", env={"PI_RAG_DIR": named}), "PI_RAG_DIR=")


def test_a_project_stays_visible_to_git_when_it_holds_the_index_itself(project: Path) -> None:
    done = program("index", env={"PI_RAG_DIR": str(project)})
    assert "Indexed" in done.stdout
    assert not (project / ".gitignore").exists()


@_posix
def test_a_named_pipe_for_settings_is_one_line(project: Path) -> None:
    (project / ".pi" / "rag").mkdir(parents=True)
    os.mkfifo(project / ".pi" / "rag" / "config.json")
    assert_one_line(program("status"), "config.json is not a file")


@_other_user
@pytest.mark.parametrize("words", [["find", "*"], ["help"], ["status"], ["search", "x"]])
def test_a_user_without_a_home_folder_looks_into_a_project(project: Path, words: list[str]) -> None:
    assert program("index").returncode == 0
    given_to(UNKNOWN, project)
    done = program(*words, without="HOME", user=UNKNOWN)
    assert (done.returncode, done.stderr) == (0, "")


@_other_user
def test_a_user_without_a_home_folder_is_told_where_one_is_needed(project: Path) -> None:
    given_to(UNKNOWN, project)
    assert_one_line(program("status", without="HOME", user=UNKNOWN), "set HOME, or PI_RAG_DIR")


@_other_user
def test_a_store_of_another_user_is_none_of_ours(project: Path) -> None:
    (project / ".pi" / "rag").mkdir(parents=True)
    (project / ".pi").chmod(0o700)
    inner = project / "inner"
    inner.mkdir()
    given_to(NOBODY, inner)
    os.chdir(inner)
    done = program("status", env={"HOME": str(inner)}, user=NOBODY)
    assert done.returncode == 0, done.stderr
    assert str(inner / ".pi" / "rag") in done.stdout


@_other_user
def test_a_store_that_may_not_be_read_is_one_line(project: Path) -> None:
    store = project / ".pi" / "rag"
    store.mkdir(parents=True)
    given_to(NOBODY, project)
    store.chmod(0)
    done = program("search", "x", env={"HOME": str(project)}, user=NOBODY)
    assert_one_line(done, str(store))


@_other_user
def test_doctor_names_the_cache_folder_that_cannot_be_written(
    project: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    given_to(NOBODY, project)
    env = {"HOME": str(project), "XDG_CACHE_HOME": str(cache)}
    done = program("doctor", env=env, user=NOBODY)
    assert f"{cache / 'rag_agent'} cannot be written (Permission denied)" in done.stdout
    assert "set XDG_CACHE_HOME to another folder" in done.stdout
    assert "reinstall semble-grammars" not in done.stdout


@_posix
def test_an_interrupt_while_it_loads_is_one_line(project: Path) -> None:
    # As if Ctrl-C came while the words are parsed.
    code = (
        "import os, signal, sys, rag_agent.cli as cli\n"
        "cli.parse = lambda words: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(cli.main(['status']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "interrupted\n")
