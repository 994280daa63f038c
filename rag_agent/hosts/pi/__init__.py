"""Pi: a package of its own (extension and skill), copied beside Pi's settings and named in them.

The copy holds ``program.json``, the words that run rag-agent; Pi loads the package from there.
Of 0.73.1 and 1.6.0: docs/packages.md and docs/extensions.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rag_agent.hosts.types import Edit, Host, Item, OwnFile, Place
from rag_agent.paths import expanded

PACKAGE = Path(__file__).parent / "package"
_FOLDER = "rag-agent"
_SOURCE = f"./{_FOLDER}"  # Pi resolves it from the folder of the settings that name it


def _settings_folder(place: Place) -> Path:
    if place.scope == "project":
        return place.project / ".pi"
    named = place.environ.get("PI_CODING_AGENT_DIR")
    return expanded(named) if named else place.home / ".pi" / "agent"


def _edits(place: Place) -> Sequence[Edit]:
    folder = _settings_folder(place)
    program = json.dumps(list(place.program), ensure_ascii=False, indent=2) + "\n"
    files = [path for path in sorted(PACKAGE.rglob("*")) if path.is_file()]
    return [
        *(
            OwnFile(folder / _FOLDER / path.relative_to(PACKAGE), path.read_bytes())
            for path in files
        ),
        OwnFile(folder / _FOLDER / "program.json", program.encode()),
        Item(folder / "settings.json", ("packages",), _SOURCE, mark=json.dumps(_SOURCE)),
    ]


HOST = Host(
    name="pi",
    title="Pi",
    edits=_edits,
    programs=("pi",),
    bridge=True,
    hint="Start Pi anew, then type /rag index: /rag has completion, the model has rag_query, and "
    "what the project knows comes with each prompt. A project's settings count only where Pi "
    "trusts the project (it asks once; pi -a trusts it for one run).",
)
