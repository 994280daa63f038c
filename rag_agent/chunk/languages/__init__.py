"""One row per language: what its grammar calls definitions. A newcomer adds a language here.

Rows are keyed by the names of ``extract/languages.py``, which follow the grammars'. A language
with a grammar and no row is cut along its syntax and defines no names.
"""

from __future__ import annotations

from collections.abc import Mapping

from rag_agent.chunk.definitions import Row
from rag_agent.chunk.languages import (
    c_family,
    declarative,
    functional,
    javascript,
    managed,
    scripting,
    systems,
)

ROWS: Mapping[str, Row] = {
    **c_family.ROWS,
    **declarative.ROWS,
    **functional.ROWS,
    **javascript.ROWS,
    **managed.ROWS,
    **scripting.ROWS,
    **systems.ROWS,
}

# Languages that a grammar of another name reads well enough to find their definitions.
GRAMMARS: Mapping[str, str] = {
    "apex": "java",
    "cython": "python",
    "elisp": "scheme",
    "commonlisp": "scheme",
    "less": "scss",
    "metal": "cpp",
    "mojo": "python",
}
