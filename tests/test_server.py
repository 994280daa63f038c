"""The server through a real client in memory."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hostile import ORDER, TITLE, write_book
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ListRootsResult, Root, TextContent

import rag_agent
from rag_agent.errors import StoreBusy
from rag_agent.server.job import Job
from rag_agent.server.project import Project
from rag_agent.server.protocol import build
from rag_agent.server.tools import IndexArguments
from rag_agent.sync.lock import WriteLock
from rag_agent.tokens import estimate_tokens

pytestmark = pytest.mark.anyio

# The handshake of all clients before 2026, and the one without a handshake.
MODES = ["legacy", "auto"]

PARSER = '''\
def parse_query(text):
    """Turn a query string such as a=1&b=2 into a dictionary."""
    pairs = (part.partition("=") for part in text.split("&"))
    return {name: value for name, _, value in pairs}
'''
MAILER = '''\
def send_mail(recipient, subject):
    """Deliver a message over SMTP."""
    connection = open_connection()
    connection.deliver(recipient, subject)
'''


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is the working directory."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "parser.py").write_text(PARSER, encoding="utf-8")
    (project / "mailer.py").write_text(MAILER, encoding="utf-8")
    monkeypatch.chdir(project)
    return project


@asynccontextmanager
async def connected(
    mode: str = "legacy", patience: float = 60.0, **client: Any
) -> AsyncIterator[Client]:
    async with Client(build(Project(patience)), mode=mode, **client) as connection:
        yield connection


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.structured_content is None
    return content.text


async def call(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    text = text_of(result)
    assert not result.is_error, text
    return text


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


async def finished(client: Client) -> dict[str, Any]:
    """The status when no work is running any more."""
    while True:
        status: dict[str, Any] = json.loads(await call(client, "rag_status"))
        if not status["running"]:
            return status
        await anyio.lowlevel.checkpoint()


def many_files(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"module_{number}.py").write_text(
            f"def function_{number}():\n    return {number}\n", encoding="utf-8"
        )


@pytest.mark.parametrize("mode", MODES)
async def test_the_three_tools_are_listed_with_what_they_do(mode: str, folder: Path) -> None:
    async with connected(mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"rag_index", "rag_query", "rag_status"}
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert all(hint is not None for hint in hints.values())
        assert [n for n, h in sorted(hints.items()) if h and h.read_only_hint] == [
            "rag_query",
            "rag_status",
        ]
        assert tools["rag_query"].input_schema["required"] == ["query"]
        assert all(tool.output_schema is None for tool in tools.values())
        assert client.instructions is not None
        assert "rag_query" in client.instructions


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_indexed_is_found(mode: str, folder: Path) -> None:
    async with connected(mode) as client:
        summary = await call(client, "rag_index", path=".")
        assert summary.startswith("Indexed 2 files")
        answer = await call(client, "rag_query", query="parse a query string into a dictionary")
        assert "parser.py:1-4  score=" in answer
        assert "text.split" in answer
        assert answer.index("parser.py") < answer.index("mailer.py")


async def test_vectors_follow_in_the_background(folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        status = await finished(client)
        assert (status["documents"], status["vectors"], status["pending"]) == (2, 2, 0)
        assert status["indexing"]["state"] == "done"


async def test_vectors_that_an_earlier_process_left_are_made_after_the_first_query(
    folder: Path,
) -> None:
    with rag_agent.open(folder) as index:
        index.sync(vectors=False)
        assert index.status().pending == 2
    async with connected() as client:
        assert "parser.py" in await call(client, "rag_query", query="parse a query string")
        assert (await finished(client))["pending"] == 0


async def test_a_query_before_anything_is_indexed_says_what_to_call(folder: Path) -> None:
    async with connected() as client:
        assert "rag_index" in await call(client, "rag_query", query="anything")
        assert not (folder / ".pi").exists()


async def test_a_filter_and_a_limit_narrow_the_answer(folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        both = await call(client, "rag_query", query="function that takes text or subject")
        assert "mailer.py" in both
        one = await call(client, "rag_query", query="mail parse", where="path:mailer*")
        assert "parser.py" not in one
        assert "mailer.py" in one
        first = await call(client, "rag_query", query="mail parse", limit=1)
        assert first.count("score=") == 1


async def test_an_answer_where_nothing_is_indexed_says_what_to_do_and_nothing_else(
    folder: Path,
) -> None:
    async with connected() as client:
        answer = await call(client, "rag_query", query="parse a query string")
    assert answer == (
        "nothing is indexed here yet; run `rag-agent index`. "
        "Or call rag_index, which does the same."
    )


async def test_a_filter_that_leaves_nothing_is_explained(folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        answer = await call(client, "rag_query", query="parse a query string", where="lang:pyhton")
        first, reason, without = answer.splitlines()[:3]
        assert first == "Nothing found."
        assert "lang:pyhton matches no document; did you mean python (2)?" in reason
        assert "parser.py (excluded by lang:pyhton)" in without


async def test_an_answer_keeps_to_its_token_limit(folder: Path) -> None:
    (folder / "long.py").write_text("value = 1  # parse\n" * 300, encoding="utf-8")
    async with connected() as client:
        await call(client, "rag_index")
        answer = await call(client, "rag_query", query="parse value", max_tokens=300)
        assert estimate_tokens(answer) <= 300
        assert "Cut to fit" in answer


async def test_an_answer_takes_a_share_of_what_a_bridge_says_the_window_has_left(
    folder: Path,
) -> None:
    (folder / "long.py").write_text("value = 1  # parse\n" * 300, encoding="utf-8")
    async with connected() as client:
        await call(client, "rag_index")
        question = {"query": "parse value"}
        lengths = []
        for left in (None, 4_000, 10):
            meta: Any = {"rag-agent/contextLeft": left}
            answer = text_of(await client.call_tool("rag_query", question, meta=meta))
            lengths.append(estimate_tokens(answer))
        whole, less, least = lengths
        assert whole > 500 >= less > 200 >= least
        asked = {**question, "max_tokens": 600}
        answer = text_of(
            await client.call_tool("rag_query", asked, meta={"rag-agent/contextLeft": 10})
        )
        assert 500 < estimate_tokens(answer) <= 600


async def test_a_changed_file_is_found_as_it_is_now(folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        changed = "# moved down\n\n" + PARSER
        (folder / "parser.py").write_text(changed, encoding="utf-8")
        answer = await call(client, "rag_query", query="parse a query string")
        assert "parser.py:1-6" in answer


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "missing"}, "missing"),
        ({"path": "/"}, "/"),
        ({"path": "a\0b"}, "is no path"),
        ({"path": "~nosuchuser/x"}, "~nosuchuser/x does not exist"),
        ({"paths": "x"}, "paths"),
        ({"path": 3}, "path"),
    ],
)
async def test_a_path_that_cannot_be_indexed_is_refused(
    arguments: dict[str, Any], says: str, folder: Path
) -> None:
    async with connected() as client:
        assert says in await refused(client, "rag_index", **arguments)


async def test_a_refused_path_leaves_nothing_behind(folder: Path) -> None:
    async with connected() as client:
        await refused(client, "rag_index", path="missing")
        assert not (folder / ".pi").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "query: Field required"),
        ({"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ({"query": "x", "max_tokens": 10**6}, "max_tokens"),
        ({"query": "x", "k": 5}, "It takes query, limit, where, max_tokens."),
        ({"query": "x", "where": "nonsense:y"}, "nonsense"),
    ],
)
async def test_bad_arguments_get_an_answer_that_names_the_good_ones(
    arguments: dict[str, Any], says: str, folder: Path
) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        assert says in await refused(client, "rag_query", **arguments)
        assert "parser.py" in await call(client, "rag_query", query="parse")


async def test_an_unknown_tool_gets_an_answer_that_names_the_known_ones(folder: Path) -> None:
    async with connected() as client:
        assert "rag_index, rag_query, rag_status" in await refused(client, "rag_search", query="x")


@pytest.mark.parametrize(
    "query", ["???", "a" * 100_000, "如何解析查询字符串", '"AND NEAR( OR *', "x\x00y"]
)
async def test_any_text_is_a_query(query: str, folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        result = await client.call_tool("rag_query", {"query": query})
        assert text_of(result)
        assert "parser.py" in await call(client, "rag_query", query="parse")


async def test_a_failure_inside_is_one_line_and_not_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected() as client:
        monkeypatch.setattr(Project, "status", lambda self, base: 1 / 0)
        answer = await refused(client, "rag_status")
        assert "ZeroDivisionError" in answer
        assert "\n" not in answer
        assert "rag_index" in await call(client, "rag_query", query="still there")


async def test_what_tools_say_of_files_does_not_speak_to_the_model(folder: Path) -> None:
    write_book(folder / "tea.epub", f"x{ORDER}{TITLE}")
    (folder / f"bin{ORDER.replace('/', '')}.py").write_bytes(bytes(999))
    (folder / ".pi/rag").mkdir(parents=True)
    settings = {"excludePatterns": [ORDER], "trackedPaths": ["."]}
    (folder / ".pi/rag/config.json").write_text(json.dumps(settings), encoding="utf-8")
    async with connected() as client:
        told = [
            await call(client, "rag_index"),
            json.dumps(await finished(client), ensure_ascii=False).replace("\\n", "\n"),
            await call(client, "rag_query", query="tea and biscuits"),
            await refused(client, "rag_index", path=f"no{ORDER}{TITLE}"),
        ]
    assert "a chapter is missing: x" in told[0]
    assert "a chapter is missing: x" in told[1]
    for text in told:
        assert "\x1b" not in text
        assert not re.search(r"^\s*Human:|<\s*/?\s*system-reminder", text, re.MULTILINE)


async def test_progress_grows_while_files_are_read(folder: Path) -> None:
    many_files(folder, 300)
    seen: list[tuple[float, float | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total))

    async with connected() as client:
        result = await client.call_tool("rag_index", {"path": "."}, progress_callback=note)
        assert "Indexed 302 files" in text_of(result)
        await finished(client)
    assert seen
    assert all(total == 302 for _, total in seen)
    amounts = [done for done, _ in seen]
    assert amounts == sorted(set(amounts))


async def test_what_takes_longer_goes_on_in_the_background(folder: Path) -> None:
    many_files(folder, 300)
    async with connected(patience=0.0) as client:
        answer = await call(client, "rag_index")
        assert "goes on in the background" in answer
        assert "rag_status" in answer
        status = await finished(client)
        assert status["documents"] == 302
        assert status["pending"] == 0


async def test_a_status_from_before_the_end_of_the_work_says_that_it_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(0.0)
    job = project._job = Job(folder)
    ask = project._reader.ask

    async def slow(base: Path, what: Any) -> Any:
        found = await ask(base, what)
        job.ended.set()  # meanwhile
        return found

    monkeypatch.setattr(project._reader, "ask", slow)
    status = json.loads(await project.status(folder))
    assert [activity["stage"] for activity in status["running"]] == ["starting"]
    assert json.loads(await project.status(folder))["running"] == []
    job.start()  # for stop() to have one to wait for
    assert project.stop(30)


async def test_a_second_call_for_the_same_path_joins_the_first(folder: Path) -> None:
    many_files(folder, 300)
    answers: list[str] = []

    async with connected() as client:

        async def index() -> None:
            answers.append(await call(client, "rag_index"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(index)
            tasks.start_soon(index)
        assert answers[0] == answers[1]
        assert answers[0].startswith("Indexed 302 files")
        await finished(client)


async def test_another_path_has_to_wait_for_the_first(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.py").write_text("x = 1\n", encoding="utf-8")
    many_files(folder, 300)
    async with connected(patience=0.0) as client:
        await call(client, "rag_index")
        answer = await refused(client, "rag_index", path=str(other))
        assert str(folder) in answer
        assert "rag_status" in answer
        await finished(client)
        await call(client, "rag_index", path=str(other))
        assert (await finished(client))["tracked_paths"] == [str(folder), str(other)]


class Jobs:
    """What a project starts, each with the jobs that were still at work then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[Job] = []
        self.beside: list[list[Job]] = []
        begin = Job.start

        def start(job: Job) -> None:
            self.beside.append([other for other in self.started if not other.ended.is_set()])
            self.started.append(job)
            begin(job)

        monkeypatch.setattr(Job, "start", start)


