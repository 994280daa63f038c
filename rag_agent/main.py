"""The door of the program: a host's hook, which must be quick, does not load the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``rag-agent`` with the words of the process; returns the exit code."""
    if sys.argv[1:2] == ["hook"] and len(sys.argv) == 3 and not sys.argv[2].startswith("-"):
        from rag_agent.hook import answer

        return answer(sys.argv[2])
    from rag_agent.cli import main as command_line

    return command_line()
