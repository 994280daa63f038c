"""``python -m rag_agent``."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

# -m puts the working directory first, and with it every module a stranger's project may have under
# the name of one of ours or of the standard library.
with suppress(FileNotFoundError):  # a working directory that was removed
    if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - not loaded yet
        del sys.path[0]

if __name__ == "__main__":
    from rag_agent.main import main

    sys.exit(main())
