"""Between the MCP SDK and the project: requests in, text or a readable error out."""

from __future__ import annotations

import errno
import itertools
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from pydantic import ValidationError

from rag_agent import __version__, hosts
from rag_agent.context.fence import one_line
from rag_agent.errors import RagError, WalkError
from rag_agent.hosts.events import tokens_left
from rag_agent.paths import store_folder
from rag_agent.progress import Progress
from rag_agent.server.bridge import ShowProgress
from rag_agent.server.listener import Listener
from rag_agent.server.project import Project
from rag_agent.server.stdio import GRACE, Lifeline, collect_less
from rag_agent.server.tools import (
    ARGUMENTS,
    INSTRUCTIONS,
    INTERNAL,
    EventArguments,
    IndexArguments,
    LineArguments,
    QueryArguments,
    internal_tools,
    tools,
)
from rag_agent.streams import discard
from rag_agent.utf8 import encodable

_log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
_ROOTS = "roots"
_CONTEXT_LEFT = "rag-agent/contextLeft"  # in the _meta of a call, from bridges of ours
# What writing fails with where nobody reads any more; Windows says EINVAL.
_LOST_CLIENT = {errno.EPIPE, errno.EINVAL}
# … and where stdout is a file on a full disk, or was closed before the start.
_LOST_OUTPUT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO}
_ROOTS_TIMEOUT = 5.0  # seconds; a client that does not answer has no say in the folder


def run(
    wire_in: TextIO, wire_out: TextIO, lifeline: Callable[[Any], Lifeline], host: str = ""
) -> int:
    """Serve one client, the named host, on these streams until they end; returns the exit code."""
    project = Project(on_ready=collect_less)
    life = lifeline(project.stop)
    life.start()

    async def serve() -> None:
        server = build(project, host)
        wire = stdio_server(anyio.wrap_file(wire_in), anyio.wrap_file(wire_out))
        async with wire as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    except Exception as error:
        fault = _fault_of_wire(error)
        if fault is None:
            raise
        discard(wire_out)
        if fault.errno in _LOST_OUTPUT:
            _log.error("stdout cannot be written: %s", fault.strerror)
            life.end(1)
            return 1
        _log.info("the client went away without reading on")
    life.end()
    return 0


def build(project: Project, host: str = "") -> Server[Any]:
    """A server with the three tools of this project, for any transport.

    For a host with a bridge of ours it has the tools of that, too.
    """
    handlers = _Handlers(project, host)

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        await handlers.listen()
        try:
            yield {}
        finally:
            handlers.close()
            project.stop(GRACE)

    return Server(
        "rag_agent",
        title="rag_agent",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )


class _AskForRoots(Exception):
    """Protocol 2026-07-28: the client is asked by a result, and calls again with the answer."""


