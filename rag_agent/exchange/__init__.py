"""An index as lines of JSON, and lines of JSON into an index: chunks, and vectors if wanted."""

from __future__ import annotations

from rag_agent.exchange.adopt import ImportReport, adopt, folders_here, places_in
from rag_agent.exchange.export import export_lines
from rag_agent.exchange.reading import Export, bounded_lines, read_export

__all__ = [
    "Export",
    "ImportReport",
    "adopt",
    "bounded_lines",
    "export_lines",
    "folders_here",
    "places_in",
    "read_export",
]
