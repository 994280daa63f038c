"""Spawn to ``initialize``: ``rag-agent serve`` beside a bare mcp server with one empty tool.

Both are started in turns, so that both see the same machine; what counts is the median of the
ratios of the pairs. ``--most`` makes it a check: above that ratio it ends with 1.

    python benchmarks/startup.py --pairs 30 --most 1.3
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

_BARE = """\
from mcp.server import MCPServer

server = MCPServer("bare")


@server.tool()
def nothing() -> str:
    return ""


server.run()
"""
# The same by the lower of the SDK's two interfaces, which is the one that rag-agent uses.
_BARE_LOW = """\
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def list_tools(context, params):
    return ListToolsResult(tools=[Tool(name="nothing", input_schema={"type": "object"})])


async def call_tool(context, params):
    return CallToolResult(content=[TextContent(type="text", text="")])


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


anyio.run(main)
"""
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "startup", "version": "1"},
    },
}


def main() -> int:
    """Measure, print medians and ratio, and check the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--low", action="store_true", help="beside the SDK's lower interface")
    parser.add_argument("--most", type=float, help="the highest ratio that is well")
    arguments = parser.parse_args()
    bare = [sys.executable, "-c", _BARE_LOW if arguments.low else _BARE]
    ours = [sys.executable, "-m", "rag_agent", "serve"]
    with tempfile.TemporaryDirectory() as folder:
        for command in (bare, ours):  # compiled and cached files for both
            _seconds(command, folder)
        pairs = [_pair(ours, bare, folder, turn) for turn in range(arguments.pairs)]
    ratio = median(one / other for one, other in pairs)
    print(f"rag-agent serve  {median(one for one, _ in pairs) * 1000:.0f} ms (median)")
    print(f"bare mcp server  {median(other for _, other in pairs) * 1000:.0f} ms (median)")
    print(f"ratio            {ratio:.2f} (median of {len(pairs)} pairs)")
    if arguments.most is not None and ratio > arguments.most:
        print(f"over the limit of {arguments.most}", file=sys.stderr)
        return 1
    return 0


def _pair(ours: list[str], bare: list[str], folder: str, turn: int) -> tuple[float, float]:
    """Seconds of both; who begins alternates."""
    if turn % 2:
        other = _seconds(bare, folder)
        return _seconds(ours, folder), other
    one = _seconds(ours, folder)
    return one, _seconds(bare, folder)


def _seconds(command: list[str], folder: str) -> float:
    """From the start of the process to its answer to initialize."""
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=Path(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        seconds = time.perf_counter() - started
        assert answer["id"] == 1, answer
        assert "result" in answer, answer
        process.stdin.close()
        process.wait(timeout=30)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
