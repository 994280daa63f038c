"""The MCP server: rag_index, rag_query and rag_status over stdin and stdout."""

from __future__ import annotations

from rag_agent.server.stdio import Lifeline, take_stdio


def serve(host: str = "") -> int:
    """Serve until the client closes stdin; returns the exit code.

    ``host`` names the coding agent that started this, empty for any other client.

    Raises:
        HostError: no host has that name.
    """
    wire_in, wire_out = take_stdio()

    # The SDK costs half a second; whatever it prints while it loads misses the protocol already.
    from rag_agent.server.protocol import run

    return run(wire_in, wire_out, Lifeline, host)