class _Handlers:
    def __init__(self, project: Project, host: str) -> None:
        self._project = project
        self._host = host
        self._bridged = bool(host) and hosts.get(host).bridge
        self._base: Path | None = None
        self._listener = Listener(self._hear)
        self._warm = False

    async def listen(self) -> None:
        """Let hooks ask, where the folder is known without asking the client for it."""
        with suppress(RagError):
            cwd = _working_folder()
            if cwd not in (Path(cwd.anchor), _home()):
                await self._follow(cwd)

    def close(self) -> None:
        """Let hooks ask no more."""
        self._listener.close()

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        if self._host and not self._warm:
            # Not before: answering the first requests must not wait for the model.
            self._warm = True
            with suppress(RagError):
                self._project.warm_up(_working_folder())
        return ListToolsResult(tools=tools() + (internal_tools() if self._bridged else []))

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """The one place where every failure becomes an answer that says what to do."""
        try:
            return _text(await self._call(context, params))
        except _AskForRoots:
            return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
        except ValidationError as error:
            return _text(_explained(params.name, error), is_error=True)
        except RagError as error:
            return _text(one_line(str(error)), is_error=True)
        except Exception as error:  # noqa: BLE001 - a tool call never ends the connection
            _log.exception("%s failed", params.name)
            return _text(
                f"internal error in {params.name}: {type(error).__name__}: "
                f"{one_line(str(error))}. The log of "
                "rag_agent has the details; `rag-agent doctor` checks the installation.",
                is_error=True,
            )

    async def _call(self, context: Context, params: CallToolRequestParams) -> str:
        known = {**ARGUMENTS, **INTERNAL} if self._bridged else ARGUMENTS
        if params.name not in known:
            raise RagError(f"no tool {params.name!r}; there are {', '.join(ARGUMENTS)}")
        arguments = known[params.name].model_validate(params.arguments or {})
        base = await self._folder(context, params)
        if isinstance(arguments, EventArguments):
            return await self._project.bridge.hear(base, self._host, arguments.model_dump())
        if isinstance(arguments, LineArguments) and params.name == "rag_complete":
            return json.dumps(await self._project.bridge.offers(base, arguments.line))
        try:
            if isinstance(arguments, LineArguments):
                return await self._command(context, base, arguments.line)
            if isinstance(arguments, IndexArguments):
                report = self._bridge_report(context) if self._bridged else None
                tell = context.session.report_progress
                return await self._project.index(base, arguments, tell, report)
            if isinstance(arguments, QueryArguments):
                left = tokens_left((params.meta or {}).get(_CONTEXT_LEFT))
                return await self._project.query(base, arguments, left)
            return await self._project.status(base)
        finally:
            await self._follow(base)  # what was called may have made a store

    async def _command(self, context: Context, base: Path, line: str) -> str:
        answer = await self._project.bridge.command(base, line, self._bridge_report(context))
        return json.dumps(answer, ensure_ascii=False)

    def _bridge_report(self, context: Context) -> ShowProgress:
        """Progress as lines that a bridge shows; numbered, for the protocol wants it to grow."""
        told = itertools.count(1)

        async def show(progress: Progress) -> None:
            from rag_agent.commands.slash import progress_lines

            await context.session.report_progress(next(told), None, progress_lines(progress))

        return show

    async def _hear(self, host: str, event: Mapping[str, Any]) -> str:
        base = self._base or _working_folder()
        return await self._project.bridge.hear(base, host, event)

    async def _follow(self, base: Path) -> None:
        # Shielded: a call that is cancelled must not leave a socket half opened.
        with suppress(RagError), anyio.CancelScope(shield=True):
            await self._listener.listen(store_folder(base, os.environ)[0])

    async def _folder(self, context: Context, params: CallToolRequestParams) -> Path:
        """The project's folder: the working directory, else what the client names as root."""
        if self._base is None:
            cwd = _working_folder()
            self._base = cwd
            if cwd in (Path(cwd.anchor), _home()):
                # Started from nowhere in particular, as desktop programs do.
                self._base = await self._root(context, params) or cwd
        return self._base

    async def _root(self, context: Context, params: CallToolRequestParams) -> Path | None:
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return None
        answers = params.input_responses or {}
        if _ROOTS in answers:
            return _first_folder(answers[_ROOTS])
        if not context.session.can_send_request:
            self._base = None
            raise _AskForRoots
        with anyio.move_on_after(_ROOTS_TIMEOUT):
            return _first_folder(
                await context.session.send_request(ListRootsRequest(), ListRootsResult)
            )
        return None


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise WalkError(
            "the folder in which the server was started is gone; start it in one that exists"
        ) from error


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # a user whom the system does not know, and no HOME
        return None


def _first_folder(answer: object) -> Path | None:
    if not isinstance(answer, ListRootsResult):
        return None
    for root in answer.roots:
        uri = urlsplit(str(root.uri))
        if uri.scheme == "file":
            folder = Path(url2pathname(uri.path))
            if folder.is_dir():
                return folder
    return None


def _text(text: str, *, is_error: bool = False) -> CallToolResult:
    # JSON has no half surrogate pairs, as names of files may hold: SDK and client would fail.
    content = TextContent(type="text", text=encodable(text))
    return CallToolResult(content=[content], is_error=is_error)


def _explained(tool: str, error: ValidationError) -> str:
    """Which arguments are wrong, and which there are."""
    wrong = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'arguments'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_context=False)
    ]
    known = ", ".join({**ARGUMENTS, **INTERNAL}[tool].model_fields) or "no arguments"
    return f"{tool}: {'; '.join(wrong)}. It takes {known}."


def _fault_of_wire(error: BaseException) -> OSError | None:
    """Why stdout takes nothing more, if that is all that went wrong."""
    inner = getattr(error, "exceptions", None)
    if inner is not None:
        faults = [fault for one in inner if (fault := _fault_of_wire(one)) is not None]
        if len(faults) < len(inner):
            return None
        # Of several, the one that says more than that the client is gone.
        return max(faults, key=lambda fault: fault.errno in _LOST_OUTPUT)
    if isinstance(error, anyio.BrokenResourceError):
        return BrokenPipeError(errno.EPIPE, "closed")
    if isinstance(error, OSError) and error.errno in _LOST_CLIENT | _LOST_OUTPUT:
        return error
    return None
