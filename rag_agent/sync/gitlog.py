"""What git tells of a repository, without running anything that the repository names.

Only plumbing is called (rev-parse, rev-list, diff-tree): it knows no aliases and no pager, runs no
hooks and does not look at the work tree. What could yet start a program or reach a network is
switched off, for the settings of a repository may be a stranger's.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from rag_agent import paths
from rag_agent.masking import mask
from rag_agent.store.commits import MOST_FILES
from rag_agent.store.records import Commit

_SHORT = 20.0  # seconds for a question; git answers in milliseconds unless a disk or a pipe hangs
_LONG = 120.0  # seconds for all commits; 5,000 take less than one

_BLOCK = 65_536  # bytes read at once
_HIGHEST_CODE = 129  # of git itself; a shell adds 128 to the number of a signal
# Bytes kept of a message or a path: more than is indexed of any, and a secret that begins in that.
_LONGEST = 32_768

_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "log.showSignature=false",  # would start gpg, or what gpg.program names
    "protocol.allow=never",
    "credential.helper=",
    "diff.relative=false",
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    # A partial clone fetches what it lacks. Git before 2.45 does not know the first of these, but
    # every git knows the second: no protocol may be used.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}
# Of the caller's variables for git, only those that name the user's settings and git's own place:
# others would turn us to another repository, or write traces.
_KEPT = frozenset(
    ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
)


class GitProblem(Exception):
    """Git could not answer; its first line says why. Caught where histories are read.

    ``passing`` if it was stopped or could not start, which says nothing about the repository.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


def find_git() -> str | None:
    """The git program, None where there is none that runs without asking."""
    found = paths.program("git")
    if sys.platform == "darwin" and found == "/usr/bin/git" and not _has_developer_tools():
        return None
    return found


def _has_developer_tools() -> bool:
    """Without them /usr/bin/git of a Mac is a stand-in that opens a window."""
    try:
        asked = subprocess.run(
            ["/usr/bin/xcode-select", "-p"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SHORT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


class Git:
    """Git for one repository, whose top folder is ``top``; it is not looked for further up.

    Raises:
        GitProblem: from each method.
    """

    def __init__(self, program: str, top: str, environ: Mapping[str, str]) -> None:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._command = [program, "--no-pager", "-C", top, *settings]
        self._top = top
        self._environment = {
            name: value
            for name, value in environ.items()
            if not name.upper().startswith("GIT_") or name.upper() in _KEPT
        }
        self._environment |= {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(Path(top).parent)}

    def head(self) -> tuple[str, str]:
        """(The commit that HEAD is, what the clone is cut off at); both empty where there is none.

        The second differs whenever a shallow clone was deepened, which changes what commits say.
        """
        asked = ("rev-parse", "--show-prefix", "--revs-only", "--is-shallow-repository", "HEAD")
        prefix, _, lines = self._ask(*asked).partition(b"\n")
        if prefix:  # GIT_CEILING_DIRECTORIES cannot name a folder with a colon
            raise GitProblem(f"{self._top}/.git is no repository")
        shallow, *commits = [line.decode("ascii", "replace") for line in lines.split()]
        if not commits:
            return "", ""
        return commits[0], self._cut() if shallow == "true" else ""

    def newest(self, commit: str, limit: int) -> list[str]:
        """Up to so many commits that lead to this one and are no merges, newest first."""
        asked = ("rev-list", "--no-merges", f"--max-count={limit}", commit, "--")
        return self._ask(*asked).decode("ascii", "replace").split()

    def read(self, commits: Sequence[str]) -> Generator[Commit, None, None]:
        """What these say and change, as far as possible: paths are relative to the top.

        Of one that changes more than ``MOST_FILES`` not all paths are given; one that changes
        nothing is left out.
        """
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as complaints:
            asked.write("".join(f"{commit}\n" for commit in commits).encode("ascii"))
            asked.seek(0)
            process = self._start(_READ, asked, complaints)
            overdue = threading.Timer(_LONG, process.kill)
            overdue.start()
            try:
                assert process.stdout is not None
                held: Commit | None = None
                for commit in _commits(_fields(process.stdout)):
                    # One behind: where git was stopped, the last is not whole.
                    if held is not None:
                        yield held
                    held = commit
                if process.wait() != 0:
                    raise _failed(complaints, process.returncode)
                if held is not None:
                    yield held
            finally:
                overdue.cancel()
                if process.poll() is None:
                    process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()

    def _cut(self) -> str:
        name = self._ask("rev-parse", "--git-path", "shallow").decode("utf-8", "surrogateescape")
        try:
            data = (Path(self._top) / name.rstrip("\n")).read_bytes()
        except OSError as error:
            raise GitProblem(f"the list of a shallow clone cannot be read: {error}") from error
        return hashlib.sha256(data).hexdigest()[:16]

    def _ask(self, *arguments: str) -> bytes:
        with tempfile.TemporaryFile() as complaints:
            process = self._start(arguments, subprocess.DEVNULL, complaints)
            try:
                answer, _ = process.communicate(timeout=_SHORT)
            except subprocess.TimeoutExpired as error:
                raise GitProblem(
                    f"git {arguments[0]} gave no answer in {_SHORT:.0f} s", passing=True
                ) from error
            finally:
                if process.poll() is None:
                    process.kill()
                if process.stdout is not None and not process.stdout.closed:
                    process.communicate()  # it may have ended meanwhile, with its pipe open
            if process.returncode != 0:
                raise _failed(complaints, process.returncode)
        return answer

    def _start(
        self, arguments: Sequence[str], asked: int | IO[bytes], complaints: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [*self._command, *arguments],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=self._environment,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except (OSError, ValueError) as error:
            raise GitProblem(f"git cannot be started: {error}", passing=True) from error


# A commit comes as: nothing, its hash, its message, nothing, a line feed and its paths, each ended
# by NUL. Neither messages nor paths can hold that, and no path is empty.
_READ = (
    "diff-tree",
    "--stdin",
    "--root",
    "-r",
    "-z",
    "--name-only",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--encoding=UTF-8",
    "--format=%x00%H%x00%B%x00",
)


def _commits(fields: Iterator[bytes]) -> Iterator[Commit]:
    more = next(fields, None) is not None
    while more:
        name = next(fields, b"").decode("ascii", "replace")
        message = next(fields, b"").decode("utf-8", "replace")
        more = next(fields, None) is not None
        paths: list[str] = []
        files = 0
        for field in fields:
            if not field:
                break
            files += 1
            if files <= MOST_FILES:
                # What ends the header stands before the first path.
                path = field.removeprefix(b"\n") if files == 1 else field
                paths.append(path.decode("utf-8", "surrogateescape"))
        else:
            more = False
        if files:
            yield Commit(name, message, tuple(paths), files)


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """What NULs end, each cut to its first bytes: memory does not grow with a message."""
    field = bytearray()
    while block := stream.read(_BLOCK):
        *ended, rest = block.split(b"\0")
        for part in ended:
            field += part[: _LONGEST - len(field)]
            yield bytes(field)
            field.clear()
        field += rest[: _LONGEST - len(field)]


def _failed(complaints: IO[bytes], code: int) -> GitProblem:
    """What git said, or how it ended; a signal (on Windows a code that git has not) passes."""
    complaints.seek(0)
    line = complaints.read(_BLOCK).decode("utf-8", "replace").strip().partition("\n")[0]
    stopped = not 0 <= code <= _HIGHEST_CODE
    return GitProblem(
        mask(line)[0][:300] if line else f"git ended with code {code}", passing=stopped
    )