async def ask_to_index(project: Project, folder: Path, path: str, answers: list[str]) -> None:
    async def ignore(done: float, total: float | None, item: str) -> None:
        pass

    try:
        answers.append(await project.index(folder, IndexArguments(path=path), ignore))
    except StoreBusy as busy:
        answers.append(str(busy))


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("a", "a")])
async def test_calls_that_come_while_vectors_are_made_never_work_at_once(
    first: str, second: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        many_files(folder / name, 100)
    jobs, project, answers = Jobs(monkeypatch), Project(60.0), list[str]()
    vectors = project._job = Job(folder)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_to_index, project, folder, first, answers)
        tasks.start_soon(ask_to_index, project, folder, second, answers)
        await anyio.wait_all_tasks_blocked()
        vectors.ended.set()
    assert [len(beside) for beside in jobs.beside] == [0] * len(jobs.beside)
    assert project._job is jobs.started[-1]
    if first == second:
        assert len(jobs.started) == 1
        assert answers[0] == answers[1]
    assert project.stop(60)


@pytest.mark.parametrize("ended", [False, True])
async def test_a_refresh_that_is_due_while_a_call_waits_is_done_by_it_and_not_beside_it(
    ended: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rag_agent.open(folder) as index:
        index.sync(vectors=False)
    jobs, project, answers = Jobs(monkeypatch), Project(60.0), list[str]()
    vectors = project._job = Job(folder)
    (folder / "later.py").write_text("def later():\n    return 1\n", encoding="utf-8")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_to_index, project, folder, "parser.py", answers)
        await anyio.wait_all_tasks_blocked()
        if ended:
            vectors.ended.set()
        project._refresh(folder)
        vectors.ended.set()
    assert [len(beside) for beside in jobs.beside] == [0] * len(jobs.beside)
    jobs.started[-1].join(60)
    with rag_agent.open(folder) as index:
        assert [one.path for one in index.find("later.py")] == ["later.py"]
    assert project.stop(60)


