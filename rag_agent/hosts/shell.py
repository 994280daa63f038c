"""Command lines for hosts whose hooks name one line of text for a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence


def line(words: Sequence[str], *, powershell: bool = False) -> str:
    """The words as one command line of sh; on Windows of cmd, or of PowerShell."""
    if os.name != "nt":
        return shlex.join(words)
    if not powershell:
        return subprocess.list2cmdline(words)
    # A quoted word alone is a text to PowerShell; & runs it.
    return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in words)


def line_or(words: Sequence[str], otherwise: str) -> str:
    """A line of bash, on Windows of PowerShell, that prints ``otherwise`` where the words fail.

    It ends with status 0 all the same. ``otherwise`` holds no single quotes.
    """
    if os.name != "nt":
        return f"{line(words)} || echo '{otherwise}'"
    return f"{line(words, powershell=True)}; if (-not $?) {{ '{otherwise}' }}; exit 0"
