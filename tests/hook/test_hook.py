"""`rag-agent hook HOST` as a host runs it: a process, its stdin, its stdout, its exit code."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rag_agent
from rag_agent import endpoint

posix = pytest.mark.skipif(os.name == "nt", reason="Unix sockets; Windows has named pipes")

WEBHOOKS = '''\
def verify_signature(payload, header, secret):
    """Check the signature of a Stripe webhook against the shared secret."""
    return sign(payload, secret) == header
'''
OTHERS = {
    f"{name}.py": f'def {name}(value):\n    """{text}"""\n    return value\n'
    for name, text in {
        "parse_query": "Turn a query string into a dictionary.",
        "send_mail": "Deliver a message over SMTP to a recipient.",
        "resize_image": "Scale a picture down to a thumbnail.",
        "open_ledger": "Read the bookings of a year from disk.",
        "draw_chart": "Paint bars for the turnover of each month.",
        "plan_route": "Find the shortest way between two towns.",
    }.items()
}
QUESTION = "where does verify_signature check the signature of a Stripe webhook against the secret?"
ALONE = "no server runs for this project, so words alone were searched"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    for name, text in {"webhooks.py": WEBHOOKS, **OTHERS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with rag_agent.open(folder) as index:
        index.sync()
        index.configure(rag_time_budget_ms=20_000)  # what is said here holds on a busy machine too
    return folder


def hook(
    event: object, cwd: Path, host: str = "codex", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """The finished process; ``event`` is sent as JSON unless it is bytes."""
    sent = event if isinstance(event, bytes) else json.dumps(event).encode()
    done = subprocess.run(
        [sys.executable, "-m", "rag_agent", "hook", host],
        input=sent,
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    return done


def prompt(text: str, cwd: Path | None = None, session: str = "s", **more: str) -> dict[str, str]:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": text, "session_id": session, **more}
    return event if cwd is None else {**event, "cwd": str(cwd)}


def injected(done: subprocess.CompletedProcess[bytes]) -> str:
    """The text for the model, empty if there is none."""
    said: dict[str, Any] = json.loads(done.stdout)
    return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))


def one_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """What the hook says to people: one line, or none."""
    text = done.stderr.decode()
    assert text.count("\n") == bool(text)
    return text.strip()


# Without a server


def test_without_a_server_words_alone_answer_and_one_line_says_so(project: Path) -> None:
    done = hook(prompt(QUESTION, project), project)
    assert "def verify_signature" in injected(done)
    assert one_line(done) == f"rag_agent: {ALONE}"


def test_a_second_prompt_is_not_given_the_same_again(project: Path) -> None:
    hook(prompt(QUESTION, project), project)
    assert injected(hook(prompt(QUESTION, project), project)) == ""
    assert injected(hook(prompt(QUESTION, project, session="other"), project))


def test_a_chat_turn_is_given_nothing_and_needs_no_word(project: Path) -> None:
    done = hook(prompt("thanks, that works", project), project)
    assert (json.loads(done.stdout), done.stderr) == ({}, b"")


def test_the_folder_is_that_of_the_event_and_not_of_the_process(
    project: Path, tmp_path: Path
) -> None:
    (project / "deep" / "down").mkdir(parents=True)
    assert injected(hook(prompt(QUESTION, project / "deep" / "down"), tmp_path))
    assert injected(hook(prompt(QUESTION, session="second"), project))
    assert injected(hook(prompt(QUESTION, tmp_path / "gone", "third"), project))


@pytest.mark.parametrize("name", ["ordner, mit ümläuten", '"quotes", too', "back\\slash\\", "日本"])
@posix
def test_folders_have_any_name(project: Path, tmp_path: Path, name: str) -> None:
    moved = project.rename(tmp_path / name)
    assert injected(hook(prompt(QUESTION, moved), tmp_path))


@posix
def test_an_event_may_be_written_in_any_way(project: Path, tmp_path: Path) -> None:
    event = json.dumps(prompt(QUESTION, project.rename(tmp_path / "ü, ö")), indent=1) + "\n"
    assert injected(hook(event.encode(), tmp_path))


def test_half_a_character_is_no_reason_to_say_nothing(project: Path) -> None:
    done = hook(prompt(QUESTION + " \ud83d", project, session="\ud83d"), project)
    assert "def verify_signature" in injected(done)


def test_a_store_named_by_the_environment_is_the_one(project: Path, tmp_path: Path) -> None:
    store = project / ".pi" / "rag"
    assert injected(hook(prompt(QUESTION, tmp_path), tmp_path, PI_RAG_DIR=str(store)))


def test_where_nothing_is_indexed_there_is_nothing_to_say_and_nothing_is_made(
    tmp_path: Path,
) -> None:
    done = hook(prompt(QUESTION, tmp_path), tmp_path)
    assert (json.loads(done.stdout), done.stderr) == ({}, b"")
    assert list(tmp_path.iterdir()) == []


def test_switched_off_nothing_is_injected(project: Path) -> None:
    with rag_agent.open(project) as index:
        index.configure(rag_enabled=False)
    done = hook(prompt(QUESTION, project), project)
    assert injected(done) == ""


def test_a_command_is_answered_in_place_of_the_prompt(project: Path) -> None:
    event = {"hook_event_name": "UserPromptExpansion", "command_args": "find web"}
    done = hook({**event, "cwd": str(project)}, project, "claude-code")
    said = json.loads(done.stdout)
    assert (said["decision"], said["reason"]) == ("block", "webhooks.py")
    wrong = hook({**event, "command_args": "nonsense", "cwd": str(project)}, project, "claude-code")
    assert "no verb 'nonsense'" in json.loads(wrong.stdout)["reason"]


def test_a_compacted_session_is_given_it_again(project: Path) -> None:
    hook(prompt(QUESTION, project), project)
    event = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "s"}
    hook({**event, "cwd": str(project)}, project)
    assert injected(hook(prompt(QUESTION, project), project))


@pytest.mark.parametrize(
    "event",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"cwd": 7}', b'{"cwd": "\\ud800"}', b'"cwd" : "x'],
)
def test_whatever_is_no_event_is_answered_with_nothing(project: Path, event: bytes) -> None:
    done = hook(event, project)
    assert done.stdout.strip() in (b"", b"{}")
    one_line(done)


def test_an_event_that_is_too_long_is_told(project: Path) -> None:
    done = hook(prompt("word " * 2_000_000, project), project)
    assert done.stdout == b""
    assert "longer than 8,000,000 bytes" in one_line(done)


def test_settings_that_do_not_parse_are_told_in_one_line(project: Path) -> None:
    (project / ".pi" / "rag" / "config.json").write_text("{", encoding="utf-8")
    done = hook(prompt(QUESTION, project), project)
    assert injected(done) == ""
    assert "config.json is not valid JSON" in one_line(done)


def test_a_broken_index_is_told_in_one_line(project: Path) -> None:
    database = project / ".pi" / "rag" / "rag.db"
    database.write_bytes(database.read_bytes()[:100] + b"x" * 50_000)
    done = hook(prompt(QUESTION, project), project)
    assert injected(done) == ""
    assert "rag.db" in one_line(done)


def test_a_host_of_tomorrow_gets_the_plain_answer(project: Path) -> None:
    said = json.loads(hook(prompt(QUESTION, project), project, "tomorrow").stdout)
    assert "def verify_signature" in said["context"]


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_closed_streams_do_not_disturb_the_turn(project: Path, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m rag_agent hook codex {closed}'],
        input=json.dumps(prompt(QUESTION, project)).encode(),
        cwd=project,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@posix
def test_a_stale_index_is_refreshed_by_a_process_of_its_own(project: Path) -> None:
    from rag_agent.paths import database
    from rag_agent.store import Store

    (project / "new.py").write_text("def brand_new():\n    pass\n", encoding="utf-8")
    with Store.open(database(project / ".pi" / "rag")) as store:
        store.set_meta("last_sync", "2026-01-01T00:00:00+00:00")
    hook(prompt(QUESTION, project), project)
    with rag_agent.open(project) as index:
        assert "began, by a hook" in index.status().last_refresh
        for _ in range(10_000):
            if index.find("new.py"):
                break
            threading.Event().wait(0.01)
        assert index.find("new.py")


# With a server


@contextmanager
def serving(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real server that is ready, its model loaded."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rag_agent", "serve", "--for", "codex"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout
    client: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
    client["clientInfo"] = {"name": "test", "version": "1"}
    question = {"name": "rag_query", "arguments": {"query": "anything"}}
    try:
        for message in (
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": question},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                process.stdout.readline()
        yield process
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def test_a_running_server_answers_with_its_model(project: Path) -> None:
    with serving(project):
        done = hook(
            prompt("where do we check the signature of an incoming webhook?", project), project
        )
    assert "def verify_signature" in injected(done)
    assert done.stderr == b""


def test_server_and_hook_share_what_a_session_was_shown(project: Path) -> None:
    with serving(project):
        assert injected(hook(prompt(QUESTION, project), project))
    assert injected(hook(prompt(QUESTION, project), project)) == ""


@posix
def test_a_server_that_was_killed_is_gone_for_the_hook_too(project: Path) -> None:
    with serving(project) as server:
        server.kill()
        server.wait()
        done = hook(prompt(QUESTION, project), project)
    assert "def verify_signature" in injected(done)
    assert one_line(done) == f"rag_agent: {ALONE}"
    assert endpoint.addresses(str(project / ".pi" / "rag")) == []


@posix
def test_a_server_that_is_about_to_listen_keeps_its_socket(project: Path) -> None:
    address = endpoint.address(str(project / ".pi" / "rag"), os.getpid())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        assert injected(hook(prompt(QUESTION, project), project))
        assert Path(address).exists()
    Path(address).unlink()


@contextmanager
def listening(project: Path, answer: Callable[[socket.socket], object]) -> Iterator[None]:
    """Something that listens where a server would, and answers in its own way."""
    address = endpoint.address(str(project / ".pi" / "rag"), os.getpid())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()

        def serve() -> None:
            link, _ = server.accept()
            with link:
                answer(link)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            thread.join(30)
            Path(address).unlink()


def heard(link: socket.socket) -> bytes:
    parts = []
    while part := link.recv(65536):
        parts.append(part)
    return b"".join(parts)


@posix
def test_a_server_that_does_not_answer_costs_the_turn_its_context_and_no_more(
    project: Path,
) -> None:
    done = threading.Event()
    with listening(project, lambda link: done.wait(30)):
        ended = hook(prompt(QUESTION, project), project)
        done.set()
    assert ended.stdout == b""
    assert "the server did not answer within 2 s" in one_line(ended)


@posix
@pytest.mark.parametrize(
    "reply", [b"", b'{"hookSpecificOutput": {"additionalContext": "half', b'{"half": true}']
)
def test_half_an_answer_is_none(project: Path, reply: bytes) -> None:
    with listening(project, lambda link: (heard(link), link.sendall(reply))):
        done = hook(prompt(QUESTION, project), project)
    assert "def verify_signature" in injected(done)  # by words alone


@posix
def test_a_reply_ends_with_its_line_and_not_with_the_connection(project: Path) -> None:
    done = threading.Event()
    with listening(
        project, lambda link: (heard(link), link.sendall(b'{"whole": 1}\n'), done.wait(30))
    ):
        ended = hook(prompt(QUESTION, project), project)
        done.set()
    assert (ended.stdout, ended.stderr) == (b'{"whole": 1}\n', b"")


@posix
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">/dev/full"])
def test_closed_streams_do_not_disturb_a_turn_that_the_server_answers(
    project: Path, closed: str
) -> None:
    with listening(project, lambda link: (heard(link), link.sendall(b"{}\n"))):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m rag_agent hook codex {closed}'],
            input=json.dumps(prompt(QUESTION, project)).encode(),
            cwd=project,
            capture_output=True,
            timeout=60,
        )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@posix
def test_the_server_is_sent_host_store_and_event(project: Path) -> None:
    got: list[bytes] = []
    event = prompt("zwei Wörter", project)

    def answer(link: socket.socket) -> None:
        got.append(heard(link))
        link.sendall(b'{"the": "answer"}\n')

    with listening(project, answer):
        done = hook(event, project, "gemini")
    head, _, body = got[0].partition(b"\n")
    assert head.decode() == f"rag_agent 1\tgemini\t{project / '.pi' / 'rag'}"
    assert json.loads(body) == event
    assert done.stdout == b'{"the": "answer"}\n'


@posix
def test_a_socket_folder_that_others_may_enter_is_not_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    shared.chmod(0o777)
    monkeypatch.setattr(os, "getuid", lambda: 987654)
    monkeypatch.setattr(os, "lstat", lambda path: shared.stat())
    with pytest.raises(PermissionError, match="is not a folder of this user alone"):
        endpoint.folder()