async def test_cancelling_the_call_stops_the_work_and_keeps_what_is_done(folder: Path) -> None:
    many_files(folder, 800)
    async with connected() as client:
        with anyio.CancelScope() as scope:

            async def stop(done: float, total: float | None, message: str | None) -> None:
                scope.cancel()

            await client.call_tool("rag_index", {"path": "."}, progress_callback=stop)
        assert scope.cancelled_caught
        status = await finished(client)
        assert status["indexing"]["state"] == "stopped"
        assert 0 < status["documents"] < 802
        await call(client, "rag_index")
        assert json.loads(await call(client, "rag_status"))["documents"] == 802


async def test_while_another_process_writes_it_is_named(folder: Path) -> None:
    async with connected() as client:
        await call(client, "rag_index")
        await finished(client)
        with WriteLock(folder / ".pi" / "rag"):
            assert f"process {os.getpid()}" in await refused(client, "rag_index")
            answer = await call(client, "rag_query", query="parse a query string")
            assert "parser.py" in answer
            assert f"process {os.getpid()}" in answer


async def test_the_status_names_a_few_of_the_files_left_out(folder: Path) -> None:
    for number in range(30):
        (folder / f"image_{number}.py").write_bytes(b"\x00\x01binary")
    async with connected() as client:
        summary = await call(client, "rag_index")
        assert "30 binary" in summary
        status = await finished(client)
        assert status["skipped_by_reason"]["binary"] == 30
        assert len(status["skipped"]) + status["skipped_not_shown"] == sum(
            status["skipped_by_reason"].values()
        )
        assert len(status["skipped"]) == 20


