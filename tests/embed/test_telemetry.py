from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EMBED = """
from rag_agent.embed import load
load().embed_query("does this machine tell anybody what it is?")
"""


def test_the_model_runtime_collects_nothing_about_the_machine(tmp_path: Path) -> None:
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    environ["HOME"] = environ["USERPROFILE"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", EMBED], env=environ, check=True)
    assert [p for p in tmp_path.rglob("*") if "microsoft" in p.name.lower()] == []
