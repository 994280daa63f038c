"""What bridges and hooks get from the server: turns, /rag, refreshes, over MCP and the socket."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from matching import matching
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

import rag_agent
from rag_agent import endpoint
from rag_agent.cli import verbs  # noqa: F401 - a server that runs has those of a terminal, too
from rag_agent.commands.registry import VERBS
from rag_agent.paths import database
from rag_agent.server.project import Project
from rag_agent.server.protocol import build
from rag_agent.store import Store
from rag_agent.sync.lock import WriteLock

pytestmark = pytest.mark.anyio
posix = pytest.mark.skipif(os.name == "nt", reason="Unix sockets; Windows has named pipes")

WEBHOOKS = '''\
def verify_signature(payload, header, secret):
    """Check the signature of a Stripe webhook against the shared secret."""
    return sign(payload, secret) == header
'''
# In an index of one file no word is rare, and words alone are sure of nothing.
OTHERS = {
    f"{name}.py": f'def {name}(value):\n    """{text}"""\n    return value\n'
    for name, text in {
        "parse_query": "Turn a query string into a dictionary.",
        "send_mail": "Deliver a message over SMTP to a recipient.",
        "resize_image": "Scale a picture down to a thumbnail.",
        "open_ledger": "Read the bookings of a year from disk.",
        "draw_chart": "Paint bars for the turnover of each month.",
        "plan_route": "Find the shortest way between two towns.",
        "cache_page": "Keep a rendered page until it expires.",
    }.items()
}
FILES = 1 + len(OTHERS)
QUESTION = "where is the signature of a Stripe webhook checked?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed project that is the working directory."""
    project = tmp_path / "a project"
    project.mkdir()
    write_project(project)
    with rag_agent.open(project) as index:
        index.sync()
        index.configure(rag_time_budget_ms=20_000)  # what is said here holds on a busy machine too
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without an index that is the working directory."""
    project = tmp_path / "empty"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def write_project(folder: Path) -> None:
    for name, text in {"webhooks.py": WEBHOOKS, **OTHERS}.items():
        (folder / name).write_text(text, encoding="utf-8")


@asynccontextmanager
async def connected(
    host: str = "pi", patience: float = 60.0, project: Project | None = None
) -> AsyncIterator[Client]:
    """A client whose server has its model loaded: without, words alone are asked."""
    async with Client(build(project or Project(patience), host), mode="legacy") as client:
        await call(client, "rag_query", query="anything")
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text


async def turn(client: Client, prompt: str, session: str = "session", **more: str) -> str:
    """What the model is given for a prompt."""
    event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "session_id": session}
    answer = json.loads(await call(client, "rag_hook", **event, **more))
    assert answer["note"] == ""
    return str(answer["context"])


async def slash(client: Client, line: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await call(client, "rag_command", line=line))
    return answer


async def status(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await call(client, "rag_status"))
    return found


def make_stale(folder: Path) -> None:
    with Store.open(database(folder / ".pi" / "rag")) as store:
        store.set_meta("last_sync", "2026-01-01T00:00:00+00:00")


# The tools of a bridge


async def test_only_a_bridge_has_the_tools_of_one(folder: Path) -> None:
    internal = {"rag_hook", "rag_command", "rag_complete"}
    async with connected("pi") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert internal < set(tools)
        hidden = {"anthropic/alwaysLoad": False, "ui": {"visibility": ["app"]}}
        assert all(tools[name].meta == hidden for name in internal)
    async with connected("") as client:
        assert {t.name for t in (await client.list_tools()).tools}.isdisjoint(internal)
        refused = await client.call_tool("rag_hook", {"hook_event_name": "UserPromptSubmit"})
        assert refused.is_error


async def test_a_turn_is_given_context_once_a_session(folder: Path) -> None:
    async with connected() as client:
        assert "def verify_signature" in await turn(client, QUESTION)
        assert await turn(client, QUESTION) == ""
        assert "def verify_signature" in await turn(client, QUESTION, "another session")


async def test_a_chat_turn_is_given_nothing(folder: Path) -> None:
    async with connected() as client:
        assert await turn(client, "thanks, that works") == ""
        assert await turn(client, "/compact") == ""


async def test_after_compaction_a_session_may_see_it_again(folder: Path) -> None:
    async with connected() as client:
        await turn(client, QUESTION)
        event = {"hook_event_name": "SessionStart", "source": "compact", "session_id": "session"}
        await call(client, "rag_hook", **event)
        assert "def verify_signature" in await turn(client, QUESTION)


async def test_a_prompt_that_arrives_by_two_hooks_is_answered_once(folder: Path) -> None:
    async with connected("claude-code") as client:
        event = {
            "hook_event_name": "UserPromptSubmit",
            "prompt": QUESTION,
            "session_id": "session",
            "prompt_id": "prompt 1",
        }
        first = json.loads(await call(client, "rag_hook", **event))
        assert "def verify_signature" in first["hookSpecificOutput"]["additionalContext"]
        assert json.loads(await call(client, "rag_hook", **event)) == {}


async def test_wrong_arguments_of_a_bridge_are_named(folder: Path) -> None:
    async with connected() as client:
        refused = await client.call_tool("rag_hook", {"hook_event_name": "x", "prompt": 3})
    assert refused.is_error
    assert "rag_hook: prompt: " in str(refused.content)


async def test_a_server_that_is_not_ready_answers_from_words_alone(folder: Path) -> None:
    prompt = "where does verify_signature check the signature of a Stripe webhook?"
    project, done = Project(), threading.Event()
    async with Client(build(project, "pi"), mode="legacy") as client:
        project._reader.post(folder, lambda index: done.wait(60))  # as if it still loaded
        assert "def verify_signature" in await turn(client, prompt)
        assert await turn(client, prompt) == ""
        done.set()
        assert (await status(client))["injection"]["injections"] == 1


async def test_where_nothing_is_indexed_a_turn_goes_on_without_a_word(empty: Path) -> None:
    async with connected() as client:
        assert await turn(client, QUESTION) == ""
    assert list(empty.iterdir()) == []


async def test_switched_off_nothing_is_injected(folder: Path) -> None:
    async with connected() as client:
        assert (await slash(client, "off"))["text"] == "RAG auto-injection disabled"
        assert await turn(client, QUESTION) == ""
        await slash(client, "on")
        assert "def verify_signature" in await turn(client, QUESTION)


async def test_when_time_is_up_nothing_is_injected_and_that_is_counted(folder: Path) -> None:
    project, done = Project(), threading.Event()

    def allow(milliseconds: int) -> None:
        with rag_agent.open(folder) as index:
            index.configure(rag_time_budget_ms=milliseconds)

    async with connected(project=project) as client:
        allow(60_000)
        await turn(client, QUESTION, "another session")  # which waits until the server is ready
        allow(10)
        project._reader.post(folder, lambda index: done.wait(60))  # a question that takes long
        assert await turn(client, QUESTION) == ""
        done.set()
        allow(60_000)
        assert "def verify_signature" in await turn(client, QUESTION)  # it was not shown, so new
        assert (await status(client))["injection"]["time_outs"] == 1


async def test_settings_that_do_not_parse_are_told_in_one_line(folder: Path) -> None:
    async with connected() as client:
        (folder / ".pi" / "rag" / "config.json").write_text("{", encoding="utf-8")
        event = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
        answer = json.loads(await call(client, "rag_hook", **event))
    assert answer["context"] == ""
    assert "config.json is not valid JSON" in answer["note"]
    assert "\n" not in answer["note"]


# /rag


async def test_a_verb_answers_in_text_with_its_level_and_data(folder: Path) -> None:
    async with connected() as client:
        found = await slash(client, f"search {QUESTION} --limit 1")
        assert (found["verb"], found["level"]) == ("search", "info")
        assert found["text"].startswith("webhooks.py:1-3")
        assert found["data"]["hits"][0]["path"] == "webhooks.py"
        assert (await slash(client, ""))["verb"] == "status"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bogus", "no verb 'bogus'"),
        ("serve", "is for a terminal"),
        ("search", "the following arguments are required"),
        ("search x --limit 0", "not between 1 and 1,000"),
        ("index nowhere", "nowhere"),
    ],
)
async def test_what_cannot_be_done_is_an_error_that_says_why(
    folder: Path, line: str, says: str
) -> None:
    async with connected() as client:
        answer = await slash(client, line)
    assert answer["level"] == "error"
    assert says in answer["text"]


@pytest.mark.parametrize("line", ["help", "help search", "search --help"])
async def test_help_is_no_error_and_knows_where_it_is(folder: Path, line: str) -> None:
    async with connected() as client:
        answer = await slash(client, line)
    assert answer["level"] == "info"
    assert "serve" not in answer["text"]
    assert "search" in answer["text"]


async def test_quotes_hold_a_path_with_spaces_together(folder: Path) -> None:
    async with connected() as client:
        (folder / "two words").mkdir()
        notes = folder / "two words" / "notes.md"
        notes.write_text("# Rollback\n\nRun it.\n", encoding="utf-8")
        answer = await slash(client, "index 'two words'")
        assert answer["text"].startswith("✅ Indexed 1 file")
        assert (await slash(client, "find notes"))["text"] == "two words/notes.md"


async def test_indexing_shows_a_status_line_and_a_widget(folder: Path) -> None:
    shown: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        shown.append(message or "")

    async with connected() as client:
        for number in range(200):
            (folder / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
        result = await client.call_tool(
            "rag_command", {"line": "index ."}, progress_callback=progress
        )
        answer = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert answer["text"].startswith("✅ Indexed 200 files")
    lines = [message.split("\n") for message in shown]
    assert lines
    assert all(len(four) == 4 for four in lines)
    indexing = [four for four in lines if four[0].startswith("■ Indexing")]
    assert all(len(four[1].split(" ")[0]) == 24 for four in indexing)


async def test_cancelling_stops_a_long_verb_and_keeps_what_is_done(folder: Path) -> None:
    for number in range(3000):
        (folder / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    async with connected() as client:
        with anyio.CancelScope() as scope:

            async def progress(done: float, total: float | None, message: str | None) -> None:
                if message and message.startswith("■ Indexing"):
                    scope.cancel()

            await client.call_tool("rag_command", {"line": "index ."}, progress_callback=progress)
        assert scope.cancelled_caught
        while (found := await status(client))["indexing"]["state"] == "running":
            await anyio.lowlevel.checkpoint()
        assert found["indexing"]["state"] == "stopped"
        assert 0 < found["documents"] < 3000 + FILES
        assert (await slash(client, "index ."))["level"] == "info"
        assert (await status(client))["documents"] == 3000 + FILES


async def test_clearing_stops_the_work_that_is_under_way(folder: Path) -> None:
    for number in range(3000):
        (folder / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    async with connected(patience=0.01) as client:
        assert "in the background" in await call(client, "rag_index", path=".")
        assert (await slash(client, "clear"))["text"].startswith("Index cleared")
        assert (await status(client))["documents"] == 0


async def test_while_another_process_writes_a_verb_says_which(folder: Path) -> None:
    async with connected() as client:
        with WriteLock(folder / ".pi" / "rag"):
            answer = await slash(client, "refresh")
    assert answer["level"] == "error"
    assert f"process {os.getpid()} is writing this index" in answer["text"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("st", ["status"]),
        ("ext a", ["ext add"]),
        ("find web", ["find webhooks.py"]),
        ("index we", ["index webhooks.py"]),
        ("index tw", ["index 'two words/'"]),
        ("search x --li", ["search x --limit"]),
        ("exclude -", ["exclude -*.tmp"]),
        ("help sea", ["help search"]),
        ("serv", []),
        ("nothing ", []),
    ],
)
async def test_lines_are_completed(folder: Path, line: str, offered: list[str]) -> None:
    (folder / "two words").mkdir()
    with rag_agent.open(folder) as index:
        index.configure(exclude_patterns=("*.tmp",))
    async with connected() as client:
        found = json.loads(await call(client, "rag_complete", line=line))
    assert [one["value"] for one in found] == offered


async def test_every_verb_is_offered_but_those_for_a_terminal(folder: Path) -> None:
    async with connected() as client:
        found = json.loads(await call(client, "rag_complete", line=""))
    assert [one["value"] for one in found] == list(
        dict.fromkeys(n.partition(" ")[0] for n, v in VERBS.items() if not v.terminal)
    )
    assert all(one["description"] for one in found)


# The socket


def ask(store: Path, event: dict[str, Any], host: str = "codex", mark: str = "rag_agent 1") -> str:
    """What a hook would print."""
    heard = b""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(60)
        link.connect(endpoint.addresses(str(store))[0])
        link.sendall(f"{mark}\t{host}\t{store}\n".encode() + json.dumps(event).encode())
        link.shutdown(socket.SHUT_WR)
        while piece := link.recv(65536):
            heard += piece
    return heard.decode()


async def asked(store: Path, event: dict[str, Any], **more: str) -> str:
    return await anyio.to_thread.run_sync(lambda: ask(store, event, **more))


PROMPT = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION, "session_id": "s"}


@posix
async def test_a_hook_is_answered_over_the_socket_in_its_hosts_json(folder: Path) -> None:
    store = folder / ".pi" / "rag"
    async with connected(""):
        answer = json.loads(await asked(store, PROMPT))
        again = json.loads(await asked(store, PROMPT))
    added = answer["hookSpecificOutput"]
    assert added["hookEventName"] == "UserPromptSubmit"
    assert "def verify_signature" in added["additionalContext"]
    assert again == {}


@posix
async def test_a_slash_command_is_answered_over_the_socket(folder: Path) -> None:
    event = {"hook_event_name": "UserPromptExpansion", "command_args": "find web"}
    async with connected(""):
        answer = json.loads(await asked(folder / ".pi" / "rag", event, host="claude-code"))
    assert (answer["decision"], answer["reason"]) == ("block", "webhooks.py")


@posix
async def test_requests_that_are_none_get_no_answer_and_end_nothing(folder: Path) -> None:
    store = folder / ".pi" / "rag"
    async with connected(""):
        (address,) = endpoint.addresses(str(store))
        for request in (
            b"",
            b"no line end",
            b"rag_agent 99\tcodex\t" + bytes(store) + b"\n{}",
            b"rag_agent 1\tcodex\t/another/store\n{}",
            b"rag_agent 1\tcodex\t" + bytes(store) + b"\n{not json",
            b"rag_agent 1\tcodex\t" + bytes(store) + b"\n[]",
            b"\xff\xfe\t\t\n" * 1000,
        ):

            def send(request: bytes = request) -> bytes:
                with socket.socket(socket.AF_UNIX) as link:
                    link.settimeout(60)
                    link.connect(address)
                    link.sendall(request)
                    link.shutdown(socket.SHUT_WR)
                    return link.recv(65536)

            assert await anyio.to_thread.run_sync(send) == b""
        assert "def verify_signature" in await asked(store, PROMPT)


@posix
async def test_only_this_user_can_reach_the_socket_and_it_goes_with_the_server(
    folder: Path,
) -> None:
    store = str(folder / ".pi" / "rag")
    async with connected(""):
        (address,) = endpoint.addresses(store)
        assert stat.S_IMODE(Path(address).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(address).parent.stat().st_mode) == 0o700
    assert endpoint.addresses(store) == []


@posix
async def test_the_socket_follows_a_store_that_is_made(empty: Path) -> None:
    write_project(empty)
    store = empty / ".pi" / "rag"
    async with connected("") as client:
        assert endpoint.addresses(str(store)) == []
        await call(client, "rag_index", path=".")
        await call(client, "rag_query", query="anything")
        assert "def verify_signature" in await asked(store, PROMPT)


# Refreshing


async def refreshed(client: Client) -> dict[str, Any]:
    """The status once a refresh has ended, in whatever process."""
    while True:
        found = await status(client)
        if "changed" in found["last_refresh"]:
            return found
        await anyio.lowlevel.checkpoint()


async def test_a_stale_index_is_refreshed_behind_a_turn_that_is_answered_from_it_as_it_is(
    folder: Path,
) -> None:
    (folder / "invoices.py").write_text("def send_invoice(customer):\n    pass\n")
    make_stale(folder)
    async with connected() as client:
        assert "def verify_signature" in await turn(client, QUESTION)
        found = await refreshed(client)
    assert found["documents"] == FILES + 1
    # What came meanwhile may have been taken in by a search already.
    assert re.search(r" [01] new, 0 changed, 0 removed files", found["last_refresh"])
    assert not found["last_sync"].startswith("2026-01-01")


async def test_a_chat_turn_begins_a_refresh_as_well(folder: Path) -> None:
    make_stale(folder)
    async with connected() as client:
        assert await turn(client, "thanks, that works") == ""
        assert "0 new" in (await refreshed(client))["last_refresh"]


async def test_a_fresh_index_is_not_refreshed(folder: Path) -> None:
    async with connected() as client:
        await turn(client, QUESTION)
        found = await status(client)
    assert (found["indexing"], found["last_refresh"]) == (None, "")


async def test_the_setting_switches_refreshing_off(folder: Path) -> None:
    with rag_agent.open(folder) as index:
        index.configure(rag_auto_refresh=False)
    make_stale(folder)
    async with connected() as client:
        await turn(client, QUESTION)
        found = await status(client)
    assert (found["indexing"], found["last_refresh"]) == (None, "")


async def test_with_five_servers_open_one_refreshes_2000_changed_files_and_no_turn_waits(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    write_project(project)
    for number in range(2000):
        (project / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    with rag_agent.open(project) as index:
        index.sync(vectors=False)
        index.configure(rag_time_budget_ms=20_000)
    for number in range(2000):
        (project / f"m{number}.py").write_text(f"def g{number}():\n    return -{number}\n")
    make_stale(project)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "rag_agent", "serve", "--for", "pi"],
        cwd=project,
        env=dict(os.environ),
    )
    async with several(server, 5) as clients:
        for client in clients:
            await client.list_tools()
            await call(client, "rag_query", query="anything")  # its model is loaded
        answers: dict[int, str] = {}

        async def take(number: int, client: Client) -> None:
            answers[number] = await turn(client, QUESTION, f"session {number}")
            assert (await status(client))["documents"] == 2000 + FILES

        async with anyio.create_task_group() as group:
            for number, client in enumerate(clients):
                group.start_soon(take, number, client)
        assert all("def verify_signature" in answer for answer in answers.values())
        ended = [await refreshed(client) for client in clients]
        assert len({one["last_refresh"] for one in ended}) == 1  # there was one, and all know it
        assert re.search(r"0 new, [12],\d+ changed, 0 removed", ended[0]["last_refresh"])
        with Store.open(database(project / ".pi" / "rag"), readonly=True) as store:
            assert not matching(store, ["f1999"], 1)
            assert matching(store, ["g1999"], 1)


@asynccontextmanager
async def several(server: StdioServerParameters, count: int) -> AsyncIterator[list[Client]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Client(server, mode="legacy")) for _ in range(count)]