async def test_the_status_stays_short_however_many_files_have_notes(folder: Path) -> None:
    for number in range(300):
        (folder / f"page_{number}.html").write_text("<body><script>x()</script></body>", "utf-8")
    async with connected() as client:
        await call(client, "rag_index")
        status = await finished(client)
        assert len(status["warnings"]) == 20
        assert status["warnings_not_shown"] == 280
        assert len(json.dumps(status)) < 10_000


@pytest.mark.parametrize("mode", MODES)
async def test_the_client_names_the_project_where_the_server_starts_in_the_home_folder(
    mode: str, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=folder.as_uri(), name="project")])

    async with connected(mode, list_roots_callback=roots) as client:
        assert "Indexed 2 files" in await call(client, "rag_index", path=".")
        assert (folder / ".pi" / "rag" / "rag.db").is_file()
        assert "parser.py" in await call(client, "rag_query", query="parse a query string")


async def test_without_roots_the_home_folder_is_refused(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    async with connected() as client:
        assert str(home) in await refused(client, "rag_index", path=".")


async def test_the_end_of_the_connection_ends_the_work(folder: Path) -> None:
    many_files(folder, 2000)
    async with connected(patience=0.0) as client:
        await call(client, "rag_index")
    assert not [t for t in threading.enumerate() if t.name in ("indexing", "queries")]


async def test_an_index_of_a_folder_that_became_empty_tells_its_warning(
    folder: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "harbour.md").write_text("# Harbour\n\nShips moor at the quay.\n", encoding="utf-8")
    async with connected() as client:
        await call(client, "rag_index", path=str(notes))
        (notes / "harbour.md").unlink()
        nothing, warning = (await call(client, "rag_index", path=str(notes))).split("\n")
        assert nothing.startswith("No indexable files found in ")
        assert warning.startswith("warning: ")
        assert "notes" in warning
