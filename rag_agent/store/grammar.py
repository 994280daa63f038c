"""What is told of filters: one text for help, README and descriptions of tools."""

from __future__ import annotations

GRAMMAR = (
    "path:src/* ext:py kind:code (or prose, data) lang:python name:parse_url tag:x title:x "
    'author:"Ada L" year:>=2020 created:2025-06..2025-09 modified:>7d (in the last 7 days) '
    "page:3-5 after:2026-01-31 before:2026; -field:… excludes; the same field twice means either, "
    "of comparisons both; near:notes/plan.md leaves nothing out, it moves up what is linked "
    "with it."
)
