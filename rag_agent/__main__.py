"""``python -m rag_agent``."""

from __future__ import annotations

import sys

from rag_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
